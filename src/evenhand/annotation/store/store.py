"""A database of judgements: SQLite (WAL) in a file, or PostgreSQL by its URL; one of its studies at a time."""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Engine, delete, exc, func, insert, select, text, update

from evenhand.annotation.definition import Item, Study
from evenhand.annotation.store import tables
from evenhand.annotation.store.allocation import tie_break
from evenhand.annotation.store.connecting import (
    Transactions,
    connect,
    connect_to_existing,
    parse_url,
    shown_address,
    unreachable,
)
from evenhand.annotation.store.failures import sound
from evenhand.annotation.store.migrations import upgrading
from evenhand.annotation.store.sqlite_files import APPLICATION, look, make_private
from evenhand.annotation.store.steps import Role
from evenhand.annotation.store.tables import Record
from evenhand.schema import DataError, ResumeRefused, UsageError, checked, parse_json, unknown_name

SECRET_BYTES = 32

AFTERWARDS = ("text", "code", "address")
"""Parts of `completion` that annotators read at the end; they may change after the first judgements."""


class Store:
    """An open database of a human evaluation, bound to one study.

    `begin_study` and `open_store` return it. The functions of `evenhand.annotation` that read or write
    judgements take it. All are thread-safe.
    """

    engine: Engine
    study: Study
    """The study as started; `refresh` updates it if the study file changes before anyone takes part."""
    secret: bytes
    """32 random bytes, created with the study. They sign invites and forms, and key the hashes of external names."""
    key: int
    """Key of the study in the database."""
    transactions: Transactions
    begun: datetime
    """Time at which this definition became that of the study."""

    def __init__(self, transactions: Transactions, study: Study, key: int, secret: bytes, begun: datetime):
        if not isinstance(transactions, Transactions):
            raise UsageError(
                f"Store requires the transactions of a database, got {type(transactions).__name__}.",
                "Open a database with open_store, or start a study with begin_study.",
            )
        self.transactions = transactions
        self.engine = transactions.engine
        self.study = study
        self.key = key
        self.secret = secret
        self.begun = begun

    def refresh(self, connection: Connection, row: Record) -> None:
        """Return the store with the definition in the database, when a person arrives.

        `row` is that of the study, locked. Another process may replace the study while this one serves it. After the
        first person has arrived, it can no longer be replaced.
        """
        if row.begun_at != self.begun:
            self.study, self.begun = _stored_study(connection, row), row.begun_at

    @cached_property
    def items(self) -> Mapping[tuple[Role, str], Item]:
        """Return the items of the study as it was opened, by role and name, because reading
        one from the database is slower.
        """
        return {(role, item.id): item for role, some in _items(self.study).items() for item in some}

    def close(self) -> None:
        """Close the connections."""
        if (journal := self.transactions.journal) is not None and journal.due:
            journal.empty()
        self.engine.dispose()


@checked
def open_store(address: str | Path, study: str | None = None) -> Store:
    """Open a database that contains human evaluations.

    Parameters
    ----------
    address : str or path
        A file, or postgresql://USER@HOST/NAME (psycopg).
    study : str, optional
        Name of a study. Required if there are several.

    Returns
    -------
    Store
        The open database.

    Raises
    ------
    DataError
        This is not such a database, it has another version (the message states how to upgrade), or the study
        is missing.
    """
    url = parse_url(address)
    if url.get_backend_name() == "sqlite":
        file = Path(str(url.database))
        if not file.is_file():
            raise DataError(
                f"Database not found: {shown_address(address)}.",
                "`evenhand annotate STUDY.yaml` creates the database of a study.",
            )
        look(file, shown_address(address))
    engine = connect_to_existing(address)
    transactions = Transactions(engine)

    def read(connection: Connection) -> tuple[Record, Study]:
        upgrading.refuse_other_version(connection, shown_address(address))
        with sound(shown_address(address)):
            row = _study_row(connection, study, shown_address(address))
            if not isinstance(row.secret, bytes) or len(row.secret) != SECRET_BYTES:
                raise ValueError("its secret is missing")
            return row, _stored_study(connection, row)

    try:
        row, stored = transactions.read(read)
    except BaseException:
        engine.dispose()
        raise
    return Store(transactions, stored, row.id, row.secret, row.begun_at)


