"""Who takes part: invites, persons, sessions. Tokens are stored as hashes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from evenhand.annotation.store.store import Store


@dataclass(frozen=True)
class Invite:
    """A link that lets people in."""

    id: str
    uses: int | None
    """People it lets in; None: any number."""
    used: int
    note: str
    expires: datetime | None
    revoked: bool


def make_invites(
    store: Store,
    number: int,
    now: datetime,
    *,
    uses: int | None = 1,
    note: str = "",
    lasts: timedelta | None = None,
) -> list[Invite]:
    """New invites; the application signs their ids into links."""
    raise NotImplementedError


def invites(store: Store) -> list[Invite]:
    """All, in the order made."""
    raise NotImplementedError


def revoke(store: Store, invite: str) -> None:
    """From now on an invite lets nobody in; who came by it stays."""
    raise NotImplementedError


def arrive(store: Store, invite: str, now: datetime, *, external: str | None = None) -> str:
    """The pseudonym of the person who comes by an invite, made now if they are new.

    external: what Prolific or MTurk calls the person (PROLIFIC_PID, workerId); the same comes back as the same person,
    and is stored as a keyed hash alone. Raises InviteRefused for one that is unknown, revoked, expired or used up.
    """
    raise NotImplementedError


def open_session(
    store: Store, kind: Literal["person", "admin"], subject: str, now: datetime, lasts: timedelta
) -> str:
    """A new secret token for a cookie; only its hash is stored."""
    raise NotImplementedError


def session(store: Store, token: str, now: datetime) -> tuple[Literal["person", "admin"], str] | None:
    """Whose a token is: kind and subject; None if unknown or expired."""
    raise NotImplementedError


def close_session(store: Store, token: str) -> None:
    """Forget a token; unknown ones, too."""
    raise NotImplementedError
