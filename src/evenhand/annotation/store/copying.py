"""Copy a SQLite database while it is in use."""

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import exc

from evenhand.annotation.store.sqlite_files import cannot_be_used
from evenhand.annotation.store.store import Store
from evenhand.schema import UsageError, WriteError, temporary_file


def copy_database(store: Store, where: Path) -> None:
    """Copy a database (see `administration.backup`)."""
    if store.engine.dialect.name != "sqlite":
        raise UsageError(
            "evenhand can only back up SQLite databases.",
            "To back up a PostgreSQL database, use pg_dump --format=custom NAME.",
        )
    if where.exists() and where.samefile(str(store.engine.url.database)):
        raise UsageError("The backup file is the database itself.", "Choose another file for the backup.")
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        # the next write into the folder removes the remains of a killed copy
        with temporary_file(where.parent) as (handle, copy):
            copy.chmod(0o600)  # readable only by its owner, as the database is
            with store.engine.connect() as connection, closing(sqlite3.connect(copy)) as target:
                raw: Any = connection.connection.dbapi_connection
                raw.backup(target)
            os.fsync(handle.fileno())
            if sys.platform == "win32":
                handle.close()  # some systems do not rename an open file
            os.replace(copy, where)
    except OSError as error:
        raise WriteError(
            f"{where} cannot be written: {error.strerror}.",
            "Choose a file in a folder that you can write to.",
        ) from error
    except (sqlite3.Error, exc.DBAPIError) as error:
        original = error.orig if isinstance(error, exc.DBAPIError) else error
        if isinstance(original, sqlite3.Error) and (plain := cannot_be_used(original, where)) is not None:
            raise plain from error
        raise WriteError(f"{where} could not be written: {original}.", "Check the disk space.") from error
