"""One process at a time in a run directory: a lock the system drops when its holder dies."""

import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from evenhand.schema import UsageError, WriteError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`.

    The lock belongs to the open file, not to its existence: whatever way a holder ends, the next
    process takes over. The file stays (removing it would let two processes lock two files).

    Raises UsageError if a living process holds it, WriteError if the file cannot be opened.
    """
    try:
        handle = Path(path).open("a+", encoding="utf-8")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise WriteError(
            f"Could not open the lock {path}: {error.strerror or error}.",
            "Choose a folder that can be written to.",
        ) from error
    with handle:
        if not _take(handle):
            raise UsageError(
                f"The run {path.parent} is in use by {_holder(path)}.",
                "Wait until it ends, stop it, or start another run with -o.",
            )
        handle.truncate(0)
        me = {
            "pid": os.getpid(),
            "host": platform.node(),
            "since": datetime.now(UTC).isoformat("T", "seconds"),
        }
        handle.write(json.dumps(me))
        handle.flush()
        try:
            yield
        finally:
            handle.truncate(0)


def _take(handle: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            # A byte past the text, because a locked region cannot be read by others on Windows.
            handle.seek(1 << 16)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
            handle.seek(0)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _holder(path: Path) -> str:
    try:
        who = json.loads(path.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']} since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
