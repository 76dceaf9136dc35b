"""Store an annotator's answers once, and finish the task batch after its last one."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import insert, select, update

from evenhand.annotation.definition import Answer, Item, Marks
from evenhand.annotation.store import finishing
from evenhand.annotation.store.failures import LeaseLost
from evenhand.annotation.store.rows import NO_MARK, is_correct, seconds_between
from evenhand.annotation.store.tables import (
    Record,
    items,
    presentations,
    survey_answers,
    surveys,
    units,
    votes,
)
from evenhand.annotation.store.visits import Visit, list_presentations, lock_study, open_unit, read_item
from evenhand.schema import UsageError


def own(at: Visit, token: str) -> Record:
    """Return a presentation of this annotator. Raise UsageError."""
    row = at.connection.execute(
        select(presentations).where(presentations.c.token == token, presentations.c.person_id == at.person.id)
    ).one_or_none()
    if row is None:
        raise UsageError("This is not one of the items you were given.", "Reload the page to continue.")
    return row


def take_answer(at: Visit, token: str, answers: Mapping[str, Answer]) -> None:
    """Store the answers to one presentation (see `sittings.answer`)."""
    unit = open_unit(at)
    row = own(at, token)
    if row.state == "answered":
        return
    if row.state == "lost" or unit is None or row.unit_id != unit.id:
        raise LeaseLost(
            "The time for this item is over, and somebody else has it now.", "Continue with the next one."
        )
    if unknown := sorted(answers.keys() - set(row.questions)):
        raise UsageError(
            f"There is no question {unknown[0]!r}.", f"Questions are {', '.join(row.questions)}."
        )
    others = [
        other for other in list_presentations(at, unit.id) if other.state == "open" and other.id != row.id
    ]
    if not others:
        lock_study(at)  # finishing the task batch may free places
    first = row.shown_at or at.now
    item = load_item(at, row)
    wrong = None
    if row.role == "onboarding":
        wrong = [
            question
            for question in row.questions
            if is_correct(item, question, answers[question].answer if question in answers else None) is False
        ]
    at.connection.execute(
        update(presentations)
        .where(presentations.c.id == row.id)
        .values(
            state="answered",
            shown_at=first,
            answered_at=at.now,
            seconds=seconds_between(first, at.now),
            wrong=wrong,
        )
    )
    said = [
        line
        for name in row.questions
        for line in _lines(row.id, name, answers.get(name, Answer(None)), _marks(at, name))
    ]
    at.connection.execute(insert(votes), said)
    if row.slot is not None:
        at.connection.execute(update(items).where(items.c.id == row.item_id).values(done=items.c.done + 1))
    at.connection.execute(update(units).where(units.c.id == unit.id).values(until=at.lease_end))
    at = at.set(seen_at=at.now, votes=at.person.votes + (row.role == "real"))
    if not others:
        finish_open_unit(at)


def _marks(at: Visit, question: str) -> bool:
    return isinstance(at.study.question(question), Marks)


def _lines(presentation: int, question: str, said: Answer, marks: bool) -> list[dict[str, Any]]:
    line = {
        "presentation_id": presentation,
        "question": question,
        "turn": None,
        "answer": said.answer,
        "reason": said.reason,
    }
    if not marks:
        return [line]
    if not said.marks:
        return [line | {"answer": NO_MARK}]
    return [
        line | {"turn": turn, "answer": option}
        for turn, given in sorted(said.marks.items())
        for option in ((given,) if isinstance(given, str) else given)
    ]


def finish_open_unit(at: Visit) -> None:
    """Finish the open task batch if nothing is left to do; `step` replaces items that it lost to others."""
    unit = open_unit(at)
    if unit is None:
        return
    shown = drop_orphans(at, list_presentations(at, unit.id))
    if any(row.state == "open" for row in shown):
        return
    if unit.kind == "onboarding":
        if any(row.wrong and row.corrected_at is None and load_item(at, row).explanation for row in shown):
            return
    elif sum(row.role == "real" for row in shown) < unit.size:
        return
    finishing.finish(at, unit)


def take_survey(at: Visit, token: str, answers: Mapping[str, Answer]) -> None:
    """Store the answers to a survey block (see `sittings.answer_survey`)."""
    row = at.connection.execute(
        select(surveys).where(surveys.c.token == token, surveys.c.person_id == at.person.id)
    ).one_or_none()
    if row is None:
        raise UsageError("These are not questions that you were asked.", "Reload the page to continue.")
    if row.answered_at is not None:
        return
    if unknown := sorted(answers.keys() - set(row.statements)):
        raise UsageError(
            f"There is no question {unknown[0]!r}.", f"Questions are {', '.join(row.statements)}."
        )
    at.connection.execute(
        update(surveys)
        .where(surveys.c.id == row.id)
        .values(shown_at=row.shown_at or at.now, answered_at=at.now)
    )
    said = {name: answers.get(name, Answer(None)) for name in row.statements}
    at.connection.execute(
        insert(survey_answers),
        [
            {"survey_id": row.id, "question": name, "answer": one.answer, "reason": one.reason}
            for name, one in said.items()
        ],
    )
    finish_open_unit(at.set(seen_at=at.now))


def drop_orphans(at: Visit, shown: Sequence[Record]) -> Sequence[Record]:
    """Remove repetitions of items that went to another annotator before they were answered."""
    there = {row.id for row in shown}
    orphans = [
        row.id
        for row in shown
        if row.state == "open" and row.original_id is not None and row.original_id not in there
    ]
    if not orphans:
        return shown
    at.connection.execute(update(presentations).where(presentations.c.id.in_(orphans)).values(state="lost"))
    return [row for row in shown if row.id not in orphans]


def load_item(at: Visit, row: Record) -> Item:
    """Return the item of a presentation."""
    content = select(items.c.content).where(items.c.id == row.item_id)
    return read_item(at.connection.execute(content).scalar_one())