@checked
def begin_study(address: str | Path, study: Study) -> Store:
    """Create the database of a human evaluation and write the study to it.

    An existing database is upgraded if needed. The study, its items and its slots are written in one
    transaction.

    Parameters
    ----------
    address : str or path
        File or database, as in `open_store`.
    study : Study
        The study.

    Returns
    -------
    Store
        The open database.

    Raises
    ------
    ResumeRefused
        The study exists with participants and differs; the message names the differences.
    WriteError
        The database cannot be written.

    Notes
    -----
    A study of the same name without participants is replaced. Its invites and accounts are kept. With
    participants, it is resumed if it is equal. Added items, and another text, code or URL of `completion`,
    are allowed.
    """
    engine = connect(address)
    if engine.dialect.name == "sqlite":
        file = Path(str(engine.url.database))
        look(file, shown_address(address), new=True)  # before anything in it is changed
        make_private(file)
    transactions = _connect(engine, address)

    def begin(connection: Connection) -> tuple[Record, Study]:
        if connection.dialect.name == "postgresql":
            # so that of two that start simultaneously, one finds what the other created
            connection.execute(text("SELECT pg_advisory_xact_lock(8273645091827364)"))
        upgrading.upgrade(connection, shown_address(address))
        if connection.dialect.name == "sqlite":
            _sign(connection)
        named = select(tables.studies).where(tables.studies.c.name == study.name).with_for_update()
        row = connection.execute(named).one_or_none()
        if row is None:
            _write_study(connection, study)
        else:
            _resume_study(connection, row, study)
        row = connection.execute(named).one()
        return row, _stored_study(connection, row)

    try:
        row, stored = transactions.write(begin)
    except BaseException:
        engine.dispose()
        raise
    if transactions.journal is not None:
        transactions.journal.empty()  # an earlier process may have left data in it
    return Store(transactions, stored, row.id, row.secret, row.begun_at)


def _connect(engine: Engine, address: str | Path) -> Transactions:
    """Return the transactions of a database. Raise DataError if it is not a database or does not respond."""
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
    except exc.DBAPIError as error:
        engine.dispose()
        raise unreachable(address, error) from error
    return Transactions(engine)


def _sign(connection: Connection) -> None:
    """Mark databases that were created before there was a mark."""
    if connection.exec_driver_sql("PRAGMA application_id").scalar() != APPLICATION:
        connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION}")


def _study_row(connection: Connection, name: str | None, where: str) -> Record:
    rows = connection.execute(select(tables.studies).order_by(tables.studies.c.id)).all()
    names = [row.name for row in rows]
    if name is None:
        if len(rows) == 1:
            return rows[0]
        if not rows:
            raise DataError(f"{where} contains no study.", "`evenhand annotate STUDY.yaml` creates one.")
        raise DataError(
            f"{where} contains {len(rows)} studies.",
            f"Name one of them with --study (in Python: the argument name): {', '.join(names)}.",
        )
    if name not in names:
        raise DataError(
            f"{where}: " + unknown_name("study", name, names).message, f"Available: {', '.join(names)}."
        )
    return rows[names.index(name)]


def _stored_study(connection: Connection, row: Record) -> Study:
    definition = parse_json(row.definition)
    contents: dict[str, list[Any]] = {"real": [], "onboarding": [], "gold": []}
    items = tables.items
    for role, content in connection.execute(
        select(items.c.role, items.c.content).where(items.c.study_id == row.id).order_by(items.c.place)
    ):
        contents[role].append(parse_json(content))
    definition["items"] = contents["real"]
    if definition.get("onboarding"):
        definition["onboarding"]["items"] = contents["onboarding"]
    definition["hidden"]["gold"] = contents["gold"]
    try:
        return Study.model_validate(definition)
    except ValidationError as error:
        raise DataError(
            f"The study {row.name!r} in the database does not fit this version of evenhand: {error}",
            "Open it with the version that wrote it.",
        ) from error


def _definition(study: Study) -> dict[str, Any]:
    """Return the definition without items, as JSON data."""
    definition = study.model_dump(mode="json", exclude={"items": True})
    if definition["onboarding"]:
        del definition["onboarding"]["items"]
    del definition["hidden"]["gold"]
    return definition


def _items(study: Study) -> dict[Role, Sequence[Item]]:
    onboarding = study.onboarding.items if study.onboarding else ()
    return {"real": study.items, "onboarding": onboarding, "gold": study.hidden.gold}


