"""A visit: one person's transaction, their row locked; and what all steps of it need."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select, update

from evenhand.annotation.definition import Item, Study
from evenhand.annotation.store.store import Store
from evenhand.annotation.store.tables import Record, kin, persons, presentations, studies, units
from evenhand.schema import UsageError


@dataclass(frozen=True)
class Visit:
    """A person's row, locked for as long as the transaction is open, and the moment that it is about."""

    connection: Connection
    store: Store
    person: Record
    now: datetime

    @property
    def study(self) -> Study:
        """What the store is bound to."""
        return self.store.study

    def set(self, **values: Any) -> "Visit":
        """The visit with a person changed in the database and here."""
        self.connection.execute(update(persons).where(persons.c.id == self.person.id).values(**values))
        return replace(self, person=_person(self.connection, persons.c.id == self.person.id))

    @property
    def counts(self) -> bool:
        """Whether what the person says counts: neither blocked nor rejected."""
        return self.person.blocked is None and self.person.review != "rejected"

    @property
    def lease_end(self) -> datetime:
        """When a lease ends that begins now."""
        return self.now + timedelta(minutes=self.study.assignment.lease_minutes)


def visit(connection: Connection, store: Store, person: str, now: datetime) -> Visit:
    """Lock a person's row. Raises UsageError for a person who is not there."""
    row = _person(connection, persons.c.study_id == store.key, persons.c.pseudonym == person)
    return Visit(connection, store, row, now)


def _person(connection: Connection, *where: Any) -> Record:
    row = connection.execute(select(persons).where(*where).with_for_update()).one_or_none()
    if row is None:
        raise UsageError("This person does not take part in the study.", "Come by a link of the study.")
    return row


def lock_study(at: Visit) -> Record:
    """Lock the study, so that only one transaction at a time changes slots.

    To avoid deadlocks, lock the person before the study, and items after it.
    """
    return at.connection.execute(
        select(studies.c.paused, studies.c.id).where(studies.c.id == at.store.key).with_for_update()
    ).one()


def open_unit(at: Visit) -> Record | None:
    """Return the current unit of the person, locked, so that no other transaction can take over its leases."""
    return at.connection.execute(
        select(units).where(units.c.person_id == at.person.id, units.c.state == "open").with_for_update()
    ).one_or_none()


def shown_in(at: Visit, unit: int) -> Sequence[Record]:
    """The presentations of a unit, in their order, without those that were lost."""
    return at.connection.execute(
        select(presentations)
        .where(presentations.c.unit_id == unit, presentations.c.state != "lost")
        .order_by(presentations.c.position)
    ).all()


def last_code(at: Visit) -> str | None:
    """The code of the last complete unit."""
    return at.connection.execute(
        select(units.c.code)
        .where(units.c.person_id == at.person.id, units.c.state == "complete", units.c.kind == "work")
        .order_by(units.c.number.desc())
        .limit(1)
    ).scalar_one_or_none()


def same_persons(at: Visit) -> list[int]:
    """The person, and who they are in linked studies."""
    others = at.connection.execute(select(kin.c.other_id).where(kin.c.person_id == at.person.id)).scalars()
    return [at.person.id, *others]


def read_item(content: str) -> Item:
    """An item as the database holds it."""
    return Item.model_validate_json(content)


def units_done(at: Visit) -> int:
    """Complete units of the person here and in linked studies."""
    same = same_persons(at)
    if len(same) == 1:
        return int(at.person.units)
    counts = at.connection.execute(select(persons.c.units).where(persons.c.id.in_(same))).scalars()
    return sum(counts)
