"""Allow one process at a time in a run folder, with a lock that the system releases when its holder ends."""

import errno
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from evenhand.schema import UsageError, WriteError, parse_json, write_json


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock file while the block runs; a context manager.

    `path` is the lock file. Raises UsageError if a running process holds it, and WriteError if the file
    cannot be opened.

    Notes
    -----
    The lock belongs to the open file, not to its existence. The next process can therefore take it, however
    its holder ended. The file is not removed, because two processes could then lock two files. A second file
    names the holder, because a locked file cannot be read on all systems.
    """
    from filelock import FileLock, Timeout

    path = Path(path)
    lock, holder = FileLock(path), path.with_name(f"{path.name}.holder")
    try:
        if not path.parent.is_dir():  # which would be made
            raise FileNotFoundError(2, "no such directory")
        if path.is_symlink():  # a link in a folder from another person could lead to a file outside the run
            raise OSError(errno.ELOOP, "it is a link to another file")
        lock.acquire(blocking=False)
    except Timeout as error:
        raise UsageError(
            f"The run {path.parent} is already in use by {_holder(holder)}.",
            "Wait until it ends, stop it, or start a new run with -o.",
        ) from error
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        me = {
            "pid": os.getpid(),
            "host": platform.node(),
            "since": datetime.now(UTC).isoformat("T", "seconds"),
        }
        write_json(holder, me)  # by renaming, which replaces an existing link and not its target
        yield
    finally:
        with suppress(OSError):  # if it is a folder, its error is raised elsewhere
            holder.unlink(missing_ok=True)
        lock.release()


def _unwritable(path: Path, error: OSError) -> WriteError:
    return WriteError(
        f"Could not open the lock {path}: {error.strerror or error}.",
        "Choose a writable folder.",
    )


def _holder(path: Path) -> str:
    try:
        who = parse_json(path.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']} since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
