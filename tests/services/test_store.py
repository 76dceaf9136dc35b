"""Answers outlive whoever asked, are shared by threads and processes, and a broken file says so."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.schema import DataError, WriteError
from evenhand.services.store import AnswerStore, answer_key, answer_store_path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def open_store(tmp_path_factory):
    with AnswerStore(tmp_path_factory.mktemp("store") / "a.sqlite") as store:
        yield store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "answers.sqlite"


@settings(max_examples=60)
@given(value=st.dictionaries(st.text(), JSON, max_size=4))
def test_an_answer_comes_back_as_it_was_put(open_store, value):
    open_store.put("key", value)
    assert open_store.get(["key"]) == {"key": value}


def test_more_keys_than_a_query_may_hold(path):
    with AnswerStore(path) as store:
        store.put_all({f"k{i}": {"i": i} for i in range(2500)})
        found = store.get([f"k{i}" for i in range(0, 5000)])
        assert found == {f"k{i}": {"i": i} for i in range(2500)}
        assert len(store) == 2500
        store.put("k1", {"i": "again"})
        assert store.get(["k1", "k1"]) == {"k1": {"i": "again"}}
        assert store.get([]) == {}


def test_it_is_there_after_closing_and_after_a_violent_end(path):
    script = """
import os, signal, sys
from evenhand.services.store import AnswerStore
store = AnswerStore(sys.argv[1])
for i in range(50):
    store.put(str(i), {"i": i})
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with AnswerStore(path) as store:
        assert len(store) == 50
        store.put("more", {})
        store.close()
        assert len(store) == 51


def _write(path, name):
    with AnswerStore(path) as store:
        for i in range(60):
            store.put(f"{name}-{i}", {"by": name})


def test_processes_and_threads_write_side_by_side(path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(path, f"process {n}")) for n in range(2)]
    workers += [threading.Thread(target=_write, args=(path, f"thread {n}")) for n in range(2)]
    with AnswerStore(path) as shared:
        workers += [
            threading.Thread(target=lambda n=n: [shared.put(f"{n}-{i}", {}) for i in range(60)]) for n in "ab"
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(shared) == 6 * 60


def test_a_file_that_is_no_store_is_not_touched(path):
    path.parent.mkdir()
    path.write_text("This is no database. " * 100)
    with AnswerStore(path) as store, pytest.raises(DataError, match="is not an intact response store"):
        store.get(["a"])
    assert path.read_text().startswith("This is no database.")


def test_a_damaged_value_is_an_error_not_an_answer(path):
    with AnswerStore(path) as store:
        store.put("a", {})
        database = sqlite3.connect(path)
        with database:
            database.execute("UPDATE answers SET value = '{'")
        database.close()
        with pytest.raises(DataError):
            store.get(["a"])


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        AnswerStore(tmp_path / "file" / "a.sqlite") as store,
        pytest.raises(WriteError, match="EVENHAND_CACHE"),
    ):
        store.put("a", {})


def test_a_file_that_cannot_be_written(tmp_path):
    with AnswerStore(tmp_path) as store, pytest.raises(WriteError, match="cannot be used"):  # it is a folder
        store.put("a", {})


def test_keys_depend_on_content_alone():
    assert answer_key("a", {"x": 1, "y": [1, 2]}) == answer_key("a", {"y": [1, 2], "x": 1})
    parts = [("a",), ("a", None), (["a"],), ("a", {"x": 1}), ("a", {"x": 1.5})]
    keys = [answer_key(*some) for some in parts]
    assert len(set(keys)) == len(keys)


def test_the_folder_is_the_users_choice(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path))
    assert answer_store_path("models") == tmp_path / "answers" / "models.sqlite"
    monkeypatch.delenv("EVENHAND_CACHE")
    assert answer_store_path("models").parts[-4:] == (".cache", "evenhand", "answers", "models.sqlite")


def test_the_database_of_something_else_is_not_touched(tmp_path):
    """Not even its journal mode, which lies in the file: a browser's or a wallet's must open as before."""
    for name, columns in (("notes", "text"), ("answers", "question, answer")):
        path = tmp_path / f"{name}.sqlite"
        with sqlite3.connect(path) as other:
            other.execute(f"CREATE TABLE {name} ({columns})")
        other.close()
        before = path.read_bytes()
        with (
            AnswerStore(path) as store,
            pytest.raises(DataError, match="is a database of another program, not a response store"),
        ):
            store.put("k", {"v": 1})
        assert path.read_bytes() == before
        assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(name)) == [path.name]


def test_a_file_that_is_no_database_is_not_touched(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("precious")
    with AnswerStore(path) as store, pytest.raises(DataError, match=r"mine\.txt"):
        store.get(["k"])
    assert path.read_text() == "precious" and [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_answers_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    """The file, also one that an earlier version made, and what SQLite lays beside it."""
    old = tmp_path / "old.sqlite"
    old.touch(0o644)
    before = os.umask(0)
    try:
        for path in (old, tmp_path / "deep" / "new.sqlite"):
            with AnswerStore(path) as store:
                store.put("key", {"said": "private"})
                files = list(path.parent.glob(f"{path.name}*"))
                assert path in files and {file.stat().st_mode & 0o777 for file in files} == {0o600}
    finally:
        os.umask(before)
