"""What SQLite's errors mean to those who have to mend them."""

import shutil
import sqlite3
from pathlib import Path

from evenhand.schema import DataError, EvenhandError, WriteError

NO_ROOM = 64 * 1024
"""Bytes that SQLite needs beside a file to open it."""
OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
INTACT = "What was stored before is intact."


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary code of an error, 0 where it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_about_the_disk(error: sqlite3.Error) -> bool:
    """Whether a disk that is full, broken or not to be written stands behind an error."""
    return code_of(error) in OF_THE_DISK


def cannot_be_used(error: sqlite3.Error, file: Path) -> EvenhandError | None:
    """What to say of a file that SQLite cannot use as it is; None for errors of other kinds."""
    code = code_of(error)
    if str(error).startswith("Could not decode"):  # and then the text
        return DataError(f"{file} is damaged: it holds bytes for a text.", "Go back to a backup.")
    if code == sqlite3.SQLITE_FULL or (code in OF_THE_DISK and _is_full(file)):
        return WriteError(
            f"{file} cannot be written: the disk that it is on is full.", f"Make room there. {INTACT}"
        )
    match code:
        case sqlite3.SQLITE_IOERR:
            return WriteError(f"{file}: its disk fails ({error}).", f"Look after the disk. {INTACT}")
        case sqlite3.SQLITE_READONLY:
            return WriteError(
                f"{file} cannot be written: it may only be read.", "Use the account that serves the study."
            )
        case sqlite3.SQLITE_CANTOPEN:
            return WriteError(
                f"{file} cannot be opened, or nothing can be made beside it.",
                "Is its folder there, and may you write into it? SQLite keeps its journal beside the file.",
            )
        case sqlite3.SQLITE_NOTADB:
            return DataError(f"{file} is not a database.", "Give a file that evenhand made.")
        case sqlite3.SQLITE_CORRUPT:
            return DataError(f"{file} is damaged: {error}.", "Go back to a backup.")
        case sqlite3.SQLITE_INTERRUPT:
            return DataError(
                f"{file}: reading it came to no end.", "Is it damaged, or made by somebody else?"
            )
    return None


def _is_full(file: Path) -> bool:
    try:
        return shutil.disk_usage(file.parent).free < NO_ROOM
    except OSError:
        return False
