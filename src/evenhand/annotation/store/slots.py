"""Places (slots) in the quotas of items: find free ones, lease them, take them over, free and restore them.

Code that changes `taken` must hold the study's lock (`visits.lock_study`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, or_, select, update

from evenhand.annotation.store.allocation import OpenItem, choose, tie_break
from evenhand.annotation.store.store import Store
from evenhand.annotation.store.tables import Record, items, presentations, units
from evenhand.annotation.store.visits import Visit, same_persons

_PAGE = 32


def list_seen_conversations(at: Visit) -> set[str]:
    """Return the conversations that an annotator saw or will see, here and in linked studies."""
    rows = at.connection.execute(
        select(items.c.first, items.c.second)
        .join(presentations, presentations.c.item_id == items.c.id)
        .where(
            presentations.c.person_id.in_(same_persons(at)),
            or_(presentations.c.shown_at.is_not(None), presentations.c.state == "open"),
        )
    )
    return {conversation for row in rows for conversation in row if conversation is not None}


def find(at: Visit, number: int) -> list[OpenItem]:
    """Return items for an annotator: those with the fewest places taken, then those with expired leases."""
    avoided = list_seen_conversations(at)
    found = choose(_open_items(at), avoided, number)
    if len(found) < number:
        avoided |= {conversation for one in found for conversation in one.conversations}
        found += choose(_run_out(at), avoided, number - len(found))
    return found


def waits_for_others(at: Visit) -> bool:
    """Return whether an item that the annotator has not seen lacks judgements, so that it may become free."""
    avoided = list_seen_conversations(at)
    rows = at.connection.execute(
        select(items.c.first, items.c.second).where(
            items.c.study_id == at.store.key, items.c.role == "real", items.c.done < items.c.wanted
        )
    )
    return any(row.first not in avoided and row.second not in avoided for row in rows)


def _open_items(at: Visit) -> Iterator[OpenItem]:
    """Yield open items in growing pages, because an annotator has seen most items if there are few annotators."""
    wanted = at.study.assignment.annotations_per_item
    query = (
        select(items.c.id, items.c.first, items.c.second, items.c.taken, items.c.rank)
        .where(items.c.study_id == at.store.key, items.c.role == "real", items.c.taken < wanted)
        .order_by(items.c.taken, items.c.rank, items.c.id)
    )
    size, start = _PAGE, 0
    while rows := at.connection.execute(query.limit(size).offset(start)).all():
        yield from map(_open_item, rows)
        start += size
        size *= 4


def _run_out(at: Visit) -> Iterator[OpenItem]:
    """Yield items of presentations with expired leases, oldest first; their units are locked, and
    locked ones skipped.
    """
    query = (
        select(items.c.id, items.c.first, items.c.second)
        .select_from(units)
        .join(presentations, presentations.c.unit_id == units.c.id)
        .join(items, items.c.id == presentations.c.item_id)
        .where(
            units.c.study_id == at.store.key,
            units.c.state == "open",
            units.c.until < at.now,
            presentations.c.state == "open",
            presentations.c.slot.is_not(None),
        )
        .order_by(units.c.until, presentations.c.position)
        .with_for_update(of=units, skip_locked=True)
    )
    yield from map(_open_item, at.connection.execute(query).all())


def _open_item(row: Record) -> OpenItem:
    return OpenItem(row.id, (row.first,) if row.second is None else (row.first, row.second))


def take_over(at: Visit, chosen: Sequence[OpenItem]) -> None:
    """Take over a slot with an expired lease for each chosen item without free slots."""
    keys = [one.item for one in chosen]
    full = at.connection.execute(
        select(items.c.id).where(items.c.id.in_(keys), items.c.taken >= items.c.wanted).order_by(items.c.id)
    ).scalars()
    for key in full.all():
        late = at.connection.execute(
            select(presentations)
            .join(units, units.c.id == presentations.c.unit_id)
            .where(
                presentations.c.item_id == key,
                presentations.c.state == "open",
                presentations.c.slot.is_not(None),
                units.c.until < at.now,
            )
            .order_by(units.c.until)
            .limit(1)
            # the units that `_run_out` found are locked by this transaction
            .with_for_update(of=units, skip_locked=True)
        ).all()
        release(at.connection, at.store, late, lost=True)


def release(connection: Connection, store: Store, held: Iterable[Record], *, lost: bool = False) -> None:
    """Free the places of presentations. lost: whether the annotator loses the presentations, too."""
    held = [row for row in held if row.slot is not None]
    if not held:
        return
    values: dict[str, Any] = {"slot": None, "state": "lost"} if lost else {"slot": None}
    connection.execute(
        update(presentations).where(presentations.c.id.in_([row.id for row in held])).values(**values)
    )
    count(
        connection, store, [(row.item_id, row.left, -1, -1 if row.state == "answered" else 0) for row in held]
    )


def free_slots(connection: Connection, keys: Iterable[int]) -> dict[int, list[int]]:
    """Return the numbers of the free slots, by item."""
    keys = list(keys)
    wanted = {
        row.id: row.wanted
        for row in connection.execute(select(items.c.id, items.c.wanted).where(items.c.id.in_(keys)))
    }
    held: dict[int, set[int]] = {key: set() for key in keys}
    for row in connection.execute(
        select(presentations.c.item_id, presentations.c.slot).where(
            presentations.c.item_id.in_(keys), presentations.c.slot.is_not(None)
        )
    ):
        held[row.item_id].add(row.slot)
    return {key: [slot for slot in range(wanted[key]) if slot not in held[key]] for key in keys}


def count(connection: Connection, store: Store, changes: Iterable[tuple[int, str, int, int]]) -> None:
    """Add to the counters of items, given as (item, side on the left, taken, done), and redraw their rank."""
    changes = sorted(changes)
    if not changes:
        return
    names: dict[int, Any] = {
        row.id: row
        for row in connection.execute(
            select(items.c.id, items.c.name, items.c.taken)
            .where(items.c.id.in_({change[0] for change in changes}))
            .order_by(items.c.id)
            .with_for_update()
        )
    }
    taken_now = {key: row.taken for key, row in names.items()}
    rows = []
    for key, left, taken, done in changes:
        taken_now[key] += taken
        rows.append(
            {
                "key": key,
                "taken_more": taken,
                "done_more": done,
                "a_more": taken if left == "a" else 0,
                "b_more": taken if left == "b" else 0,
                "new_rank": tie_break(store.study.seed, names[key].name, taken_now[key]),
            }
        )
    connection.execute(
        update(items)
        .where(items.c.id == bindparam("key"))
        .values(
            taken=items.c.taken + bindparam("taken_more"),
            done=items.c.done + bindparam("done_more"),
            left_a=items.c.left_a + bindparam("a_more"),
            left_b=items.c.left_b + bindparam("b_more"),
            rank=bindparam("new_rank"),
        ),
        rows,
    )


def count_sides(at: Visit) -> dict[str, int]:
    """Return how often each conversation of a pair was on the left for an annotator."""
    rows = at.connection.execute(
        select(presentations.c.left, func.count())
        .join(items, items.c.id == presentations.c.item_id)
        .where(
            presentations.c.person_id == at.person.id,
            presentations.c.role == "real",
            presentations.c.state != "lost",
            items.c.second.is_not(None),
        )
        .group_by(presentations.c.left)
    )
    return {"a": 0, "b": 0} | {left: number for left, number in rows}


def give_back(at: Visit) -> None:
    """Free all places of an annotator; their judgements stay in the table, but are not included."""
    lock_held = select(presentations).where(
        presentations.c.person_id == at.person.id, presentations.c.slot.is_not(None)
    )
    release(at.connection, at.store, at.connection.execute(lock_held).all())


def take_back(at: Visit, *, unit: int | None = None) -> None:
    """Include an annotator's judgements again if their places are still free and the sides stay balanced.

    Unanswered presentations without a place are lost. unit: only those of this task batch.
    """
    where = [] if unit is None else [presentations.c.unit_id == unit]
    rows = at.connection.execute(
        select(presentations, items.c.second, items.c.wanted, items.c.left_a, items.c.left_b)
        .join(items, items.c.id == presentations.c.item_id)
        .where(
            presentations.c.person_id == at.person.id,
            presentations.c.role == "real",
            presentations.c.slot.is_(None),
            presentations.c.state != "lost",
            *where,
        )
        .order_by(presentations.c.id)
    ).all()
    free = free_slots(at.connection, {row.item_id for row in rows})
    changes = []
    for row in rows:
        most = row.wanted if row.second is None else (row.wanted + 1) // 2
        if free[row.item_id] and (row.left_a if row.left == "a" else row.left_b) < most:
            at.connection.execute(
                update(presentations)
                .where(presentations.c.id == row.id)
                .values(slot=free[row.item_id].pop(0))
            )
            changes.append((row.item_id, row.left, 1, 1 if row.state == "answered" else 0))
        elif row.state == "open":
            at.connection.execute(
                update(presentations).where(presentations.c.id == row.id).values(state="lost")
            )
    count(at.connection, at.store, changes)
