"""Connections to SQLite and PostgreSQL, and transactions that are retried if the database asks for it."""

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, exc, make_url

from evenhand.annotation.store.failures import StoreBusy
from evenhand.annotation.store.sqlite_files import (
    BUSY_SECONDS,
    WAYS,
    Counting,
    Journal,
    Way,
    cannot_be_used,
    is_about_the_disk,
    open_file,
)
from evenhand.schema import DataError, EvenhandError, UsageError, WriteError

T = TypeVar("T")
ATTEMPTS = 4
TRANSIENT = {"40001", "40P01", "55P03", "57P01", "57P02", "57P03"}
"""SQLSTATE of PostgreSQL: serialisation, deadlock, lock timeout, and a server that stops or starts."""


class Transactions:
    """An engine with read and write transactions; writers of one process are queued, because SQLite
    lets them starve.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self._writers = engine.execution_options(writing=True)
        # several queries read from one state of the database, as they always do in SQLite
        one_state = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        self.readers = engine.execution_options(**one_state)
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else None
        self.journal = Journal(engine) if engine.dialect.name == "sqlite" else None
        """The journal of an SQLite database; None for other databases."""

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction and return its result after it is on disk; it may be called several times.

        Raises StoreBusy after several conflicts (nothing is written), WriteError without disk space, and UsageError for
        text that databases cannot store.
        """
        return self._retry(lambda: self._write(work))

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one state of the database and return its result. Raises the errors of `write`."""
        return self._retry(lambda: self._read(work))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for reading over a longer time, without retries. Raises the errors of `write`."""
        try:
            with self.readers.begin() as connection:
                yield connection
        except (exc.DBAPIError, sqlite3.Error) as error:
            if (plain := _plainly(error, self.engine)) is not None:
                raise plain from error
            if _transient(error):
                raise StoreBusy("The database is busy.", "Try again in a moment.") from error
            raise

    def _write(self, work: Callable[[Connection], T]) -> T:
        if self._turn is None:
            with self._writers.begin() as connection:
                return work(connection)
        if not self._turn.acquire(timeout=BUSY_SECONDS):
            raise TimeoutError
        try:
            with self._writers.begin() as connection:
                return work(connection)
        finally:
            self._turn.release()

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self.readers.begin() as connection:
            return work(connection)

    def _retry(self, attempt: Callable[[], T]) -> T:
        met: Exception | None = None
        for number in range(ATTEMPTS):
            if number:
                # a random pause, so that the same transactions do not conflict again
                time.sleep(random.uniform(0.5, 1.0) * 0.02 * 4**number)
            try:
                done = attempt()
            except (exc.DBAPIError, sqlite3.Error, UnicodeEncodeError) as error:
                if (plain := _plainly(error, self.engine)) is not None:
                    raise plain from error
                if not _transient(error):
                    raise
                met = error
            # all connections, or the turn of this writer, are in use
            except (exc.TimeoutError, TimeoutError) as error:
                met = error
            else:
                if self.journal is not None:
                    self.journal.empty_if_due()
                return done
        raise StoreBusy("The database is busy, and nothing was saved.", "Try again in a moment.") from met


def connect(address: str | Path, way: Way = "shared") -> Engine:
    """Return an engine for a file or postgresql://USER@HOST/NAME.

    way: how a file is opened. Raises UsageError for another kind of URL, or if psycopg is not installed.
    """
    url = parse_url(address)
    if url.get_backend_name() == "sqlite":
        file = Path(str(url.database))
        several = (
            {"pool_size": 1, "max_overflow": 0} if way == "alone" else {"pool_size": 10, "max_overflow": 50}
        )
        engine = create_engine(url, creator=lambda: open_file(file, way), hide_parameters=True, **several)
        event.listen(engine, "begin", _begin_sqlite)
        event.listen(engine, "before_cursor_execute", _count_anew)
        return engine
    try:
        engine = create_engine(
            url,
            pool_size=10,
            max_overflow=20,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",  # rows are locked where it matters
            connect_args={"options": f"-c lock_timeout={BUSY_SECONDS}s -c timezone=UTC"},
            hide_parameters=True,  # messages end in logs
        )
    except ImportError as error:
        raise UsageError(
            "PostgreSQL requires psycopg, which is not installed.",
            "Install it: pip install 'evenhand[postgres]'",
        ) from error
    event.listen(engine, "handle_error", _say_no_values)
    return engine


