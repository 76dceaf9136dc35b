"""Assign a task batch: its items and their places, quality checks between them, sides and order of questions."""

import secrets
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from sqlalchemy import func, insert, select

from evenhand.annotation.store import slots
from evenhand.annotation.store.allocation import UnitPosition, draw_gold, draw_side, draws, lay_out
from evenhand.annotation.store.steps import Side
from evenhand.annotation.store.tables import Record, insert_one, items, presentations, units
from evenhand.annotation.store.visits import Visit, lock_study

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def give_onboarding(at: Visit) -> None:
    """Assign the items before the first task batch, in the order of the study; the next attempt after
    an earlier one.
    """
    attempt = _number(at, "onboarding")
    unit = _begin(at, "onboarding", attempt, 0)
    rows = at.connection.execute(
        select(items.c.id, items.c.second)
        .where(items.c.study_id == at.store.key, items.c.role == "onboarding")
        .order_by(items.c.place)
    ).all()
    random = draws(at.study.seed, "onboarding", at.person.number, attempt)
    _write(
        at,
        [
            _presentation(at, unit, row.id, "onboarding", place, _coin(random, row), random)
            for place, row in enumerate(rows)
        ],
    )


def give_work(at: Visit) -> bool:
    """Assign real items with quality checks between them; return False if there are none."""
    lock_study(at)
    found = slots.find(at, at.study.assignment.items_per_unit)
    if not found:
        return False
    number = _number(at, "work")
    unit = _begin(at, "work", number, len(found))
    random = draws(at.study.seed, "unit", at.person.number, number)
    hidden = at.study.hidden
    coming = {conversation for one in found for conversation in one.conversations}
    gold = draw_gold(_gold_shown(at, coming), hidden.gold_per_unit, random) if hidden.gold_per_unit else []
    places = lay_out([one.item for one in found], gold, hidden.duplicates_per_unit, random)
    slots.take_over(at, found)
    _place(at, unit, places, 0, random)
    return True


def top_up(at: Visit, unit: Record, number: int, start: int) -> int:
    """Add real items at the end of a task batch to replace lost ones; return the number of items that
    were available.
    """
    lock_study(at)
    found = slots.find(at, number)
    random = draws(at.study.seed, "top-up", at.person.number, unit.number, start)
    slots.take_over(at, found)
    _place(at, unit.id, [UnitPosition(one.item, "real") for one in found], start, random)
    return len(found)


def _place(at: Visit, unit: int, places: Sequence[UnitPosition], start: int, random: Random) -> None:
    """Store presentations; each real one has a place in the quota of its item."""
    rows = {
        row.id: row
        for row in at.connection.execute(
            select(items).where(items.c.id.in_({place.item for place in places}))
        )
    }
    free = slots.free_slots(at.connection, [place.item for place in places if place.role == "real"])
    mine = slots.count_sides(at)
    made: list[dict[str, Any]] = []
    changes = []
    for position, place in enumerate(places):
        row = rows[place.item]
        left: Side = "a"
        slot = None
        if place.role == "real":
            slot = free[place.item].pop(0)
            if row.second is not None:
                left = draw_side({"a": row.left_a, "b": row.left_b}, {"a": mine["a"], "b": mine["b"]}, random)
                mine[left] += 1
            changes.append((place.item, left, 1, 0))
        else:
            left = _coin(random, row)
        made.append(
            _presentation(at, unit, place.item, place.role, start + position, left, random) | {"slot": slot}
        )
    slots.count(at.connection, at.store, changes)
    _write(at, [row for row, place in zip(made, places, strict=True) if place.original is None])
    originals = {
        row.position: row.id
        for row in at.connection.execute(
            select(presentations.c.position, presentations.c.id).where(presentations.c.unit_id == unit)
        )
    }
    _write(
        at,
        [
            row | {"original_id": originals[start + place.original]}
            for row, place in zip(made, places, strict=True)
            if place.original is not None
        ],
    )


def _begin(at: Visit, kind: str, number: int, size: int) -> int:
    completion = at.study.completion
    code = completion.code
    if completion.per_unit_codes:
        code = "".join(secrets.choice(CODE_LETTERS) for _ in range(10))
    return insert_one(
        at.connection,
        units,
        study_id=at.store.key,
        person_id=at.person.id,
        token=secrets.token_urlsafe(16),
        kind=kind,
        number=number,
        state="open",
        size=size,
        begun_at=at.now,
        until=at.lease_end,
        surveyed=False,
        code=code if kind == "work" else None,
    )


def _number(at: Visit, kind: str) -> int:
    there = at.connection.execute(
        select(func.coalesce(func.max(units.c.number), 0)).where(
            units.c.person_id == at.person.id, units.c.kind == kind
        )
    ).scalar_one()
    return int(there) + 1


def _presentation(
    at: Visit, unit: int, item: int, role: str, position: int, left: Side, random: Random
) -> dict[str, Any]:
    questions = [question.id for question in at.study.questions]
    if at.study.assignment.shuffle_questions:
        random.shuffle(questions)
    return {
        "unit_id": unit,
        "person_id": at.person.id,
        "item_id": item,
        "token": secrets.token_urlsafe(16),
        "role": role,
        "position": position,
        "left": left,
        "questions": questions,
        "original_id": None,
        "slot": None,
        "state": "open",
    }


def _write(at: Visit, rows: Iterable[dict[str, Any]]) -> None:
    if rows := list(rows):
        at.connection.execute(insert(presentations), rows)


def _coin(random: Random, row: Record) -> Side:
    side: Side = random.choice(("a", "b"))
    return "a" if row.second is None else side


def _gold_shown(at: Visit, coming: set[str]) -> dict[int, int]:
    """Return how often each gold item was shown to an annotator; items with conversations that
    they know count as shown.
    """
    avoided = coming | slots.list_seen_conversations(at)
    shown = {
        row.id: int(row.first in avoided or row.second in avoided)
        for row in at.connection.execute(
            select(items.c.id, items.c.first, items.c.second)
            .where(items.c.study_id == at.store.key, items.c.role == "gold")
            .order_by(items.c.place)
        )
    }
    for row in at.connection.execute(
        select(presentations.c.item_id, func.count().label("times"))
        .where(presentations.c.person_id == at.person.id, presentations.c.role == "gold")
        .group_by(presentations.c.item_id)
    ):
        shown[row.item_id] = row.times
    return shown