def _as_text(definition: dict[str, Any]) -> str:
    return json.dumps(definition, ensure_ascii=False)


def _write_study(connection: Connection, study: Study) -> None:
    key = tables.insert_one(
        connection,
        tables.studies,
        name=study.name,
        definition=_as_text(_definition(study)),
        secret=secrets.token_bytes(SECRET_BYTES),
        paused=False,
        arrived=0,
        withdrawn=0,
        begun_at=datetime.now(UTC),
    )
    for role, items in _items(study).items():
        _write_items(connection, key, study, role, items)


def _write_items(
    connection: Connection, key: int, study: Study, role: Role, items: Iterable[Item], start: int = 0
) -> None:
    rows = []
    for place, item in enumerate(items, start):
        first, *second = item.conversations
        rows.append(
            {
                "study_id": key,
                "name": item.id,
                "role": role,
                "place": place,
                "content": item.model_dump_json(exclude_defaults=True),
                "first": first,
                "second": second[0] if second else None,
                "wanted": study.assignment.annotations_per_item if role == "real" else 0,
                "taken": 0,
                "done": 0,
                "left_a": 0,
                "left_b": 0,
                "rank": tie_break(study.seed, item.id, 0),
            }
        )
    names = [row["name"] for row in rows]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1}, key=str)
        raise UsageError(f"Several {role} items have the id {twice[0]!r}.", "Give each item its own id.")
    if rows:
        connection.execute(insert(tables.items), rows)


def _resume_study(connection: Connection, row: Record, study: Study) -> None:
    """Resume an existing study with the given definition. Raise ResumeRefused if annotators have read what differs."""
    before = _stored_study(connection, row)
    old, new = _definition(before), _definition(study)
    differing = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    for role in ("onboarding", "gold"):
        if _items(before)[role] != _items(study)[role]:
            differing.append(f"items of {role}")
    given = {item.id: item for item in study.items}
    gone = [item.id for item in before.items if item.id not in given]
    changed = [item.id for item in before.items if item.id in given and given[item.id] != item]
    differing += [f"item {name} (gone)" for name in gone[:5]] + [f"item {name}" for name in changed[:5]]
    people = connection.execute(
        select(func.count()).select_from(tables.persons).where(tables.persons.c.study_id == row.id)
    ).scalar_one()
    if differing and not people:
        _replace(connection, row, study, differing)
        return
    later = {name: new["completion"][name] for name in AFTERWARDS}
    read = [name for name in differing if name != "completion"]
    if old["completion"] | later != new["completion"]:
        read.append("completion.per_unit_codes")
    if read:
        raise ResumeRefused(
            f"The study {study.name!r} cannot be changed now, because {_come(people)}. The study file differs from "
            f"the study that was started: {', '.join(read)}.",
            "You can still add items, and change the text, code and URL under `completion`. For other changes, "
            "start a new study with another `name`. If all annotators so far are your own tests, delete them on "
            "the admin's page, and serve the file again.",
        )
    if differing:
        _note_change(connection, row, differing)
        connection.execute(
            update(tables.studies).where(tables.studies.c.id == row.id).values(definition=_as_text(new))
        )
    there = {item.id for item in before.items}
    added = [item for item in study.items if item.id not in there]
    _write_items(connection, row.id, study, "real", added, start=len(before.items))


def _come(people: int) -> str:
    return (
        "1 annotator has already opened it"
        if people == 1
        else f"{people:,} annotators have already opened it"
    )


def _replace(connection: Connection, row: Record, study: Study, differing: Sequence[str]) -> None:
    """Replace a definition and its items that no participant has seen; links and accounts are kept."""
    _note_change(connection, row, differing)
    connection.execute(delete(tables.items).where(tables.items.c.study_id == row.id))
    connection.execute(
        update(tables.studies)
        .where(tables.studies.c.id == row.id)
        .values(definition=_as_text(_definition(study)), begun_at=datetime.now(UTC))
    )
    for role, items in _items(study).items():
        _write_items(connection, row.id, study, role, items)


def _note_change(connection: Connection, row: Record, differing: Sequence[str]) -> None:
    line = {
        "actor": "",
        "action": "study file read anew",
        "subject": row.name,
        "detail": ", ".join(differing),
    }
    connection.execute(insert(tables.audit).values(study_id=row.id, at=datetime.now(UTC), **line))
