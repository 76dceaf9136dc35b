"""Connections to SQLite and PostgreSQL, and transactions that are tried again where the database says so."""

import random
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.annotation.store.failures import StoreBusy
from evenhand.schema import DataError, UsageError

try:
    import sqlalchemy
    from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, make_url
except ImportError as error:
    raise UsageError(
        "The database of people's answers needs SQLAlchemy and Alembic.", "pip install 'evenhand[annotate]'"
    ) from error

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

T = TypeVar("T")
ATTEMPTS = 6
BUSY_SECONDS = 10
"""How long one attempt waits for others that write."""
TRANSIENT = {"40001", "40P01", "55P03", "57P01", "57P02", "57P03"}
"""SQLSTATE of PostgreSQL: serialisation, deadlock, lock timeout, and a server that stops or starts."""


class Transactions:
    """An engine, and the two ways to use it; writers of one process queue up, since SQLite lets them starve."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self._writers = engine.execution_options(writing=True)
        sqlite = engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[Any] = threading.Lock() if sqlite else nullcontext()

    def write(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, once what it wrote is on the disk; it may be called several times.

        Raises StoreBusy after six attempts that met others (nothing is written), UsageError for text that databases
        do not hold.
        """
        return self._tried(self._writers, work, self._turn)

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns, from one state of the database. Raises as `write`."""
        return self._tried(self.engine, work, nullcontext())

    def _tried(
        self, engine: Engine, work: Callable[[Connection], T], turn: "AbstractContextManager[Any]"
    ) -> T:
        for attempt in range(ATTEMPTS):
            if attempt:
                # so that those who met do not meet again
                time.sleep(random.uniform(0.5, 1.0) * min(0.02 * 2**attempt, 1.0))
            try:
                with turn, engine.begin() as connection:
                    return work(connection)
            except exc.DBAPIError as error:
                if _unheld_text(error):
                    raise UsageError(
                        "This text holds characters that no database keeps.", "Leave out control characters."
                    ) from error
                if not _transient(error):
                    raise
                met: Exception = error
            except UnicodeEncodeError as error:
                raise UsageError(
                    "This text holds characters that no database keeps.", "Leave out lone surrogates."
                ) from error
            except exc.TimeoutError as error:  # all connections are in use
                met = error
        raise StoreBusy("The database is busy, and nothing was saved.", "Try again in a moment.") from met


def connect(address: str | Path) -> Engine:
    """An engine for a file or postgresql://USER@HOST/NAME.

    Raises UsageError for another kind of address, or where psycopg is not installed.
    """
    url = url_of(address)
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, pool_size=10, max_overflow=50)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        return create_engine(
            url,
            pool_size=10,
            max_overflow=20,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",  # rows are locked where it matters
            connect_args={"options": f"-c lock_timeout={BUSY_SECONDS}s -c timezone=UTC"},
        )
    except ImportError as error:
        raise UsageError("PostgreSQL needs psycopg.", "pip install 'evenhand[postgres]'") from error


def url_of(address: str | Path) -> URL:
    """An address as SQLAlchemy has it. Raises UsageError."""
    text = str(address)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except exc.ArgumentError as error:
        # the address itself is not repeated: it may hold a password
        raise UsageError("The address of the database cannot be read.", _EXPECTED) from error
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise UsageError(f"{url.drivername}:// is no kind of database known here.", _EXPECTED)
    return url.set(drivername="postgresql+psycopg")


_EXPECTED = "Give a file (SQLite), or postgresql://USER@HOST/NAME."


def shown(address: str | Path) -> str:
    """An address for messages, without a password."""
    url = url_of(address)
    return str(url.database) if url.get_backend_name() == "sqlite" else _without_password(url)


def _without_password(url: URL) -> str:
    return url.difference_update_query(["password"]).render_as_string()


def unreachable(address: str | Path, error: exc.DBAPIError) -> DataError:
    """What to say of a database that is none, or does not answer."""
    reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
    return DataError(f"{shown(address)} cannot be opened as a database: {reason}", _EXPECTED)


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # SQLAlchemy begins and ends transactions, sqlite3 does not
    for setting in (
        "journal_mode=WAL",
        "synchronous=FULL",  # an acknowledged vote survives a loss of power
        "foreign_keys=ON",
        "secure_delete=ON",  # what is withdrawn is overwritten
        "cache_size=-16000",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    # a transaction that reads first and writes later fails when somebody else writes in between
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _transient(error: exc.DBAPIError) -> bool:
    if isinstance(error.orig, sqlite3.OperationalError):
        return error.orig.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return error.connection_invalidated or getattr(error.orig, "sqlstate", None) in TRANSIENT


def _unheld_text(error: exc.DBAPIError) -> bool:
    return isinstance(error, sqlalchemy.exc.DataError) or isinstance(error.orig, UnicodeEncodeError)
