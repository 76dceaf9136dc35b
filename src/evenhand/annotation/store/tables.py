"""The tables of the database, as the newest migration leaves them.

A person's place in the quota of an item is the `slot` of a presentation: a number that is unique for the item and below
the study's annotations per item. An open real presentation has a slot; its lease runs as long as that of its unit. An
answered presentation keeps its slot. A presentation that was lost, or whose person is blocked or rejected, has none.
`items.taken` and `items.done` count the slots in use and the answered ones, in the same transaction.
"""

from datetime import UTC, datetime
from typing import Any, TypeAlias

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    insert,
)
from sqlalchemy.types import TypeDecorator


class Moment(TypeDecorator[datetime]):
    """A time in UTC. SQLite stores no time zones, so they are removed and added again."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a time for the database. Raise ValueError without a time zone, because the time
        would be ambiguous.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Convert a time from the database."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Record: TypeAlias = Any
"""One row of a query, with its columns by name. (SQLAlchemy's Row has different parameters in 2.0 and 2.1.)"""


def insert_one(connection: Connection, table: Table, **values: Any) -> int:
    """Write one row, and return its key."""
    key = connection.execute(insert(table).values(**values)).inserted_primary_key
    assert key is not None
    return int(key[0])


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite increments only columns of the type INTEGER


def _key() -> Column[int]:
    return Column("id", _Number, primary_key=True)


def _reference(table: str, *, name: str | None = None, optional: bool = False) -> Column[int]:
    return Column(name or f"{table.rstrip('s')}_id", _Number, ForeignKey(f"{table}.id"), nullable=optional)


def _moment(name: str, *, optional: bool = True) -> Column[datetime]:
    return Column(name, Moment, nullable=optional)


def _text(name: str, *, optional: bool = False) -> Column[str]:
    return Column(name, Text, nullable=optional)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


studies = Table(
    "studies",
    metadata,
    _key(),
    _text("name"),
    _text("definition"),  # JSON, without items
    Column("secret", LargeBinary, nullable=False),
    Column("paused", Boolean, nullable=False),
    # number of annotators so far: the number of the next one, which is part of their seeds
    _count("arrived"),
    _count("withdrawn"),
    _moment("begun_at", optional=False),
    UniqueConstraint("name"),
)

items = Table(
    "items",
    metadata,
    _key(),
    _reference("studies", name="study_id"),
    _text("name"),
    _text("role"),  # real, onboarding, gold
    _count("place"),  # in the study file
    _text("content"),  # JSON
    _text("first"),  # content that no annotator may see twice
    _text("second", optional=True),  # of a pair
    _count("wanted"),  # number of judgements; 0 for onboarding and gold items
    _count("taken"),  # places in use: answered or leased
    _count("done"),
    _count("left_a"),  # of the places in use: pairs with a on the left
    _count("left_b"),
    Column(
        "rank", BigInteger, nullable=False
    ),  # random order among items with as many places taken; redrawn each time
    UniqueConstraint("study_id", "role", "name"),
    CheckConstraint("0 <= done AND done <= taken AND taken <= wanted", name="quota"),
    Index(None, "study_id", "role", "taken", "rank"),
)

invites = Table(
    "invites",
    metadata,
    _key(),
    _reference("studies", name="study_id"),
    _text("token"),
    Column("uses", Integer),
    _count("used"),
    _text("note"),
    _moment("expires_at"),
    Column("revoked", Boolean, nullable=False),
    UniqueConstraint("token"),
    Index(None, "study_id"),
)

persons = Table(
    "persons",
    metadata,
    _key(),
    _reference("studies", name="study_id"),
    _reference("invites"),
    _text("pseudonym"),
    _text("external", optional=True),  # keyed hash
    _count("number"),
    _text("state"),
    _text("blocked", optional=True),  # rule, admin
    # unblocked by the administrator, so that rules do not block them
    Column("exempt", Boolean, nullable=False),
    Column(
        "left_out", Boolean, nullable=False
    ),  # by a rule, when last checked: keeps places only within a task batch
    _moment("came_at", optional=False),
    _moment("seen_at"),
    _moment("agreed_at"),
    _moment("passed_at"),  # of the onboarding, or of the consent if there is no onboarding
    _count("units"),
    _count("votes"),
    Column("broken", JSON, nullable=False),  # names of rules
    _text("review", optional=True),
    _text("note"),
    UniqueConstraint("study_id", "pseudonym"),
    UniqueConstraint("study_id", "external"),
    Index(None, "invite_id"),
)

kin = Table(
    "kin",
    metadata,
    Column("person_id", _Number, ForeignKey("persons.id"), primary_key=True),
    # the same person in a linked study
    Column("other_id", _Number, ForeignKey("persons.id"), primary_key=True),
    Index(None, "other_id"),
)

units = Table(
    "units",
    metadata,
    _key(),
    _reference("studies", name="study_id"),
    _reference("persons"),
    _text("token"),
    _text("kind"),  # onboarding, work
    _count("number"),  # from 1, for its kind
    _text("state"),  # open, complete, abandoned
    _count("size"),  # intended number of real items
    _moment("begun_at", optional=False),
    _moment("until", optional=False),  # when the leases of unanswered items end
    _moment("complete_at"),
    _moment("read_at"),
    Column("surveyed", Boolean, nullable=False),
    _text("code", optional=True),
    UniqueConstraint("token"),
    Index(None, "person_id", "state"),
    Index(None, "study_id", "state", "until"),
)

presentations = Table(
    "presentations",
    metadata,
    _key(),
    _reference("units"),
    _reference("persons"),
    _reference("items"),
    _text("token"),
    _text("role"),
    _count("position"),
    _text("left"),
    Column("questions", JSON, nullable=False),
    _reference("presentations", name="original_id", optional=True),  # of duplicates
    Column("slot", Integer),
    _text("state"),  # open, answered, lost
    _moment("shown_at"),
    _moment("answered_at"),
    Column("seconds", Float),
    Column("wrong", JSON),  # for onboarding: questions with wrong answers; [] if all were right
    _moment("corrected_at"),
    UniqueConstraint("token"),
    UniqueConstraint("item_id", "slot"),
    Index(None, "unit_id"),
    Index(None, "person_id"),
    Index(None, "original_id"),
)

votes = Table(
    "votes",
    metadata,
    _key(),
    _reference("presentations"),
    _text("question"),
    Column("turn", Integer),
    _text("answer", optional=True),
    _text("reason", optional=True),
    Index(None, "presentation_id"),
)

surveys = Table(
    "surveys",
    metadata,
    _key(),
    _reference("units"),
    _reference("persons"),
    _text("token"),
    _text("block"),
    Column("statements", JSON, nullable=False),
    _count("position"),
    _moment("shown_at"),
    _moment("answered_at"),
    UniqueConstraint("token"),
    Index(None, "unit_id"),
    Index(None, "person_id"),
)

survey_answers = Table(
    "survey_answers",
    metadata,
    _key(),
    _reference("surveys"),
    _text("question"),
    _text("answer", optional=True),
    _text("reason", optional=True),
    Index(None, "survey_id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    _reference("studies", name="study_id"),
    _text("kind"),
    _text("subject"),
    _moment("expires_at", optional=False),
    Index(None, "study_id", "kind", "subject"),
)

accounts = Table(
    "accounts",
    metadata,
    _key(),
    _reference("studies", name="study_id"),
    _text("name"),
    _text("password"),  # argon2
    UniqueConstraint("study_id", "name"),
)

audit = Table(
    "audit",
    metadata,
    _key(),
    _reference("studies", name="study_id"),
    _moment("at", optional=False),
    _text("actor"),
    _text("action"),
    _text("subject"),
    _text("detail"),
    Index(None, "study_id"),
)
