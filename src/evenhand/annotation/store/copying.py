"""A copy of a SQLite database while it is used."""

import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from evenhand.annotation.store.store import Store
from evenhand.schema import UsageError, WriteError


def copy_database(store: Store, where: Path) -> None:
    """See `administration.backup`."""
    if store.engine.dialect.name != "sqlite":
        raise UsageError(
            "Only SQLite databases are copied by evenhand.",
            "Use PostgreSQL's own: pg_dump --format=custom NAME.",
        )
    if where.exists() and where.samefile(str(store.engine.url.database)):
        raise UsageError("This is the database itself.", "Name another file for the copy.")
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        # readable by its owner alone, as the database is
        handle, name = tempfile.mkstemp(dir=where.parent, prefix=f".{where.name}.")
    except OSError as error:
        raise WriteError(
            f"{where} cannot be written: {error.strerror}.", "Name a file in a folder of yours."
        ) from error
    os.close(handle)
    copy = Path(name)
    try:
        with store.engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            target = sqlite3.connect(copy)
            try:
                raw.backup(target)
            finally:
                target.close()
        with copy.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(copy, where)
    except (OSError, sqlite3.Error) as error:
        raise WriteError(f"{where} could not be written: {error}.", "Is the disk full?") from error
    finally:
        copy.unlink(missing_ok=True)
