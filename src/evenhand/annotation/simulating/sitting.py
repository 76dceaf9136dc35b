"""Let simulated annotators take part in a study through the store, without pages, as fast as the database allows."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from evenhand.annotation.simulating.people import Population, SimulatedPerson
from evenhand.annotation.store import (
    AskConsent,
    AskSurvey,
    EndVisit,
    LeaseLost,
    ShowCorrection,
    ShowItem,
    Store,
    UnitDone,
    people,
    sittings,
)

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
WAITING = timedelta(minutes=5)
"""Time after which a simulated annotator asks again if all items are assigned to others."""
MOST_WAITS = 100


@dataclass(frozen=True)
class Sat:
    """Result of the participation of one simulated person."""

    person: str
    """Pseudonym of the person."""
    simulated: SimulatedPerson
    answers: int
    """Number of answered presentations, including gold and onboarding items."""
    end: EndVisit


def simulate(
    store: Store,
    number: int,
    population: Population | None = None,
    *,
    begin: datetime = BEGIN,
    apart: timedelta = timedelta(seconds=20),
) -> list[Sat]:
    """Simulate the participation of several people until no items are left for them, and return the result for each.

    `number` is that of people, who get an invite each. `population` describes them (default: no preferences). `begin`
    is the arrival of the first, and `apart` the time between arrivals. They work at the same time, so that assignments
    expire and are passed on as in a real study.
    """
    drawn = Population() if population is None else population
    invites = people.make_invites(store, number, begin)
    queue: list[tuple[datetime, int]] = []
    sitting: list[Iterator[datetime]] = []
    ends: dict[int, Sat] = {}
    for place, invite in enumerate(invites):
        comes = begin + place * apart
        person = people.arrive(store, invite.id, comes)
        sitting.append(_sit(store, person, SimulatedPerson(drawn, place), comes, ends, place))
        heapq.heappush(queue, (comes, place))
    while queue:
        _, place = heapq.heappop(queue)
        again = next(sitting[place], None)
        if again is not None:
            heapq.heappush(queue, (again, place))
    return [ends[place] for place in range(number)]


def sit(store: Store, person: str, simulated: SimulatedPerson, *, begin: datetime = BEGIN) -> Sat:
    """Simulate the participation of one person who has arrived, until no items are left."""
    ends: dict[int, Sat] = {}
    for _ in _sit(store, person, simulated, begin, ends, 0):
        pass
    return ends[0]


def _sit(
    store: Store, person: str, simulated: SimulatedPerson, now: datetime, ends: dict[int, Sat], place: int
) -> Iterator[datetime]:
    """Simulate one step at a time; yield the time of the annotator's next action."""
    answered = waits = steps = 0
    while True:
        step = sittings.step(store, person, now)
        if isinstance(step, EndVisit):
            if step.why == "all given out" and waits < MOST_WAITS:
                waits += 1
                now += WAITING
                yield now
                continue
            ends[place] = Sat(person, simulated, answered, step)
            return
        steps += 1
        now += timedelta(seconds=simulated.seconds(steps))
        yield now
        try:
            answered += _act(store, person, simulated, step, now)
        except LeaseLost:
            continue


def _act(store: Store, person: str, simulated: SimulatedPerson, step: object, now: datetime) -> int:
    """Do what a page would do; return the number of presentations that were answered."""
    match step:
        case AskConsent():
            sittings.agree(store, person, now)
        case ShowItem():
            answers = simulated.answers(step, store.study.questions)
            sittings.answer(store, person, step.presentation, answers, now)
            return 1
        case ShowCorrection():
            sittings.read_correction(store, person, step.shown.presentation, now)
        case AskSurvey():
            sittings.answer_survey(store, person, step.survey, simulated.survey(step), now)
        case UnitDone():
            sittings.next_unit(store, person, now)
        case _:
            raise TypeError(f"unknown kind of step: {type(step).__name__}")
    return 0
