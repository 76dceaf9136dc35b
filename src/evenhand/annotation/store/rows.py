"""Rows of VOTES from the database: answers to items, marks and surveys; and the included judgements."""

import heapq
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, select

from evenhand.annotation.definition import (
    Choice,
    Conversation,
    FreeText,
    Item,
    Likert,
    Marks,
    PairChoice,
    Question,
    Scale,
    Study,
)
from evenhand.annotation.store.connecting import shown_address
from evenhand.annotation.store.failures import sound
from evenhand.annotation.store.steps import Side
from evenhand.annotation.store.store import Store
from evenhand.annotation.store.tables import (
    Record,
    items,
    persons,
    presentations,
    survey_answers,
    surveys,
    units,
    votes,
)
from evenhand.annotation.store.visits import read_item
from evenhand.schema import VOTES

NO_MARK = "none"
"""Answer of a presentation in which nothing was marked, so that this is recorded."""
_EMPTY = dict.fromkeys(VOTES)


def is_correct(item: Item, question: str, answer: str | None) -> bool | None:
    """Return whether an answer is the expected one, with numbers in any notation; None if none is expected."""
    expected = item.expected.get(question)
    if expected is None:
        return None
    if answer is None or answer == expected:
        return answer is not None
    try:
        return float(answer) == float(expected)
    except ValueError:
        return False


def read_rows(connection: Connection, store: Store, *, person: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of one annotator or of all, in the order of the answers; they are read lazily."""
    both = _of_items(connection, store, person), _of_surveys(connection, store, person)
    with sound(shown_address(store.engine.url)):
        yield from heapq.merge(*both, key=lambda row: row["answered_at"])


def seconds_between(first: datetime, last: datetime) -> float | None:
    """Return the seconds between two times; None if the clock was set back in between."""
    seconds = (last - first).total_seconds()
    return seconds if seconds >= 0 else None


def _stream_rows(connection: Connection, query: Select[Any]) -> Iterator[Record]:
    """Stream rows; PostgreSQL's cursor is closed when the caller stops reading."""
    with connection.execute(query.execution_options(yield_per=1000)) as result:
        yield from result


def _of_items(connection: Connection, store: Store, person: int | None) -> Iterator[dict[str, Any]]:
    query = (
        select(
            votes.c.question,
            votes.c.turn,
            votes.c.answer,
            votes.c.reason,
            presentations.c.token,
            presentations.c.item_id,
            items.c.role.label("item_role"),
            items.c.name.label("item"),
            presentations.c.role,
            presentations.c.position,
            presentations.c.left,
            presentations.c.slot,
            presentations.c.shown_at,
            presentations.c.answered_at,
            presentations.c.seconds,
            units.c.token.label("unit"),
            persons.c.pseudonym,
            persons.c.blocked,
            persons.c.review,
        )
        .select_from(votes)
        .join(presentations, presentations.c.id == votes.c.presentation_id)
        .join(items, items.c.id == presentations.c.item_id)
        .join(units, units.c.id == presentations.c.unit_id)
        .join(persons, persons.c.id == presentations.c.person_id)
        .where(persons.c.study_id == store.key if person is None else persons.c.id == person)
        .order_by(presentations.c.answered_at, votes.c.id)
    )
    known: dict[int, tuple[Item, dict[str, Any]]] = {}
    questions = {question.id: question for question in store.study.questions}
    values = {name: _values(question) for name, question in questions.items()}
    measurements = {name: _measurement(question) for name, question in questions.items()}
    study = store.study.name
    for row in _stream_rows(connection, query):
        if row.item_id not in known:
            found = store.items.get((row.item_role, row.item))
            if found is None:  # added since this process opened the study
                content = select(items.c.content).where(items.c.id == row.item_id)
                found = read_item(connection.execute(content).scalar_one())
            known[row.item_id] = found, _describe_item(found)
        item, described = known[row.item_id]
        measurement = measurements[row.question]
        judged = row.role in ("onboarding", "gold") and measurement != "marks"
        pair = item.pair is not None
        yield (
            _EMPTY
            | described
            | {
                "study": study,
                "person": row.pseudonym,
                "unit": row.unit,
                "presentation": row.token,
                "position": row.position,
                "role": row.role,
                "question": row.question,
                "measurement": measurement,
                "turn": row.turn,
                "answer": row.answer,
                "value": _value(values[row.question], row.answer, row.turn),
                "reason": row.reason,
                "shown_left": row.left if pair else None,
                "expected": item.expected.get(row.question) if judged else None,
                "correct": is_correct(item, row.question, row.answer) if judged else None,
                "shown_at": row.shown_at,
                "answered_at": row.answered_at,
                "seconds": None if row.seconds is not None and row.seconds < 0 else row.seconds,
                "review": row.review,
                "excluded": _explain_exclusion(row),
            }
        )


def _explain_exclusion(row: Record) -> str | None:
    """Return the reason why a row is not included, other than rules and reviews: blocked, or its place was freed.

    For an annotator whom a rule excludes, `quality.excluded` states the rule instead, as long as it applies.
    """
    if row.blocked == "admin":
        return "blocked"
    if row.role == "real" and row.slot is None and row.blocked is None and row.review != "rejected":
        return "place_taken"
    return None


def _of_surveys(connection: Connection, store: Store, person: int | None) -> Iterator[dict[str, Any]]:
    query = (
        select(
            survey_answers.c.question,
            survey_answers.c.answer,
            survey_answers.c.reason,
            surveys.c.token,
            surveys.c.block,
            surveys.c.position,
            surveys.c.shown_at,
            surveys.c.answered_at,
            units.c.token.label("unit"),
            persons.c.pseudonym,
            persons.c.review,
            persons.c.blocked,
        )
        .select_from(survey_answers)
        .join(surveys, surveys.c.id == survey_answers.c.survey_id)
        .join(units, units.c.id == surveys.c.unit_id)
        .join(persons, persons.c.id == surveys.c.person_id)
        .where(persons.c.study_id == store.key if person is None else persons.c.id == person)
        .order_by(surveys.c.answered_at, survey_answers.c.id)
    )
    asked = _survey_questions(store.study)
    for row in _stream_rows(connection, query):
        question = asked.get((row.block, row.question))
        yield _EMPTY | {
            "study": store.study.name,
            "person": row.pseudonym,
            "unit": row.unit,
            "presentation": row.token,
            "position": row.position,
            "role": "survey",
            "question": row.question,
            "measurement": "interval" if question is None else _measurement(question),
            "answer": row.answer,
            "value": _value(None if question is None else _values(question), row.answer, None),
            "reason": row.reason,
            "shown_at": row.shown_at,
            "answered_at": row.answered_at,
            "seconds": seconds_between(row.shown_at, row.answered_at),
            "review": row.review,
            "excluded": "blocked" if row.blocked == "admin" else None,
        }


def _survey_questions(study: Study) -> dict[tuple[str, str], Question | None]:
    """Return questions about the annotator by block and name; None for statements, which are rated."""
    return {
        (block.id, question.id): question
        for block in study.survey
        if not isinstance(block, Scale)
        for question in block.questions
    }


def format_conversation(conversation: Conversation) -> str:
    """Return a conversation as one text: one line per turn, after its speaker.

    >>> turns = ({"speaker": "A", "text": "Hi."}, {"speaker": "B", "text": "Hello."})
    >>> format_conversation(Conversation(id="c", turns=turns))
    'A: Hi.\\nB: Hello.'
    """
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in conversation.turns)


