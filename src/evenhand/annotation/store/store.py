"""A database of annotation: SQLite (WAL) in a file, or PostgreSQL by its address; one study of it at a time."""

import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Engine, exc, insert, select, text

from evenhand.annotation.definition import Item, Study
from evenhand.annotation.store import tables
from evenhand.annotation.store.allocation import tie_break
from evenhand.annotation.store.connecting import Transactions, connect, shown, unreachable
from evenhand.annotation.store.migrations import upgrading
from evenhand.annotation.store.steps import Role
from evenhand.annotation.store.tables import Record
from evenhand.schema import DataError, ResumeRefused, UsageError, WriteError, unknown_name


class Store:
    """An open database, bound to one study. Every function of this folder takes one; all are safe from many threads."""

    engine: Engine
    study: Study
    """As it was begun."""
    secret: bytes
    """32 random bytes, made with the study: signs invites and forms, keys the hashes of external names."""
    key: int
    """Of the study, in the database."""
    transactions: Transactions

    def __init__(self, transactions: Transactions, study: Study, key: int, secret: bytes):
        self.transactions = transactions
        self.engine = transactions.engine
        self.study = study
        self.key = key
        self.secret = secret

    @cached_property
    def items(self) -> Mapping[tuple[Role, str], Item]:
        """The items of the study as it was opened, by role and name: reading one from the database takes longer."""
        return {(role, item.id): item for role, some in _items(self.study).items() for item in some}

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()


def open_store(address: str | Path, study: str | None = None) -> Store:
    """Open a database that holds studies.

    address: a file, or postgresql://USER@HOST/NAME (psycopg). study: the name of one; needed where there are several.
    Raises DataError for what is no such database, is of another version (and says how to upgrade), or lacks the study.
    """
    engine = connect(address)
    if engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).is_file():
        raise DataError(
            f"There is no database {shown(address)}.",
            "`evenhand annotate STUDY.yaml` makes the database of a study.",
        )
    transactions = _reached(engine, address)

    def read(connection: Connection) -> tuple[Record, Study]:
        upgrading.refuse_other_version(connection, shown(address))
        row = _study_row(connection, study, shown(address))
        return row, _stored_study(connection, row)

    try:
        row, stored = transactions.read(read)
    except BaseException:
        engine.dispose()
        raise
    return Store(transactions, stored, row.id, row.secret)


def begin_study(address: str | Path, study: Study) -> Store:
    """Create or upgrade the database if need be, and write the study, its items and its slots in one transaction.

    A study of that name that is there already is gone on with if it is equal; items may have been added. Raises
    ResumeRefused naming what differs, WriteError.
    """
    engine = connect(address)
    if engine.dialect.name == "sqlite":
        _make_private(Path(str(engine.url.database)))
    transactions = _reached(engine, address)

    def begin(connection: Connection) -> tuple[int, bytes, Study]:
        if connection.dialect.name == "postgresql":
            # so that of two that begin at once one finds what the other made
            connection.execute(text("SELECT pg_advisory_xact_lock(8273645091827364)"))
        upgrading.upgrade(connection, shown(address))
        row = connection.execute(
            select(tables.studies).where(tables.studies.c.name == study.name).with_for_update()
        ).one_or_none()
        if row is None:
            return _write_study(connection, study)
        before = _stored_study(connection, row)
        _add_items(connection, row.id, before, study)
        return row.id, row.secret, _stored_study(connection, row)

    try:
        key, secret, stored = transactions.write(begin)
    except BaseException:
        engine.dispose()
        raise
    return Store(transactions, stored, key, secret)


def _reached(engine: Engine, address: str | Path) -> Transactions:
    """Raises DataError for what is no database or does not answer."""
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
    except exc.DBAPIError as error:
        engine.dispose()
        raise unreachable(address, error) from error
    return Transactions(engine)


