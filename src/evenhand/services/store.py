"""A permanent store of responses that were paid for: a SQLite file, shared by threads and processes."""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from evenhand.schema import DataError, WriteError, parse_json

PATIENCE = 60.0  # seconds to wait for another process that writes
_MAKING = threading.Lock()
AT_ONCE = 500  # keys per query; SQLite allows 999 parameters in its oldest builds


def answer_key(*parts: Any) -> str:
    """Return the key under which a response is stored: 32 hexadecimal characters.

    `parts` are JSON-serialisable values on which the response depends (URL, path, body, revision, ...). The
    order of the keys of a mapping does not matter.

    Examples
    --------
    >>> answer_key("https://host", {"a": 1, "b": 2}) == answer_key("https://host", {"b": 2, "a": 1})
    True
    """
    content = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def answer_store_path(service: str) -> Path:
    """Return the file for the responses of a service on this machine, in $EVENHAND_CACHE or ~/.cache/evenhand.

    `service` is a short name, such as "models" or "perspective".
    """
    root = os.environ.get("EVENHAND_CACHE")
    base = Path(root).expanduser() if root else Path.home() / ".cache" / "evenhand"
    return base / "answers" / f"{service}.sqlite"


class AnswerStore:
    """A file with the responses of a service, created at first use.

    A response that was stored with `put` survives a crash of the process.

    Parameters
    ----------
    path : path or str
        The file. Its folder is created. If several processes share it, it must be on a local disk.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, AnswerStore(Path(folder) / "answers.sqlite") as store:
    ...     store.put("a key", {"score": 0.5})
    ...     store.get(["a key", "another"])
    {'a key': {'score': 0.5}}
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None
        self._process = os.getpid()

    def __enter__(self) -> "AnswerStore":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._open() as database:
            return int(database.execute("SELECT count(*) FROM answers").fetchone()[0])

    def get(self, keys: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the stored responses by key. Raise a DataError if the file cannot be read."""
        wanted = list(dict.fromkeys(keys))
        answers: dict[str, dict[str, Any]] = {}
        with self._open() as database:
            for start in range(0, len(wanted), AT_ONCE):
                some = wanted[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = database.execute(f"SELECT key, value FROM answers WHERE key IN ({marks})", some)
                answers.update((key, parse_json(value)) for key, value in rows)
        return answers

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        """Store one response. Raise a WriteError (full disk, no permission) or a DataError (not a store)."""
        self.put_all({key: value})

    def put_all(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Store several responses, all or none of them."""
        rows = [(key, json.dumps(dict(value))) for key, value in values.items()]
        with self._open() as database, database:
            database.executemany("INSERT OR REPLACE INTO answers (key, value) VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file. A later call opens it again."""
        with self._lock:
            if self._database is not None and self._process == os.getpid():
                self._database.close()
            self._database = None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._database is None or self._process != os.getpid():
                    # a connection must not be used across a fork, so the child opens its own
                    self._database, self._process = self._connect(), os.getpid()
                yield self._database
            except sqlite3.OperationalError as error:
                space = "Free some space or set" if "full" in str(error) else "Set"
                raise WriteError(
                    f"The response store {self.path} cannot be used: {error}.",
                    f"{space} $EVENHAND_CACHE to a folder of your own on a local disk. Stored responses are "
                    "intact.",
                ) from error
            except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
                raise DataError(
                    f"{self.path} is not an intact response store: {error}.",
                    "Move it away and run the command again. Its responses are then requested again.",
                ) from error

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WriteError(
                f"Could not create {self.path.parent}: {error.strerror or error}.",
                "Set $EVENHAND_CACHE to a writable folder.",
            ) from error
        with _MAKING:
            self._check_ours()
            self._make_private()
        database = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        try:
            # with a log that is appended to, responses need not wait for the disk, and readers never wait for writers
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            with database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
                )
        except BaseException:
            database.close()
            raise
        return database

    def _make_private(self) -> None:
        """Restrict access from the beginning, because responses may contain confidential text.

        Only a new file is opened here. Closing any handle of an existing file would release all locks that this process
        has on it, including those of SQLite in another thread. Two threads could then write at the same time.
        """
        with suppress(OSError):
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self.path.chmod(0o600)

    def _check_ours(self) -> None:
        # the file of another program must not be changed, so it is checked read-only before any setting
        if not self.path.exists() or not self.path.stat().st_size:
            return
        database = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)
        try:
            tables = {
                name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            columns = {row[1] for row in database.execute("PRAGMA table_info(answers)")}
        finally:
            database.close()
        if tables and columns != {"key", "value"}:
            raise DataError(
                f"{self.path} is a database of another program, not a response store. It was not changed.",
                "Give a new file, or remove `store`.",
            )