def _describe_item(item: Item) -> dict[str, Any]:
    """Return the columns that describe an item."""
    columns: dict[str, Any] = {
        "item": item.id,
        "kind": item.kind,
        "model": item.model,
        "text": item.text,
        "context": item.context,
        "groups": json.dumps(item.groups, ensure_ascii=False, sort_keys=True),
        "judgements": json.dumps(item.judgements, ensure_ascii=False, sort_keys=True),
    }
    if item.pair:
        a, b = item.pair
        columns |= {"a": a.id, "b": b.id, "model_a": a.model, "model_b": b.model}
        columns |= {"text_a": format_conversation(a), "text_b": format_conversation(b)}
    elif item.conversation:
        columns |= {"conversation": item.conversation.id, "model": item.conversation.model or item.model}
    return columns


def _measurement(question: Question) -> str:
    if isinstance(question, Choice):
        return "ordinal" if question.ordered else "nominal"
    kinds = {PairChoice: "preference", Likert: "interval", Marks: "marks", FreeText: "text"}
    return kinds[type(question)]


def _values(question: Question) -> dict[str, float | None] | None:
    """Return the number of each answer; None if the answer itself is the number."""
    if isinstance(question, Choice):
        return {option.id: option.value for option in question.options}
    return None if isinstance(question, Likert) else {}


def _value(values: dict[str, float | None] | None, answer: str | None, turn: int | None) -> float | None:
    if answer is None:
        return None
    if turn is not None:
        return 1.0
    return float(answer) if values is None else values.get(answer)


class CountedAnswer(NamedTuple):
    """One included judgement of a real item."""

    item: str
    question: str
    answer: str | None
    left: Side


def list_counted_answers(store: Store) -> list[CountedAnswer]:
    """Return the judgements that count towards an item's quota: those of annotators whom no rule excludes, without
    marks.
    """
    leaving_out = {rule.rule for rule in store.study.rules if rule.action != "flag"}
    broken = select(persons.c.id, persons.c.broken).where(persons.c.study_id == store.key)
    query = (
        select(
            presentations.c.person_id, items.c.name, votes.c.question, votes.c.answer, presentations.c.left
        )
        .select_from(votes)
        .join(presentations, presentations.c.id == votes.c.presentation_id)
        .join(items, items.c.id == presentations.c.item_id)
        .where(
            items.c.study_id == store.key,
            items.c.role == "real",
            presentations.c.role == "real",
            presentations.c.slot.is_not(None),
            votes.c.turn.is_(None),
        )
    )
    people, rows = store.transactions.read(
        lambda connection: (connection.execute(broken).all(), connection.execute(query).all())
    )
    out = {key for key, rules in people if leaving_out.intersection(rules)}
    return [CountedAnswer(*rest) for person, *rest in rows if person not in out]
