"""Temporary files with unpredictable names, which the next writer removes if the previous one was killed.

Each writer holds a lock on its file. The system releases it when the writer ends for any reason, so an unlocked file is
a leftover.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

NAME = re.compile(r"\.evenhand-[0-9a-f]{16}\.tmp")


def is_temporary(path: Path) -> bool:
    """Return whether this is the name of a temporary file of evenhand.

    >>> is_temporary(Path("a/.evenhand-0123456789abcdef.tmp")), is_temporary(Path(".notes.tmp"))
    (True, False)
    """
    return NAME.fullmatch(path.name) is not None


@contextmanager
def temporary_file(folder: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Create a locked file with a random name, and remove it at the end unless it was renamed.

    `folder` is where the file is created. Temporary files of ended writers in it are removed first. Raises
    OSError.
    """
    sweep(folder)
    handle, path = _create_locked_file(folder)
    try:
        with handle:
            yield handle, path
    finally:
        with suppress(OSError):  # if the folder is the problem, another error reports it
            path.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove temporary files of evenhand whose writer has ended; files of running writers and other files stay."""
    with suppress(OSError):  # an unreadable folder is reported elsewhere
        for path in [Path(entry.path) for entry in os.scandir(folder) if NAME.fullmatch(entry.name)]:
            with suppress(OSError):
                _remove_left_over(path)


def _create_locked_file(folder: Path) -> tuple[BinaryIO, Path]:
    while True:
        path = folder / f".evenhand-{token_hex(8)}.tmp"
        handle = open(path, "xb")  # noqa: SIM115
        # another process may have removed or locked the file between opening and locking
        if _try_to_lock(handle.fileno()) is not False and path.exists():
            return handle, path
        handle.close()


def _remove_left_over(path: Path) -> None:
    if sys.platform == "win32":
        path.unlink()  # some systems refuse to remove a file that is open elsewhere
        return
    if path.is_symlink():
        path.unlink()
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and _try_to_lock(descriptor):
            path.unlink()
    finally:
        os.close(descriptor)


def _try_to_lock(descriptor: int) -> bool | None:
    """Lock an open file, and return whether no other process had locked it.

    None if the file system has no locks; then nothing is removed. Closing the file releases the lock.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
