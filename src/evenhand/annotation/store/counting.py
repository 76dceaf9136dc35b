"""The votes that count so far, with no more of them than agreement needs: fast where an export would not be."""

from typing import NamedTuple

from sqlalchemy import select

from evenhand.annotation.store.steps import Side
from evenhand.annotation.store.store import Store
from evenhand.annotation.store.tables import items, persons, presentations, votes


class Counted(NamedTuple):
    """One vote on a real item."""

    item: str
    question: str
    answer: str | None
    left: Side


def counted(store: Store) -> list[Counted]:
    """Votes that hold their place in an item's quota, of people whom no rule leaves out; marks are not among them."""
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
    return [Counted(*rest) for person, *rest in rows if person not in out]
