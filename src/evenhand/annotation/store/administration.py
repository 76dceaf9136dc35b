"""Functions for the administrator: accounts, progress, annotators, reviews, pause and the audit log."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, case, delete, func, insert, or_, select, update

from evenhand.annotation.store import slots
from evenhand.annotation.store.copying import copy_database
from evenhand.annotation.store.rows import read_rows
from evenhand.annotation.store.store import Store
from evenhand.annotation.store.tables import (
    Record,
    accounts,
    audit,
    items,
    persons as persons_table,
    presentations,
    sessions,
    studies,
    units,
)
from evenhand.annotation.store.visits import Visit, lock_study, open_unit, visit
from evenhand.schema import UsageError

Review = Literal["accepted", "rejected"]
STATES = ("invited", "agreed", "onboarding", "working", "done", "not passed", "blocked", "withdrawn")


@dataclass(frozen=True)
class Progress:
    """Progress of a study."""

    items: int
    items_complete: int
    votes_wanted: int
    votes: int
    leased: int
    """Number of items that are currently assigned to annotators."""
    persons: int
    persons_by_state: dict[str, int]
    """Numbers of annotators by state: invited, agreed, onboarding, working, done, not passed, blocked, withdrawn."""
    units_complete: int
    seconds_median: float | None
    """Median time between display and answer of a real item, in seconds."""
    paused: bool


@dataclass(frozen=True)
class PersonRow:
    """One annotator in the list of the admin page."""

    person: str
    state: str
    came: datetime
    last_seen: datetime | None
    units: int
    votes: int
    excluded: tuple[str, ...]
    """Exclusion rules that apply, whether or not they block the annotator."""
    review: Review | None
    note: str
    code: str | None
    """Code of the annotator's last task batch, if each batch has its own."""
    number: int = 0
    """Number of the annotator in order of arrival, from 1. The audit log uses it."""


def progress(store: Store, now: datetime) -> Progress:
    """Return the progress of a study. The database counts, which is fast for 10,000 items."""
    return store.transactions.read(lambda connection: _progress(connection, store))


def _progress(connection: Connection, store: Store) -> Progress:
    study = connection.execute(select(studies).where(studies.c.id == store.key)).one()
    quota = connection.execute(
        select(
            func.count().label("items"),
            func.sum(case((items.c.done == items.c.wanted, 1), else_=0)).label("complete"),
            func.sum(items.c.wanted).label("wanted"),
            func.sum(items.c.done).label("done"),
            func.sum(items.c.taken - items.c.done).label("leased"),
        ).where(items.c.study_id == store.key, items.c.role == "real")
    ).one()
    of_study = persons_table.c.study_id == store.key
    states = dict.fromkeys(STATES, 0) | {"withdrawn": study.withdrawn}
    for state, number in connection.execute(
        select(persons_table.c.state, func.count()).where(of_study).group_by(persons_table.c.state)
    ):
        states[state] += number
    worked = connection.execute(
        select(func.count(), func.coalesce(func.sum(persons_table.c.units), 0)).where(of_study)
    ).one()
    return Progress(
        items=quota.items,
        items_complete=quota.complete,
        votes_wanted=quota.wanted,
        votes=quota.done,
        leased=quota.leased,
        persons=worked[0],
        persons_by_state=states,
        units_complete=worked[1],
        seconds_median=_median(connection, store),
        paused=study.paused,
    )


