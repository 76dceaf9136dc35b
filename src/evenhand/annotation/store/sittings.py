"""Choose what a person sees next and store their answers: units, leases, votes. Each function is one transaction.

A lease covers the unanswered items of a unit. It runs for the study's `lease_minutes` after the person last saw or
answered an item of the unit. After it expires, the person keeps the items until another person needs work and no free
item is left for them; the expired items are then reassigned individually.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, select, update

from evenhand.annotation.definition import Answer, Scale, list_statements
from evenhand.annotation.store import finishing, giving, slots
from evenhand.annotation.store.steps import (
    AskConsent,
    AskSurvey,
    EndVisit,
    ShowCorrection,
    ShowItem,
    Step,
    UnitDone,
)
from evenhand.annotation.store.store import Store
from evenhand.annotation.store.tables import Record, persons, presentations, studies, surveys, units
from evenhand.annotation.store.taking import (
    drop_orphans,
    finish_open_unit,
    load_item,
    own,
    take_answer,
    take_survey,
)
from evenhand.annotation.store.visits import (
    Visit,
    last_code,
    list_presentations,
    open_unit,
    units_done,
    visit,
)
from evenhand.annotation.store.withdrawing import empty_journal, take_out


def step(store: Store, person: str, now: datetime) -> Step:
    """Return an annotator's next step; assign a task batch if consent and onboarding are done and none is open.

    Asking again (a reload, a second tab, after a crash) returns the same presentation. Raises UsageError for an unknown
    annotator.
    """
    return store.transactions.write(lambda connection: _step(visit(connection, store, person, now)))


def agree(store: Store, person: str, now: datetime) -> None:
    """Store consent; repeated calls change nothing."""

    def write(connection: Connection) -> None:
        at = visit(connection, store, person, now)
        if at.person.agreed_at is None:
            passed = None if store.study.onboarding else now
            at.set(
                agreed_at=now, passed_at=passed, state="agreed" if at.counts else at.person.state, seen_at=now
            )

    store.transactions.write(write)


def answer(
    store: Store, person: str, presentation: str, answers: Mapping[str, Answer], now: datetime
) -> None:
    """Store an annotator's answers to one presentation, once: sending the same form again changes nothing.

    answers: by question, already checked (`definition.check_answers`). Raises UsageError for a presentation of another
    annotator, and LeaseLost if its time has expired and another annotator has the place.
    """
    store.transactions.write(
        lambda connection: take_answer(visit(connection, store, person, now), presentation, answers)
    )


def read_correction(store: Store, person: str, presentation: str, now: datetime) -> None:
    """Record that the explanation of an onboarding item was read; repeated calls change nothing."""

    def write(connection: Connection) -> None:
        at = visit(connection, store, person, now)
        row = own(at, presentation)
        if row.state == "answered" and row.corrected_at is None:
            connection.execute(
                update(presentations).where(presentations.c.id == row.id).values(corrected_at=now)
            )
            finish_open_unit(at)

    store.transactions.write(write)


def answer_survey(
    store: Store, person: str, survey: str, answers: Mapping[str, Answer], now: datetime
) -> None:
    """Store the answers to a survey block, by statement or question; None in `answer` means
    skipped. Once, as in `answer`.
    """
    store.transactions.write(
        lambda connection: take_survey(visit(connection, store, person, now), survey, answers)
    )


def next_unit(store: Store, person: str, now: datetime) -> None:
    """Record that the annotator wants another task batch; repeated calls change nothing."""

    def write(connection: Connection) -> None:
        at = visit(connection, store, person, now)
        unread = units.c.person_id == at.person.id, units.c.state == "complete", units.c.read_at.is_(None)
        connection.execute(update(units).where(*unread).values(read_at=now))

    store.transactions.write(write)


def withdraw(store: Store, person: str, now: datetime, *, actor: str = "") -> None:
    """Delete an annotator and all their answers from the database; their places go to others.

    actor: the administrator who does it, for the audit log; "" for the annotator.

    The fact that an annotator withdrew (audit log, without the pseudonym) and that the invite was used remain. SQLite
    overwrites deleted data; PostgreSQL does so at its next vacuum. Earlier backups do not change.
    """
    store.transactions.write(lambda connection: take_out(visit(connection, store, person, now), actor))
    empty_journal(store)


def _step(at: Visit) -> Step:
    if at.person.agreed_at is None:
        return AskConsent() if at.counts else EndVisit("blocked")
    if (unit := open_unit(at)) is not None:
        if found := _step_in_unit(at, unit):
            return found
        at = visit(at.connection, at.store, at.person.pseudonym, at.now)
    if unread := _unread(at):
        return UnitDone(unread.token, unread.code, _find_end(at) is None and _is_something(at))
    if (ended := _find_end(at)) is not None:
        return ended
    if at.person.passed_at is None and _is_something(at):
        giving.give_onboarding(at)
        at = at.set(state="onboarding")
    elif at.person.passed_at is not None and giving.give_work(at):
        at = at.set(state="working")
    else:
        return _nothing(at)
    unit = open_unit(at)
    assert unit is not None
    found = _step_in_unit(at, unit)
    assert found is not None
    return found


def _step_in_unit(at: Visit, unit: Record) -> Step | None:
    """Return the next step in an open task batch; None at its end."""
    at.connection.execute(update(units).where(units.c.id == unit.id).values(until=at.lease_end))
    at.connection.execute(update(persons).where(persons.c.id == at.person.id).values(seen_at=at.now))
    shown = drop_orphans(at, list_presentations(at, unit.id))
    if unit.kind == "onboarding":
        for row in shown:
            item = load_item(at, row) if row.wrong and row.corrected_at is None else None
            if item is not None and item.explanation:
                return ShowCorrection(_make_shown(at, row, shown), tuple(row.wrong))
    missing = unit.size - sum(row.role == "real" for row in shown)
    if missing and at.counts and not unit.surveyed and all(row.state == "answered" for row in shown):
        start = _positions(at, unit) + 1
        if giving.top_up(at, unit, missing, start):
            shown = list_presentations(at, unit.id)
    if ahead := next((row for row in shown if row.state == "open"), None):
        if ahead.shown_at is None:
            at.connection.execute(
                update(presentations).where(presentations.c.id == ahead.id).values(shown_at=at.now)
            )
        return _make_shown(at, ahead, shown)
    if unit.kind == "work" and not any(row.role == "real" for row in shown):
        finishing.abandon(at, unit)
        return None
    if (survey := finishing.survey_open(at, unit)) is None:
        at = finishing.finish(at, unit)
        survey = finishing.survey_open(at, unit)
    return None if survey is None else _make_survey_step(at, survey)


def _positions(at: Visit, unit: Record) -> int:
    """Return the last position in a task batch, including lost presentations."""
    query = (
        select(presentations.c.position)
        .where(presentations.c.unit_id == unit.id)
        .order_by(presentations.c.position.desc())
        .limit(1)
    )
    return int(at.connection.execute(query).scalar_one())


def _make_shown(at: Visit, row: Record, all_of_it: Sequence[Record]) -> ShowItem:
    return ShowItem(
        presentation=row.token,
        item=load_item(at, row),
        left=row.left,
        questions=tuple(row.questions),
        position=[other.id for other in all_of_it].index(row.id),
        length=len(all_of_it),
        onboarding=row.role == "onboarding",
        until=at.lease_end,
    )


def _make_survey_step(at: Visit, survey: Record) -> AskSurvey:
    if survey.shown_at is None:
        at.connection.execute(update(surveys).where(surveys.c.id == survey.id).values(shown_at=at.now))
    block = next(block for block in at.study.survey if block.id == survey.block)
    if not isinstance(block, Scale):
        return AskSurvey(survey.token, block, ())
    by_name = {statement.id: statement for statement in list_statements(block)}
    return AskSurvey(survey.token, block, tuple(by_name[name] for name in survey.statements))


def _unread(at: Visit) -> Record | None:
    """Return a completed task batch whose completion page the annotator has not confirmed."""
    return at.connection.execute(
        select(units)
        .where(
            units.c.person_id == at.person.id,
            units.c.state == "complete",
            units.c.kind == "work",
            units.c.read_at.is_(None),
        )
        .order_by(units.c.number.desc())
        .limit(1)
    ).one_or_none()


def _find_end(at: Visit) -> EndVisit | None:
    """Return why a person gets no more items, even if some are open; None if they can continue."""
    if at.person.state == "not passed":
        return EndVisit("not passed")
    if not at.counts:
        return EndVisit("blocked", last_code(at))
    if units_done(at) >= at.study.assignment.units_per_person:
        return EndVisit("enough", last_code(at))
    paused = select(studies.c.paused).where(studies.c.id == at.store.key)
    return EndVisit("paused", last_code(at)) if at.connection.execute(paused).scalar_one() else None


def _is_something(at: Visit) -> bool:
    return bool(slots.find(at, 1))


def _nothing(at: Visit) -> EndVisit:
    if slots.waits_for_others(at):
        return EndVisit("all given out", last_code(at))
    if at.person.units:
        at.set(state="done")
    return EndVisit("nothing left", last_code(at))
