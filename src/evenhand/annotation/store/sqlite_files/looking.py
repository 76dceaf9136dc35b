"""Check whether a file is a database of evenhand, without changing it, because it may come from anyone."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine

from evenhand.annotation.store.migrations import upgrading
from evenhand.annotation.store.sqlite_files.opening import COUNTED, Counting, open_file
from evenhand.annotation.store.sqlite_files.private import APPLICATION
from evenhand.annotation.store.sqlite_files.trouble import cannot_be_used, is_about_the_disk
from evenhand.schema import DataError

MAGIC = b"SQLite format 3\0"
MOST_OBJECTS = 500
MOST_STEPS = 100_000_000
BEGIN = "`evenhand annotate STUDY.yaml` creates the database of a study."
OWN = "Use a separate database."
Schema = Mapping[tuple[str, str], Any]


def look(file: Path, where: str, *, new: bool = False) -> None:
    """Raise a DataError for a file that is not a database of evenhand, or whose tables are not as evenhand creates
    them.

    `where` is the name of the file in messages. With `new`, a study will be started in it, so it may be missing or
    empty.
    """
    if not file.exists() and new:
        return
    if not file.is_file():
        raise DataError(f"{where} is not a file.", OWN)
    try:
        with file.open("rb") as handle:
            header = handle.read(100)
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror}.", OWN) from error
    if not header:
        if new:
            return
        raise DataError(f"{where} is empty.", BEGIN)
    signed = int.from_bytes(header[68:72])
    if not header.startswith(MAGIC):
        raise DataError(
            f"{where} is not a database.", "Give a file (SQLite), or postgresql://USER@HOST/NAME."
        )
    if signed not in (0, APPLICATION):
        raise DataError(f"{where} is the database of another program.", OWN)
    try:
        with closing(_quietly(file, ours=signed == APPLICATION)) as connection:
            _check(connection, where, new)
    except sqlite3.Error as error:
        if (plain := cannot_be_used(error, file)) is not None:
            raise plain from error
        raise DataError(f"{where} is not a readable database: {error}.", OWN) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where} is damaged: its tables have no readable names.", "Restore a backup."
        ) from error


def _quietly(file: Path, *, ours: bool) -> sqlite3.Connection:
    """Open a read-only connection that creates no extra files."""
    if not any(Path(f"{file}{ending}").exists() for ending in ("-wal", "-shm")):
        return open_file(file, "still")
    connection: Counting = sqlite3.connect(
        f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, factory=Counting
    )
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException as error:
        connection.close()
        if ours and isinstance(error, sqlite3.Error) and is_about_the_disk(error):
            return open_file(file, "alone")
        raise
    connection.set_progress_handler(connection.count, COUNTED)
    return connection


def _check(connection: sqlite3.Connection, where: str, new: bool) -> None:
    if isinstance(connection, Counting):
        connection.count_anew(MOST_STEPS)
    there = _objects(connection)
    if ("table", upgrading.VERSIONS) not in there:
        if not new:
            raise DataError(f"{where} does not contain a study of evenhand.", BEGIN)
        if there:
            raise DataError(f"{where} contains tables of another program: {_list_names(there)}.", OWN)
        return
    if there["table", upgrading.VERSIONS] is not None:
        raise _make_change_error(where, [upgrading.VERSIONS])
    versions = connection.execute(f"SELECT version_num FROM {upgrading.VERSIONS}").fetchmany(2)
    if len(versions) != 1 or not isinstance(versions[0][0], str):
        raise _make_change_error(where, [upgrading.VERSIONS])
    version = versions[0][0]
    if not upgrading.is_known(version):
        raise upgrading.too_new(where, version)
    found, wanted = _schema(connection, there), _build_schema(upgrading.SCRIPTS, version)
    differing = [name for name in {**wanted, **found} if found.get(name, ...) != wanted.get(name, ...)]
    if differing:
        raise _make_change_error(where, [name for _, name in differing])


def _objects(connection: sqlite3.Connection) -> dict[tuple[str, str], str | None]:
    """Return kind and name of the objects in a database; for objects other than real tables, also their definition."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchmany(MOST_OBJECTS)
    return {
        (str(kind), str(name)): None
        if kind == "table" and _normalise_sql(sql).startswith(("createtable", "createtemptable"))
        else _normalise_sql(sql)
        for kind, name, sql in rows
        # sqlite_stat: what ANALYZE leaves
        if not str(name).startswith("sqlite_stat")
    }


def _normalise_sql(sql: Any) -> str:
    return re.sub(r"""[\s"`\[\]]+""", "", str(sql or "")).lower()


def _schema(connection: sqlite3.Connection, there: Mapping[tuple[str, str], str | None]) -> Schema:
    """Return the relevant structure of each table, without its wording, which differs between
    versions of SQLAlchemy.
    """
    described: dict[tuple[str, str], Any] = {}
    for (kind, name), sql in there.items():
        if kind == "table" and sql is None:
            columns = connection.execute(
                'SELECT name, "notnull", pk, hidden FROM pragma_table_xinfo(?)', (name,)
            )
            indexes = connection.execute('SELECT name, "unique", partial FROM pragma_index_list(?)', (name,))
            described[kind, name] = (columns.fetchall(), sorted(indexes.fetchall()))
        elif kind == "index":
            described[kind, name] = connection.execute(
                "SELECT name, cid FROM pragma_index_info(?)", (name,)
            ).fetchall()
        else:
            described[kind, name] = sql
    return described


@lru_cache
def _build_schema(scripts: Path, version: str) -> Schema:
    """Return the structure of a new database of a version. scripts: folder of its migrations."""
    engine = create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            upgrading.upgrade(connection, "memory", to=version)
            raw: Any = connection.connection.dbapi_connection
            return _schema(raw, _objects(raw))
    finally:
        engine.dispose()


def _make_change_error(where: str, names: Sequence[str]) -> DataError:
    return DataError(
        f"{where} was not created by evenhand in this form: {_list_names([('', name) for name in names])}.",
        "It was changed by another program, or is damaged. Restore a backup.",
    )


def _list_names(names: Any) -> str:
    found = sorted({ascii(name)[1:-1][:60] for _, name in names})
    return ", ".join(found[:6]) + (", ..." if len(found) > 6 else "")