def _median(connection: Connection, store: Store) -> float | None:
    """Return the median time: the middle value in order, because the two databases have no common median function."""
    seconds = (
        select(presentations.c.seconds)
        .join(persons_table, persons_table.c.id == presentations.c.person_id)
        .where(
            persons_table.c.study_id == store.key,
            presentations.c.role == "real",
            presentations.c.seconds.is_not(None),
        )
    )
    number = connection.execute(select(func.count()).select_from(seconds.subquery())).scalar_one()
    if number == 0:
        return None
    middle = connection.execute(
        seconds.order_by(presentations.c.seconds).offset((number - 1) // 2).limit(2 - number % 2)
    ).scalars()
    both = list(map(float, middle))
    return sum(both) / len(both)


def persons(
    store: Store, *, offset: int = 0, limit: int = 50, state: str | None = None, search: str = ""
) -> tuple[int, list[PersonRow]]:
    """Return the number of annotators and one page of them, latest arrivals first.

    search: text in pseudonyms, codes and notes.
    """
    where = [persons_table.c.study_id == store.key]
    if state is not None:
        where.append(persons_table.c.state == state)
    if search:
        coded = select(units.c.person_id).where(
            units.c.study_id == store.key, units.c.code.icontains(search, autoescape=True)
        )
        where.append(
            or_(
                persons_table.c.pseudonym.icontains(search, autoescape=True),
                persons_table.c.note.icontains(search, autoescape=True),
                persons_table.c.id.in_(coded),
            )
        )
    code = (
        select(units.c.code)
        .where(units.c.person_id == persons_table.c.id, units.c.state == "complete", units.c.kind == "work")
        .order_by(units.c.number.desc())
        .limit(1)
        .scalar_subquery()
    )
    page = (
        select(persons_table, code.label("code"))
        .where(*where)
        .order_by(persons_table.c.id.desc())
        .offset(offset)
        .limit(limit)
    )

    def read(connection: Connection) -> tuple[int, list[PersonRow]]:
        number = connection.execute(
            select(func.count()).select_from(persons_table).where(*where)
        ).scalar_one()
        return number, [_person_row(store, row) for row in connection.execute(page)]

    return store.transactions.read(read)


def _person_row(store: Store, row: Record) -> PersonRow:
    return PersonRow(
        person=row.pseudonym,
        state=row.state,
        came=row.came_at,
        last_seen=row.seen_at,
        units=row.units,
        votes=row.votes,
        excluded=tuple(row.broken),
        review=row.review,
        note=row.note,
        code=row.code if store.study.completion.per_unit_codes else None,
        number=row.number,
    )


def votes(store: Store, *, person: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield rows of VOTES of one annotator or of all, in the order of the judgements.

    `excluded` contains only reasons other than rules and reviews. It is "blocked" if the administrator blocked the
    annotator, and "place_taken" if the place of the judgement was freed and another annotator has it by now.
    """
    with store.transactions.reading() as connection:
        key = None
        if person is not None:
            key = connection.execute(
                select(persons_table.c.id).where(
                    persons_table.c.study_id == store.key, persons_table.c.pseudonym == person
                )
            ).scalar_one_or_none()
            if key is None:
                raise _no_person()
        yield from read_rows(connection, store, person=key)


def _no_person() -> UsageError:
    return UsageError("There is no such person.", "They may have withdrawn; reload the list.")


def review(
    store: Store,
    people: str | Sequence[str],
    decision: Review | None,
    note: str | None,
    actor: str,
    now: datetime,
) -> None:
    """Accept or reject the work of one or several annotators, or undo that, for all of them or for none.

    Rejected judgements are not included, and their places become free. When a rejection is undone, judgements are
    included again if their place is still free. note: None leaves notes unchanged. Raises UsageError for an unknown
    annotator.
    """
    several = sorted({people} if isinstance(people, str) else set(people))

    def write(connection: Connection) -> None:
        # lock rows of annotators before the study's, as all code does; otherwise two reviews could block each other
        there = [visit(connection, store, person, now) for person in several]
        for before in there:
            lock_study(before)
            noted = {} if note is None else {"note": note}
            after = before.set(review=decision, **noted)
            _count_or_not(before, after)
            _record(connection, store, actor, f"review: {decision or 'none'}", _in_the_log(before), now)

    store.transactions.write(write)


def block(store: Store, person: str, blocked: bool, actor: str, now: datetime) -> None:
    """Block a person manually, or unblock them.

    A blocked person may finish their current unit but gets no other. Their votes do not count, and their places become
    free. After unblocking, their votes count again if the place is still free, and rules no longer block them. In the
    analysis, rules apply to them as to all others, and a person excluded by a rule with `exclude` has no places.
    Unblocking also admits a person who did not pass onboarding.
    """

    def write(connection: Connection) -> None:
        before = visit(connection, store, person, now)
        lock_study(before)
        if blocked:
            after = before.set(blocked="admin", exempt=False, state="blocked")
        else:
            passed = before.person.passed_at
            if before.person.state == "not passed":
                passed = now
            after = before.set(blocked=None, exempt=True, passed_at=passed, state=_state(before, passed))
        _count_or_not(before, after)
        _record(connection, store, actor, "block" if blocked else "unblock", _in_the_log(before), now)

    store.transactions.write(write)


def _state(at: Visit, passed: datetime | None) -> str:
    """Return the state of an annotator who is not blocked."""
    if at.person.agreed_at is None:
        return "invited"
    kinds = set(
        at.connection.execute(select(units.c.kind).where(units.c.person_id == at.person.id)).scalars()
    )
    if passed is None:
        return "onboarding" if kinds else "agreed"
    if at.person.units >= at.study.assignment.units_per_person:
        return "done"
    return "working" if "work" in kinds else "agreed"


def _in_the_log(at: Visit) -> str:
    """Return a person's number for the log: log lines are kept after withdrawal, and exports have no numbers."""
    return f"person {at.person.number}"


def _count_or_not(before: Visit, after: Visit) -> None:
    if before.counts and not after.counts:
        slots.give_back(after)
    elif after.counts and not before.counts:
        unit = open_unit(after)
        if not after.person.left_out:
            slots.take_back(after)
        elif unit is not None:
            slots.take_back(after, unit=unit.id)


def pause(store: Store, paused: bool, actor: str, now: datetime) -> None:
    """Pause or resume a study. While it is paused, no new units are given out; open ones can be finished."""

    def write(connection: Connection) -> None:
        connection.execute(update(studies).where(studies.c.id == store.key).values(paused=paused))
        _record(connection, store, actor, "pause" if paused else "go on", store.study.name, now)

    store.transactions.write(write)


def is_paused(store: Store) -> bool:
    """Return True if the study is paused and gives out no new units."""
    query = select(studies.c.paused).where(studies.c.id == store.key)
    return bool(store.transactions.read(lambda connection: connection.execute(query).scalar_one()))


def set_account(store: Store, name: str, password_hash: str) -> None:
    """Create an administrator's account, or change its password, which ends its sessions."""

    def write(connection: Connection) -> None:
        # one at a time, because two that create the same account simultaneously would both find none
        connection.execute(select(studies.c.id).where(studies.c.id == store.key).with_for_update())
        of_name = accounts.c.study_id == store.key, accounts.c.name == name
        if not connection.execute(update(accounts).where(*of_name).values(password=password_hash)).rowcount:
            connection.execute(insert(accounts).values(study_id=store.key, name=name, password=password_hash))
        connection.execute(
            delete(sessions).where(
                sessions.c.study_id == store.key, sessions.c.kind == "admin", sessions.c.subject == name
            )
        )

    store.transactions.write(write)


def account(store: Store, name: str) -> str | None:
    """Return the hash of an administrator's password; None if there is no such account."""
    query = select(accounts.c.password).where(accounts.c.study_id == store.key, accounts.c.name == name)
    return store.transactions.read(lambda connection: connection.execute(query).scalar_one_or_none())


def has_account(store: Store) -> bool:
    """Return whether the study has an administrator's account."""
    query = select(accounts.c.id).where(accounts.c.study_id == store.key).limit(1)
    return store.transactions.read(lambda connection: connection.execute(query).first() is not None)


def record(store: Store, actor: str, action: str, subject: str, now: datetime, detail: str = "") -> None:
    """Add a line to the audit log, which evenhand never changes or deletes.

    `review`, `block`, `pause` and `withdraw` write their line themselves.
    """
    store.transactions.write(
        lambda connection: _record(connection, store, actor, action, subject, now, detail)
    )


def _record(
    connection: Connection,
    store: Store,
    actor: str,
    action: str,
    subject: str,
    now: datetime,
    detail: str = "",
) -> None:
    line = {"at": now, "actor": actor, "action": action, "subject": subject, "detail": detail}
    connection.execute(insert(audit).values(study_id=store.key, **line))


def audit_log(store: Store, *, offset: int = 0, limit: int = 100) -> Sequence[dict[str, Any]]:
    """Return lines of the audit log, newest first: at, actor, action, subject, detail."""
    query = (
        select(audit.c.at, audit.c.actor, audit.c.action, audit.c.subject, audit.c.detail)
        .where(audit.c.study_id == store.key)
        .order_by(audit.c.id.desc())
        .offset(offset)
        .limit(limit)
    )
    return store.transactions.read(
        lambda connection: [dict(row) for row in connection.execute(query).mappings()]
    )


def backup(store: Store, where: str) -> None:
    """Copy a SQLite database while it is in use (online backup). Raise UsageError for PostgreSQL: use pg_dump.

    The copy is written to a temporary file next to `where` and then renamed, so that an existing copy is kept until the
    new one is complete. Raises WriteError.
    """
    copy_database(store, Path(where))
