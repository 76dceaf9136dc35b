"""A visit: the transaction of one annotator with their row locked, and common functions of all steps."""

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
    """An annotator's row, locked as long as the transaction is open, and the current time."""

    connection: Connection
    store: Store
    person: Record
    now: datetime

    @property
    def study(self) -> Study:
        """Return the study of the store."""
        return self.store.study

    def set(self, **values: Any) -> "Visit":
        """Change the annotator in the database, and return the updated visit."""
        self.connection.execute(update(persons).where(persons.c.id == self.person.id).values(**values))
        return replace(self, person=_person(self.connection, persons.c.id == self.person.id))

    @property
    def counts(self) -> bool:
        """Return whether the annotator's judgements are included: neither blocked nor rejected."""
        return self.person.blocked is None and self.person.review != "rejected"

    @property
    def lease_end(self) -> datetime:
        """Return the end of a lease that starts now."""
        return self.now + timedelta(minutes=self.study.assignment.lease_minutes)


def visit(connection: Connection, store: Store, person: str, now: datetime) -> Visit:
    """Lock an annotator's row. Raise UsageError for an unknown annotator."""
    row = _person(connection, persons.c.study_id == store.key, persons.c.pseudonym == person)
    return Visit(connection, store, row, now)


def _person(connection: Connection, *where: Any) -> Record:
    row = connection.execute(select(persons).where(*where).with_for_update()).one_or_none()
    if row is None:
        raise UsageError(
            "This person does not take part in the study.", "Open the study with a link of the study."
        )
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


def list_presentations(at: Visit, unit: int) -> Sequence[Record]:
    """Return the presentations of a task batch, in order, without lost ones."""
    return at.connection.execute(
        select(presentations)
        .where(presentations.c.unit_id == unit, presentations.c.state != "lost")
        .order_by(presentations.c.position)
    ).all()


def last_code(at: Visit) -> str | None:
    """Return the code of the last completed task batch."""
    return at.connection.execute(
        select(units.c.code)
        .where(units.c.person_id == at.person.id, units.c.state == "complete", units.c.kind == "work")
        .order_by(units.c.number.desc())
        .limit(1)
    ).scalar_one_or_none()


def same_persons(at: Visit) -> list[int]:
    """Return the annotator, and the same person in linked studies."""
    others = at.connection.execute(select(kin.c.other_id).where(kin.c.person_id == at.person.id)).scalars()
    return [at.person.id, *others]


def read_item(content: str) -> Item:
    """Return an item from its form in the database."""
    return Item.model_validate_json(content)


def units_done(at: Visit) -> int:
    """Return the number of completed task batches of the person, here and in linked studies."""
    same = same_persons(at)
    if len(same) == 1:
        return int(at.person.units)
    counts = at.connection.execute(select(persons.c.units).where(persons.c.id.in_(same))).scalars()
    return sum(counts)
