"""What the admin sees and does: accounts, progress, persons, reviews, pause, the audit log."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from evenhand.annotation.store.store import Store

Review = Literal["accepted", "rejected"]


@dataclass(frozen=True)
class Progress:
    """How far a study is."""

    items: int
    items_complete: int
    votes_wanted: int
    votes: int
    leased: int
    """Given out now."""
    persons: int
    persons_by_state: dict[str, int]
    """invited, agreed, onboarding, working, done, not passed, blocked, withdrawn."""
    units_complete: int
    seconds_median: float | None
    """Between showing and answer of a real item."""
    paused: bool


@dataclass(frozen=True)
class PersonRow:
    """One person in the admin's list."""

    person: str
    state: str
    came: datetime
    last_seen: datetime | None
    units: int
    votes: int
    excluded: tuple[str, ...]
    """Rules that hold, blocking or not."""
    review: Review | None
    note: str
    code: str | None
    """Of their last unit, where each has its own."""


def progress(store: Store, now: datetime) -> Progress:
    """Counted by the database; fast at 10,000 items."""
    raise NotImplementedError


def persons(
    store: Store, *, offset: int = 0, limit: int = 50, state: str | None = None, search: str = ""
) -> tuple[int, list[PersonRow]]:
    """How many there are, and one page of them, the last to come first. search: in pseudonyms, codes and notes."""
    raise NotImplementedError


def votes(store: Store, *, person: str | None = None) -> Iterator[dict[str, Any]]:
    """Rows of VOTES, one by one, in the order given; of one person or of all. `excluded` is not filled in."""
    raise NotImplementedError


def review(store: Store, person: str, decision: Review | None, note: str, actor: str, now: datetime) -> None:
    """Accept or reject a person's work, or take that back; rejected votes do not count, and their places open again."""
    raise NotImplementedError


def block(store: Store, person: str, blocked: bool, actor: str, now: datetime) -> None:
    """Block a person by hand, or let them go on."""
    raise NotImplementedError


def pause(store: Store, paused: bool, actor: str, now: datetime) -> None:
    """While paused nobody gets a new unit; open ones may be finished."""
    raise NotImplementedError


def set_account(store: Store, name: str, password_hash: str) -> None:
    """Create an admin's account, or give it another password (its sessions end)."""
    raise NotImplementedError


def account(store: Store, name: str) -> str | None:
    """The hash of an admin's password; None if there is none of that name."""
    raise NotImplementedError


def record(store: Store, actor: str, action: str, subject: str, now: datetime, detail: str = "") -> None:
    """Add a line to the audit log, which nothing of ours changes or deletes."""
    raise NotImplementedError


def audit_log(store: Store, *, offset: int = 0, limit: int = 100) -> Sequence[dict[str, Any]]:
    """Lines of the audit log, newest first: at, actor, action, subject, detail."""
    raise NotImplementedError


def backup(store: Store, where: str) -> None:
    """Copy a SQLite database while it is used (its online backup). Raises UsageError for PostgreSQL: use pg_dump."""
    raise NotImplementedError