def connect_to_existing(address: str | Path) -> Engine:
    """Return an engine for an existing database; a file is opened in a way that its disk allows.

    Raises DataError for something that is not a database or does not respond, and WriteError for an unusable disk.
    """
    met: exc.DBAPIError | None = None
    for way in WAYS:
        engine = connect(address, way)
        file = Path(str(engine.url.database))
        if way == "still" and any(_has_content(Path(f"{file}{ending}")) for ending in ("-wal", "-journal")):
            break  # part of the data is not in the file itself
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql("SELECT 1")
            return engine
        except exc.DBAPIError as error:
            engine.dispose()
            met = met or error
            if not isinstance(error.orig, sqlite3.Error) or not is_about_the_disk(error.orig):
                break
    assert met is not None
    raise unreachable(address, met) from met


def _has_content(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def parse_url(address: str | Path) -> URL:
    """Return a URL as an object of SQLAlchemy. Raise UsageError."""
    text = str(address)
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except exc.ArgumentError as error:
        # the URL is not repeated, because it may contain a password
        raise UsageError("The database URL cannot be read.", _EXPECTED) from error
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise UsageError(f"{url.drivername}:// is not a supported kind of database.", _EXPECTED)
    return url.set(drivername="postgresql+psycopg")


_EXPECTED = "Give a file (SQLite), or postgresql://USER@HOST/NAME."


def shown_address(address: str | Path | URL) -> str:
    """Return a database URL for messages, without the password."""
    url = address if isinstance(address, URL) else parse_url(address)
    return str(url.database) if url.get_backend_name() == "sqlite" else _without_password(url)


def _without_password(url: URL) -> str:
    return url.set(drivername="postgresql").difference_update_query(["password"]).render_as_string()


def unreachable(address: str | Path, error: exc.DBAPIError) -> EvenhandError:
    """Return the error for something that is not a database, or a database that does not respond."""
    if isinstance(error.orig, sqlite3.Error):
        plain = cannot_be_used(error.orig, Path(shown_address(address)))
        if plain is not None:
            return plain
    reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
    return DataError(f"Cannot open the database {shown_address(address)}: {reason}", _EXPECTED)


def _count_anew(connection: Connection, *_: object) -> None:
    raw: Any = connection.connection.dbapi_connection
    if isinstance(raw, Counting):
        raw.count_anew()


def _say_no_values(context: ExceptionContext) -> None:
    """Remove values from PostgreSQL errors, which quote the whole refused row; keep only the kind of error."""
    original: Any = context.original_exception
    state = getattr(original, "sqlstate", None)
    if state is None:
        return
    # in class 22 (data exceptions), the first line repeats the value
    said = "" if state.startswith("22") else f": {original.diag.message_primary}"
    original.args = (f"{type(original).__name__}, SQLSTATE {state}{said}",)
    if context.sqlalchemy_exception is not None:
        context.sqlalchemy_exception.args = original.args


def _begin_sqlite(connection: Connection) -> None:
    # a transaction that reads first and writes later would fail if another one writes in between
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _original(error: Exception) -> Any:
    return error.orig if isinstance(error, exc.DBAPIError) else error


def _transient(error: Exception) -> bool:
    original = _original(error)
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    state = getattr(original, "sqlstate", None)
    # without a state, the server was not reached
    return state in TRANSIENT or (state is None and isinstance(error, exc.OperationalError))


def _plainly(error: Exception, engine: Engine) -> EvenhandError | None:
    """Return the error for a failure that a retry cannot remove; None for others."""
    original = _original(error)
    if isinstance(original, UnicodeEncodeError) or isinstance(error, exc.DataError):
        return UsageError(
            "The text contains characters that databases cannot store.", "Remove control characters."
        )
    if isinstance(original, sqlite3.Error):
        return cannot_be_used(original, Path(str(engine.url.database)))
    if getattr(original, "sqlstate", None) == "53100":
        return WriteError(
            "Cannot write to the database: its disk is full.", "Free disk space on its machine."
        )
    return None
