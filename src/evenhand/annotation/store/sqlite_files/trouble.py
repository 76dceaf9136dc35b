"""Convert SQLite's errors to messages that state what to do."""

import shutil
import sqlite3
from pathlib import Path

from evenhand.schema import DataError, EvenhandError, WriteError

NO_ROOM = 64 * 1024
"""Free disk space in bytes that SQLite needs to open a file."""
OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
INTACT = "What was stored before is intact."


def get_error_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary code of an error, or 0."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_about_the_disk(error: sqlite3.Error) -> bool:
    """Return True if a full, broken or read-only disk caused an error."""
    return get_error_code(error) in OF_THE_DISK


def cannot_be_used(error: sqlite3.Error, file: Path) -> EvenhandError | None:
    """Return the error for a file that SQLite cannot use as it is; None for other kinds of errors."""
    code = get_error_code(error)
    if str(error).startswith("Could not decode"):  # and then the text
        return DataError(f"{file} is damaged: a text field contains bytes.", "Restore a backup.")
    if code == sqlite3.SQLITE_FULL or (code in OF_THE_DISK and _is_full(file)):
        return WriteError(f"{file} cannot be written: its disk is full.", f"Free disk space. {INTACT}")
    match code:
        case sqlite3.SQLITE_IOERR:
            return WriteError(f"{file}: disk error ({error}).", f"Check the disk. {INTACT}")
        case sqlite3.SQLITE_READONLY:
            return WriteError(
                f"{file} cannot be written: it is read-only.", "Use the account that serves the study."
            )
        case sqlite3.SQLITE_CANTOPEN:
            return WriteError(
                f"{file} cannot be opened, or its folder is not writable.",
                "Check that the folder exists and that you can write to it. SQLite needs to create its journal "
                "there.",
            )
        case sqlite3.SQLITE_NOTADB:
            return DataError(f"{file} is not a database.", "Give a file created by evenhand.")
        case sqlite3.SQLITE_CORRUPT:
            return DataError(f"{file} is damaged: {error}.", "Restore a backup.")
        case sqlite3.SQLITE_INTERRUPT:
            return DataError(
                f"{file}: reading it did not end.", "It is damaged, or was created by another program."
            )
    return None


def _is_full(file: Path) -> bool:
    try:
        return shutil.disk_usage(file.parent).free < NO_ROOM
    except OSError:
        return False
