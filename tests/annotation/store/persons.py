"""Studies to try the store with, persons who go through them, and what must hold of a database at any moment."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, text

from evenhand.annotation.definition import Answer, Item, Marks, Study
from evenhand.annotation.store import (
    AskConsent,
    AskSurvey,
    EndVisit,
    LeaseLost,
    ShowCorrection,
    ShowItem,
    Step,
    Store,
    UnitDone,
    people,
    sittings,
)

START = datetime(2030, 1, 1, 9, tzinfo=UTC)
WHO = {"kind": "pair", "id": "who", "text": "Who would you rather talk to?"}


def conversation(name: str) -> dict[str, Any]:
    turns = [{"speaker": "person", "text": "Hi!"}, {"speaker": "model", "text": f"I am {name}."}]
    return {"id": name, "turns": turns, "speaker": "model", "model": f"model-{name[0]}"}


def pair(name: str, a: str | None = None, b: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": name, "pair": [conversation(a or f"a-{name}"), conversation(b or f"b-{name}")], **more}


def study(items: int | list[dict[str, Any]] = 12, *, name: str = "one", **fields: Any) -> Study:
    """Pairs, three annotations each, units of four, two of them a person, unless said otherwise."""
    assignment = {"annotations_per_item": 3, "items_per_unit": 4, "units_per_person": 2} | fields.pop(
        "assignment", {}
    )
    if isinstance(items, int):
        items = [pair(f"i{number}") for number in range(items)]
    plain = {
        "evenhand_study": 1,
        "name": name,
        "title": "A study",
        "questions": [WHO],
        "items": items,
        "rules": [],
    }
    return Study.model_validate(plain | {"assignment": assignment} | fields)


def come(store: Store, now: datetime = START, *, agreed: bool = True, external: str | None = None) -> str:
    """A new person, who has agreed."""
    (invite,) = people.make_invites(store, 1, now)
    person = people.arrive(store, invite.id, now, external=external)
    if agreed:
        sittings.agree(store, person, now)
    return person


Judge = Callable[[Item, str], str]


def first_option(item: Item, question: str) -> str:
    """What is expected, or a."""
    return item.expected.get(question, "a")


def act(store: Store, person: str, there: Step, now: datetime, judge: Judge = first_option) -> bool:
    """Do what a page of this step leads to; False where there is nothing to do."""
    match there:
        case AskConsent():
            sittings.agree(store, person, now)
        case ShowItem():
            marks = {question.id for question in store.study.questions if isinstance(question, Marks)}
            said = {q: Answer(None) if q in marks else Answer(judge(there.item, q)) for q in there.questions}
            sittings.answer(store, person, there.presentation, said, now)
        case ShowCorrection():
            sittings.read_correction(store, person, there.shown.presentation, now)
        case AskSurvey():
            names = [s.id for s in there.statements] or [q.id for q in getattr(there.block, "questions", ())]
            sittings.answer_survey(store, person, there.survey, {name: Answer("3") for name in names}, now)
        case UnitDone():
            if not there.more:
                return False
            sittings.next_unit(store, person, now)
        case EndVisit():
            return False
    return True


def work(
    store: Store, person: str, now: datetime = START, judge: Judge = first_option, most: int = 1000
) -> Step:
    """Go on until there is nothing to do, or as many steps as may be; returns where the person then stands."""
    for number in range(most):
        there = sittings.step(store, person, now + timedelta(seconds=number))
        try:
            if not act(store, person, there, now + timedelta(seconds=number), judge):
                return there
        except LeaseLost:
            continue
    return sittings.step(store, person, now + timedelta(seconds=most))


def show(store: Store, person: str, now: datetime = START) -> ShowItem:
    """What a person is shown, who must be shown something."""
    there = sittings.step(store, person, now)
    assert isinstance(there, ShowItem), there
    return there


def rows(store: Store, query: str, **values: Any) -> list[Any]:
    with store.engine.begin() as connection:
        return list(connection.execute(text(query), values))


def check(store: Store) -> None:
    """Count everything anew: quotas, counters, sides, conversations, leases."""
    store.transactions.read(lambda connection: _check(connection, store.key))


def _check(connection: Connection, key: int) -> None:
    def rows(query: str) -> list[Any]:
        return list(connection.execute(text(query), {"s": key} if ":s" in query else {}))

    items = {row.id: row for row in rows("SELECT * FROM items WHERE study_id = :s")}
    shown = rows(
        "SELECT p.*, q.blocked, q.review, u.state AS unit_state FROM presentations p "
        "JOIN persons q ON q.id = p.person_id JOIN units u ON u.id = p.unit_id WHERE q.study_id = :s",
    )
    held = [row for row in shown if row.slot is not None]
    taken, done, left = Counter(), Counter(), Counter()
    holders = set()
    for row in held:
        assert row.role == "real"
        assert row.state in ("open", "answered")
        assert row.blocked is None and row.review != "rejected"
        assert 0 <= row.slot < items[row.item_id].wanted
        assert (row.item_id, row.slot) not in holders and (row.item_id, f"p{row.person_id}") not in holders
        holders |= {(row.item_id, row.slot), (row.item_id, f"p{row.person_id}")}
        taken[row.item_id] += 1
        done[row.item_id] += row.state == "answered"
        left[row.item_id, row.left] += 1
    for key, item in items.items():
        assert (item.taken, item.done) == (taken[key], done[key])
        assert (item.left_a, item.left_b) == (left[key, "a"], left[key, "b"])
        assert item.taken <= item.wanted
        if item.taken == item.wanted and item.second is not None:
            assert abs(item.left_a - item.left_b) <= 1
    for row in shown:
        if row.role == "real" and row.state == "open" and row.slot is None:
            assert row.blocked is not None or row.review == "rejected"
        assert not (row.state == "open" and row.unit_state == "complete")
    met = Counter(
        (row.person_id, conversation)
        for row in shown
        if row.role == "real" and (row.shown_at is not None or row.state == "open")
        for conversation in {items[row.item_id].first, items[row.item_id].second} - {None}
    )
    assert set(met.values()) <= {1}
    with_votes = {row.presentation_id for row in rows("SELECT presentation_id FROM votes")}
    assert {row.id for row in shown if row.state == "answered"} == with_votes & {row.id for row in shown}
    open_units = Counter(row.person_id for row in rows("SELECT person_id FROM units WHERE state = 'open'"))
    assert set(open_units.values()) <= {1}