def _make_private(file: Path) -> None:
    """The file, readable by its owner alone: it holds the secret that signs links."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise WriteError(
            f"{file} cannot be written: {error.strerror}.", "Name a file in a folder of yours."
        ) from error


def _study_row(connection: Connection, name: str | None, where: str) -> Record:
    rows = connection.execute(select(tables.studies).order_by(tables.studies.c.id)).all()
    names = [row.name for row in rows]
    if name is None:
        if len(rows) == 1:
            return rows[0]
        if not rows:
            raise DataError(f"{where} holds no study.", "`evenhand annotate STUDY.yaml` begins one.")
        raise DataError(f"{where} holds {len(rows)} studies.", f"Say which: {', '.join(names)}.")
    if name not in names:
        raise DataError(
            f"{where}: " + unknown_name("study", name, names).message, f"There are: {', '.join(names)}."
        )
    return rows[names.index(name)]


def _stored_study(connection: Connection, row: Record) -> Study:
    definition = json.loads(row.definition)
    contents: dict[str, list[Any]] = {"real": [], "onboarding": [], "gold": []}
    items = tables.items
    for role, content in connection.execute(
        select(items.c.role, items.c.content).where(items.c.study_id == row.id).order_by(items.c.place)
    ):
        contents[role].append(json.loads(content))
    definition["items"] = contents["real"]
    if definition.get("onboarding"):
        definition["onboarding"]["items"] = contents["onboarding"]
    definition["hidden"]["gold"] = contents["gold"]
    try:
        return Study.model_validate(definition)
    except ValidationError as error:
        raise DataError(
            f"The study {row.name!r} in the database is not one that this evenhand understands: {error}",
            "Open it with the evenhand that wrote it.",
        ) from error


def _definition(study: Study) -> dict[str, Any]:
    """Everything but items, as JSON has it."""
    definition = study.model_dump(mode="json", exclude={"items": True})
    if definition["onboarding"]:
        del definition["onboarding"]["items"]
    del definition["hidden"]["gold"]
    return definition


def _items(study: Study) -> dict[Role, Sequence[Item]]:
    onboarding = study.onboarding.items if study.onboarding else ()
    return {"real": study.items, "onboarding": onboarding, "gold": study.hidden.gold}


def _write_study(connection: Connection, study: Study) -> tuple[int, bytes, Study]:
    secret = secrets.token_bytes(32)
    key = tables.insert_one(
        connection,
        tables.studies,
        name=study.name,
        definition=json.dumps(_definition(study), ensure_ascii=False),
        secret=secret,
        paused=False,
        arrived=0,
        withdrawn=0,
        begun_at=datetime.now(UTC),
    )
    for role, items in _items(study).items():
        _write_items(connection, key, study, role, items)
    return key, secret, study


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
        raise UsageError(f"Several {role} items are called {twice[0]!r}.", "Give each item an id of its own.")
    if rows:
        connection.execute(insert(tables.items), rows)


def _add_items(connection: Connection, key: int, before: Study, study: Study) -> None:
    """Write the items that are new. Raises ResumeRefused where anything else differs."""
    old, new = _definition(before), _definition(study)
    differing = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    for role in ("onboarding", "gold"):
        if _items(before)[role] != _items(study)[role]:
            differing.append(f"items of {role}")
    given = {item.id: item for item in study.items}
    gone = [item.id for item in before.items if item.id not in given]
    changed = [item.id for item in before.items if item.id in given and given[item.id] != item]
    differing += [f"item {name} (gone)" for name in gone[:5]] + [f"item {name}" for name in changed[:5]]
    if differing:
        raise ResumeRefused(
            f"The study {study.name!r} was begun differently: {', '.join(differing)}.",
            "Give it another name, or another database (--database); only items may be added to a study.",
        )
    there = {item.id for item in before.items}
    added = [item for item in study.items if item.id not in there]
    _write_items(connection, key, study, "real", added, start=len(before.items))
