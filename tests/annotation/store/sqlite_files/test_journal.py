"""What somebody takes back leaves the journal too: at once, or as soon as nobody reads it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evenhand.annotation.definition import Answer
from evenhand.annotation.store import Store, administration, begin_study, open_store, sittings
from evenhand.annotation.store.sqlite_files import journal
from tests.annotation.store.persons import START, WHO, come, show, study

SECRET = b"Sesquipedalian reason"
STUDY = study(4, questions=[WHO | {"reason": {"required": False}}])


def found(file: Path) -> bool:
    parts = (Path(f"{file}{ending}") for ending in ("", "-wal"))
    return any(SECRET in part.read_bytes() for part in parts if part.exists())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


@pytest.fixture
def store(file: Path) -> Store:
    """With somebody's answer, and a reader beside it when they withdraw."""
    return begin_study(file, STUDY)


@pytest.fixture
def reader(store: Store, file: Path) -> sqlite3.Connection:
    person = come(store)
    said = {"who": Answer("a", reason=SECRET.decode() * 300)}
    sittings.answer(store, person, show(store, person).presentation, said, START)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM votes").fetchall()
        sittings.withdraw(store, person, START)
        assert found(file)
        yield reader
    store.close()


def test_while_somebody_reads_it_is_tried_again_at_whatever_comes_next(
    store: Store, reader: sqlite3.Connection, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "REST", 0.0)
    administration.pause(store, True, "", START)
    assert found(file)
    reader.execute("COMMIT")
    assert found(file)
    administration.is_paused(store)
    assert not found(file)


def test_it_is_not_tried_all_the_time(store: Store, reader: sqlite3.Connection, file: Path) -> None:
    reader.execute("COMMIT")
    store.transactions.journal._last += 1000  # as if it had been tried a moment ago
    administration.is_paused(store)
    assert found(file)


def test_closing_empties_it(store: Store, reader: sqlite3.Connection, file: Path) -> None:
    other = open_store(file)  # so that the last connection is not the one that closes
    reader.execute("COMMIT")
    store.close()
    assert not found(file)
    other.close()


def test_beginning_again_empties_it(store: Store, reader: sqlite3.Connection, file: Path) -> None:
    reader.execute("COMMIT")
    assert found(file)
    again = begin_study(file, STUDY)  # as a server does that was killed and is started again
    assert not found(file)
    again.close()
