"""Mark a file as evenhand's by its header, and make it readable only by its owner."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

from evenhand.annotation.store.sqlite_files.trouble import cannot_be_used
from evenhand.schema import WriteError

APPLICATION = int.from_bytes(b"Evnh")
"""SQLite's application_id of all databases that evenhand creates."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO
BESIDE = ("", "-wal", "-shm")


def make_private(file: Path) -> None:
    """Create a file if necessary, and make it readable only for its owner, because it contains the secret that signs
    links.

    Raises a WriteError if it cannot be written, or belongs to another user and is readable for others.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        for part in (Path(f"{file}{ending}") for ending in BESIDE):
            if part.exists() and (mode := part.stat().st_mode) & OTHERS:
                part.chmod(stat.S_IMODE(mode) & ~OTHERS)
        if not file.stat().st_size:
            _sign(file)
    except OSError as error:
        raise WriteError(
            f"{file} cannot be written, or cannot be made private: {error.strerror}.",
            "Choose a file in a folder that you can write to.",
        ) from error
    except sqlite3.Error as error:
        raise (cannot_be_used(error, file) or error) from error


def _sign(file: Path) -> None:
    # done before there is a journal, so that the header of the file itself records it
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA application_id={APPLICATION}")
