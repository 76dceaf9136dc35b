"""The journal of an SQLite file (-wal), which contains deleted data until it is emptied."""

import sqlite3
import time
from typing import Any

from sqlalchemy import Engine, exc

from evenhand.annotation.store.sqlite_files.opening import BUSY_SECONDS

REST = 1.0
"""Seconds between attempts to empty it."""


class Journal:
    """The SQLite journal of a database. It is emptied as soon as no process reads from it."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.due = False
        """Whether it still contains deleted data."""
        self._last = 0.0

    def empty(self, patience: float = 0.0) -> bool:
        """Write the journal into the database and truncate it. Return False if another process reads from it; it is
        then due later.

        `patience` is the number of seconds to wait for such processes.
        """
        self.due = True
        self._last = time.monotonic()
        try:
            with self.engine.connect() as connection:
                raw: Any = connection.connection.dbapi_connection
                raw.execute(f"PRAGMA busy_timeout={int(1000 * patience)}")
                try:
                    busy, *_ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                finally:
                    raw.execute(f"PRAGMA busy_timeout={1000 * BUSY_SECONDS}")
        except (exc.SQLAlchemyError, sqlite3.Error):  # no disk space or no connection; retried later
            return False
        self.due = bool(busy)
        return not busy

    def empty_if_due(self) -> None:
        """Empty the journal if it is due and was not just tried. Called after each operation."""
        if self.due and time.monotonic() - self._last >= REST:
            self.empty()
