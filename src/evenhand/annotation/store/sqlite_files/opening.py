"""Connections to a file: shared with other processes, alone if the disk has no room for sharing, or read-only."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

Way = Literal["shared", "alone", "still"]
"""How a database is opened: "shared", "alone" or "still".

- shared: other processes can use the database, through a small extra file (-shm).
- alone: that file is kept in memory. This needs no disk space and locks out other processes.
- still: read-only, if no process writes and there is no journal.
"""
WAYS: tuple[Way, ...] = get_args(Way)
BUSY_SECONDS = 5
"""Seconds that one attempt waits for other processes that write."""
MODES: Mapping[Way, str] = {"shared": "mode=rw", "alone": "mode=rw", "still": "mode=ro&immutable=1"}
FIRST: Mapping[Way, tuple[str, ...]] = {
    "shared": ("journal_mode=WAL",),
    "alone": ("locking_mode=EXCLUSIVE", "journal_mode=WAL"),
    "still": (),
}
SETTINGS = (
    "trusted_schema=OFF",  # definitions of tables from other people must not call functions with side effects
    "cell_size_check=ON",
    "synchronous=FULL",  # a confirmed judgement survives a loss of power
    "foreign_keys=ON",
    "secure_delete=ON",  # deleted data are overwritten
    "cache_size=-4000",
)
MOST_STEPS = 5_000_000_000
"""Maximum steps of SQLite's virtual machine per statement (minutes). Exporting a million answers takes a fiftieth."""
COUNTED = 1_000_000


class Counting(sqlite3.Connection):
    """A connection that stops statements that run too long."""

    _left = MOST_STEPS

    def count_anew(self, most: int = MOST_STEPS) -> None:
        """Reset the counter before each statement."""
        self._left = most

    def count(self) -> bool:
        """Return True to stop the statement. SQLite calls it every COUNTED steps."""
        self._left -= COUNTED
        return self._left < 0


def open_file(file: Path, way: Way) -> Counting:
    """Return a connection to an existing file. Raises sqlite3.Error."""
    connection: Counting = sqlite3.connect(
        f"{file.absolute().as_uri()}?{MODES[way]}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,  # SQLAlchemy begins and ends transactions, and sqlite3 does not
        check_same_thread=False,
        factory=Counting,
    )
    try:
        for setting in (*FIRST[way], *SETTINGS):
            connection.execute(f"PRAGMA {setting}").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException:
        connection.close()
        raise
    connection.set_progress_handler(connection.count, COUNTED)
    return connection
