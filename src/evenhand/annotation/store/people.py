"""Annotators, invites and sessions. Tokens are stored as hashes."""

import hmac
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from evenhand.annotation.store.failures import InviteRefused
from evenhand.annotation.store.store import Store
from evenhand.annotation.store.tables import (
    Record,
    insert_one,
    invites as invites_table,
    kin,
    persons,
    sessions,
    studies,
    units,
)
from evenhand.schema import UsageError

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Characters of pseudonyms, without those that look alike."""


@dataclass(frozen=True)
class Invite:
    """A link with which annotators join a study."""

    id: str
    uses: int | None
    """Maximum number of people who may use the link. None: any number."""
    used: int
    note: str
    expires: datetime | None
    revoked: bool
    withdrawn: int = 0
    """Number of people who used the link and withdrew."""


def make_invites(
    store: Store,
    number: int,
    now: datetime,
    *,
    uses: int | None = 1,
    note: str = "",
    lasts: timedelta | None = None,
) -> list[Invite]:
    """Create invites; the application signs their ids into links."""
    if number < 1 or (uses is not None and uses < 1):
        raise UsageError(f"Numbers of invitations and of uses must be at least 1, got {number} and {uses}.")
    expires = None if lasts is None else now + lasts
    # drawn before the transaction, so that a retry creates the same ones
    made = [Invite(secrets.token_urlsafe(16), uses, 0, note, expires, False) for _ in range(number)]

    def write(connection: Connection) -> None:
        connection.execute(
            insert(invites_table),
            [
                {
                    "study_id": store.key,
                    "token": invite.id,
                    "uses": uses,
                    "used": 0,
                    "note": note,
                    "expires_at": expires,
                    "revoked": False,
                }
                for invite in made
            ],
        )

    store.transactions.write(write)
    return made


def invites(store: Store) -> list[Invite]:
    """Return all invites, in the order of creation."""
    there = select(func.count()).where(persons.c.invite_id == invites_table.c.id).scalar_subquery()
    query = (
        select(invites_table, there.label("there"))
        .where(invites_table.c.study_id == store.key)
        .order_by(invites_table.c.id)
    )
    rows = store.transactions.read(lambda connection: connection.execute(query).all())
    return [
        Invite(row.token, row.uses, row.used, row.note, row.expires_at, row.revoked, row.used - row.there)
        for row in rows
    ]


def find_pseudonyms(store: Store, names: Sequence[str]) -> dict[str, str]:
    """Return the pseudonym of each person who is named by it, or by the completion code of one of their units."""
    known = persons.c.study_id == store.key
    by_code = (
        select(units.c.code, persons.c.pseudonym)
        .join(persons, persons.c.id == units.c.person_id)
        .where(known, units.c.code.in_(names))
    )
    by_name = select(persons.c.pseudonym).where(known, persons.c.pseudonym.in_(names))

    def read(connection: Connection) -> dict[str, str]:
        coded = {row.code: row.pseudonym for row in connection.execute(by_code)}
        if not store.study.completion.per_unit_codes:
            coded = {}
        return coded | {name: name for name in connection.execute(by_name).scalars()}

    return store.transactions.read(read)


def revoke(store: Store, invite: str) -> None:
    """Revoke an invite: it admits no new people; people who already used it stay."""
    change = (
        update(invites_table)
        .where(invites_table.c.study_id == store.key, invites_table.c.token == invite)
        .values(revoked=True)
    )
    if store.transactions.write(lambda connection: connection.execute(change).rowcount) == 0:
        raise UsageError(
            "Unknown invitation.",
            "It may be from another study. `evenhand annotate invite` creates invitations.",
        )


def arrive(store: Store, invite: str, now: datetime, *, external: str | None = None) -> str:
    """Return the pseudonym of the person who uses an invite; create one for a new person.

    An invite for one use is a personal link: all visits with it are the same person, for any external name. external:
    the person's ID at Prolific or MTurk (PROLIFIC_PID, workerId), stored only as a keyed hash. The same ID with the
    same invite is the same person; with another invite it is another person. Raises InviteRefused for an invite that is
    unknown, revoked, expired or used up.
    """
    pseudonym = "p-" + "".join(secrets.choice(_LETTERS) for _ in range(10))
    return store.transactions.write(
        lambda connection: _arrive(connection, store, invite, now, external, pseudonym)
    )


@dataclass(frozen=True)
class Door:
    """Result of looking up a link without using it."""

    personal: bool
    """Whether the link is for one person, who can return with it from any browser."""
    person: str | None
    """Pseudonym of the person who would arrive with it; None: a new person."""


def look(store: Store, invite: str, now: datetime, *, external: str | None = None) -> Door:
    """Return what an invite would do, without changes. Raise InviteRefused if `arrive` would."""
    return store.transactions.read(lambda connection: _look(connection, store, invite, now, external))


def _look(connection: Connection, store: Store, token: str, now: datetime, external: str | None) -> Door:
    invite = connection.execute(
        select(invites_table).where(invites_table.c.study_id == store.key, invites_table.c.token == token)
    ).one_or_none()
    if invite is None:
        raise InviteRefused("This link is not valid.", "Ask the sender for a new one.")
    return Door(invite.uses == 1, _admit(connection, store, invite, now, external)[0])


def _admit(
    connection: Connection, store: Store, invite: Record, now: datetime, external: str | None
) -> tuple[str | None, str | None]:
    """Return the person who returns with an invite (None: there is room for a new one), and the stored hash of a name.

    Raises InviteRefused.
    """
    if invite.revoked:
        raise InviteRefused("This link was revoked.", "Ask the sender for a new one.")
    if invite.expires_at is not None and invite.expires_at <= now:
        raise InviteRefused("This link has expired.", "Ask the sender for a new one.")
    if invite.uses == 1 and (theirs := _find_invited_person(connection, invite.id)) is not None:
        return theirs, None
    keyed = None
    if external is not None:
        # an external name is not secret, so a second person with the same name but another link gets a separate key
        keyed, own = (
            _hash_external(store.secret, external),
            _hash_external(store.secret, json.dumps([invite.token, external])),
        )
        first, second = (_find_person(connection, store.key, key) for key in (keyed, own))
        for named in (first, second):
            if named is not None and named.invite_id == invite.id:
                return str(named.pseudonym), keyed
        if first is not None:
            keyed = own
    if invite.uses is not None and invite.used >= invite.uses:
        raise InviteRefused(
            "This link has already been used.", "Continue in the browser in which you started."
        )
    return None, keyed


def _arrive(
    connection: Connection, store: Store, token: str, now: datetime, external: str | None, pseudonym: str
) -> str:
    locked = select(studies).order_by(studies.c.id).with_for_update()
    if external is None:
        locked = locked.where(studies.c.id == store.key)
    # locks all rows if a person may be known in several; of two simultaneous arrivals, the second finds the first
    every = {row.id: row for row in connection.execute(locked)}
    study = every.pop(store.key)
    store.refresh(connection, study)
    invite = connection.execute(
        select(invites_table)
        .where(invites_table.c.study_id == store.key, invites_table.c.token == token)
        .with_for_update()
    ).one_or_none()
    if invite is None:
        raise InviteRefused("This link is not valid.", "Ask the sender for a new one.")
    back, keyed = _admit(connection, store, invite, now, external)
    if back is not None:
        return back
    connection.execute(
        update(invites_table).where(invites_table.c.id == invite.id).values(used=invites_table.c.used + 1)
    )
    connection.execute(update(studies).where(studies.c.id == study.id).values(arrived=study.arrived + 1))
    key = insert_one(
        connection,
        persons,
        study_id=study.id,
        invite_id=invite.id,
        pseudonym=pseudonym,
        external=keyed,
        number=study.arrived + 1,
        state="invited",
        exempt=False,
        left_out=False,
        came_at=now,
        seen_at=now,
        units=0,
        votes=0,
        broken=[],
        note="",
    )
    if external is not None:
        _find_kin(connection, study, every.values(), key, external)
    return pseudonym


def has_used_invite(store: Store, person: str, invite: str) -> bool:
    """Return whether a person arrived with this invite."""
    query = (
        select(persons.c.id)
        .join(invites_table, invites_table.c.id == persons.c.invite_id)
        .where(
            persons.c.study_id == store.key,
            persons.c.pseudonym == person,
            invites_table.c.token == invite,
            invites_table.c.revoked.is_(False),
        )
    )
    return store.transactions.read(lambda connection: connection.execute(query).first() is not None)


def _find_invited_person(connection: Connection, invite: int) -> str | None:
    """Return the person that a personal link belongs to."""
    query = select(persons.c.pseudonym).where(persons.c.invite_id == invite)
    return connection.execute(query).scalar_one_or_none()


def _find_kin(
    connection: Connection, study: Record, others: Iterable[Record], key: int, external: str
) -> None:
    """Record who a new person is in studies that are linked to this one, in either direction."""
    for other in others:
        to_them, to_us = _is_linked(study, other), _is_linked(other, study)
        if not (to_them or to_us):
            continue
        if same := _find_person(connection, other.id, _hash_external(other.secret, external)):
            if to_them:
                connection.execute(insert(kin).values(person_id=key, other_id=same.id))
            if to_us:
                connection.execute(insert(kin).values(person_id=same.id, other_id=key))


def _is_linked(study: Record, other: Record) -> bool:
    return other.name in json.loads(study.definition)["assignment"]["linked"]


def _hash_external(secret: bytes, external: str) -> str:
    return hmac.new(secret, external.encode(), sha256).hexdigest()


def _find_person(connection: Connection, study: int, keyed: str) -> Record | None:
    return connection.execute(
        select(persons.c.id, persons.c.pseudonym, persons.c.invite_id).where(
            persons.c.study_id == study, persons.c.external == keyed
        )
    ).one_or_none()


def open_session(
    store: Store, kind: Literal["person", "admin"], subject: str, now: datetime, lasts: timedelta
) -> str:
    """Create a secret token for a cookie; only its hash is stored."""
    token = secrets.token_urlsafe(32)

    def write(connection: Connection) -> None:
        connection.execute(
            delete(sessions).where(sessions.c.study_id == store.key, sessions.c.expires_at <= now)
        )
        row = {"study_id": store.key, "kind": kind, "subject": subject, "expires_at": now + lasts}
        connection.execute(insert(sessions).values(digest=_digest(token), **row))

    store.transactions.write(write)
    return token


def session(store: Store, token: str, now: datetime) -> tuple[Literal["person", "admin"], str] | None:
    """Return the kind and subject of a session token; None if it is unknown or expired."""
    query = select(sessions.c.kind, sessions.c.subject).where(
        sessions.c.digest == _digest(token), sessions.c.study_id == store.key, sessions.c.expires_at > now
    )
    row = store.transactions.read(lambda connection: connection.execute(query).one_or_none())
    return None if row is None else (row.kind, row.subject)


def close_session(store: Store, token: str) -> None:
    """Delete a token; unknown tokens are ignored."""
    gone = delete(sessions).where(sessions.c.digest == _digest(token), sessions.c.study_id == store.key)
    store.transactions.write(lambda connection: connection.execute(gone))


def _digest(token: str) -> str:
    return sha256(token.encode(errors="surrogatepass")).hexdigest()
