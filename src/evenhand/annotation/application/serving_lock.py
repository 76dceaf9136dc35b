"""Allow only one server process per study, because other processes do not see its memory (failed logins, limits)."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from evenhand.annotation.store import Store, shown_address
from evenhand.schema import UsageError, WriteError

log = logging.getLogger("evenhand.annotation")
ENDING = "-serving"
"""Suffix of the lock file of an SQLite database, which the serving process keeps locked."""
ADVISORY = 827_364_510
"""First number of PostgreSQL's advisory lock; the second one is the study's key."""
LONGEST = 500
TRIES = 5
HINT = (
    "Stop that process first, or use its server. To serve another study at the same time, use another database "
    "(--database)."
)


@contextmanager
def sole_server(store: Store, address: str) -> Iterator[None]:
    """Hold the exclusive right to serve a study; it ends with the process.

    Parameters
    ----------
    store : Store
        Database of the study.
    address : str
        URL at which the study is served; the error of a second process names it.

    Raises
    ------
    UsageError
        Another process serves the study.
    WriteError
        The lock file cannot be created.
    """
    if store.engine.dialect.name == "sqlite":
        with _locked_file(Path(f"{store.engine.url.database}{ENDING}"), store, address):
            yield
        return
    with store.engine.connect() as connection:
        locked = text("SELECT pg_try_advisory_lock(:first, :second)")
        is_ours = connection.execute(locked, {"first": ADVISORY, "second": store.key}).scalar_one()
        connection.commit()  # the lock belongs to the connection and not to the transaction
        if not is_ours:
            raise _is_served(store, "")
        try:
            yield
        finally:
            with suppress(DBAPIError):  # a lost connection holds no lock
                connection.execute(
                    text("SELECT pg_advisory_unlock(:first, :second)"),
                    {"first": ADVISORY, "second": store.key},
                )
                connection.commit()
            connection.invalidate()  # closed, instead of being returned to the pool


@contextmanager
def _locked_file(path: Path, store: Store, address: str) -> Iterator[None]:
    descriptor = _open_lock_file(path, store)
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()}, {address}"[:LONGEST].encode())
    except OSError:
        pass  # only the message of a second process is less precise
    try:
        yield
    finally:
        if sys.platform != "win32":
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _open_lock_file(path: Path, store: Store) -> int:
    """Open the lock file, and make sure that it still has its name; the previous holder removes the file at its end."""
    for _ in range(TRIES):
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise WriteError(
                f"Cannot create the lock file {path}: {error.strerror}.",
                "Move the database to a folder that you can write to.",
            ) from error
        try:
            if not _lock(descriptor, path):
                raise _is_served(store, os.read(descriptor, LONGEST).decode(errors="replace"))
            if sys.platform == "win32" or (
                path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())
            ):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise _is_served(store, "")


def _lock(descriptor: int, path: Path) -> bool:
    """Return True if the lock was acquired. If the file system has no locks, log this and return True."""
    if sys.platform == "win32":
        import msvcrt

        try:
            os.lseek(descriptor, LONGEST + 1, os.SEEK_SET)  # behind what others read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        log.warning("%s cannot be locked (%s): do not serve this study twice.", path, error.strerror)
    return True


def _is_served(store: Store, by: str) -> UsageError:
    who = f" ({by})" if by else ""
    return UsageError(
        f"The study {store.study.name} in {shown_address(store.engine.url)} is already served by another process{who}.",
        HINT,
    )
