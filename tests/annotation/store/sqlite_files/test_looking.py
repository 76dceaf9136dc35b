"""Files are looked at before they are touched; what is not as evenhand makes it is refused and stays as it was."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from evenhand.annotation.exports import read_export, write_export
from evenhand.annotation.store import Store, begin_study, open_store
from evenhand.annotation.store.sqlite_files import APPLICATION, Counting, open_file
from evenhand.schema import DataError
from tests.annotation.store.persons import come, study, work


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        for statement in statements:
            connection.execute(statement)


def foreign(file: Path) -> None:
    run(file, "CREATE TABLE notes (x)")


def of_another_program(file: Path) -> None:
    run(file, "PRAGMA application_id=7", "CREATE TABLE notes (x)")


def with_a_journal(file: Path) -> None:
    run(file, "PRAGMA journal_mode=WAL", "CREATE TABLE notes (x)")


def view_of_the_version(file: Path) -> None:
    run(file, "CREATE VIEW evenhand_version AS SELECT '1' AS version_num")


def table_called_like_a_version(file: Path) -> None:
    run(file, "CREATE TABLE evenhand_version (version_num)", "INSERT INTO evenhand_version VALUES ('1')")


def text(file: Path) -> None:
    file.write_text("no database at all" * 100)


@pytest.mark.parametrize(
    "make",
    [foreign, of_another_program, with_a_journal, view_of_the_version, table_called_like_a_version, text],
)
@pytest.mark.parametrize("use", [open_store, lambda file: begin_study(file, study(2))])
def test_a_file_of_others_is_refused_and_stays_as_it_was(
    tmp_path: Path, make: Callable[[Path], None], use: Callable[[Path], Store]
) -> None:
    make(tmp_path / "x.db")
    (tmp_path / "x.db").chmod(0o644)
    before = everything(tmp_path)
    with pytest.raises(DataError):
        use(tmp_path / "x.db")
    assert everything(tmp_path) == before
    assert (tmp_path / "x.db").stat().st_mode & 0o777 == 0o644


def test_an_empty_file_holds_no_study_and_may_get_one(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    file.touch()
    with pytest.raises(DataError, match="is empty"):
        open_store(file)
    assert everything(tmp_path) == {"x.db": b""}
    begin_study(file, study(2)).close()
    assert int.from_bytes(file.read_bytes()[68:72]) == APPLICATION
    open_store(file).close()


def test_a_database_from_before_signatures_is_opened_and_signed(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    begin_study(file, study(2)).close()
    run(file, "PRAGMA application_id=0")
    open_store(file).close()
    begin_study(file, study(2)).close()
    assert int.from_bytes(file.read_bytes()[68:72]) == APPLICATION


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("answered") / "study.db"
    store = begin_study(file, study(4))
    work(store, come(store))
    store.close()
    return file


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
CHANGES = {
    "a view in a table's place": (
        "ALTER TABLE votes RENAME TO v2",
        f"CREATE VIEW votes AS {ENDLESS} SELECT v2.* FROM v2, r",
    ),
    "a view": (f"CREATE VIEW evil AS {ENDLESS} SELECT * FROM r",),
    "a trigger": ("CREATE TRIGGER t AFTER INSERT ON audit BEGIN DELETE FROM votes; END",),
    "another trigger of that name": (
        "DROP TRIGGER audit_update",
        "CREATE TRIGGER audit_update BEFORE UPDATE ON audit BEGIN SELECT 1; END",
    ),
    "a table gone": ("DROP TABLE votes",),
    "a column more": ("ALTER TABLE votes ADD COLUMN more TEXT",),
    "a computed column": (
        "ALTER TABLE votes DROP COLUMN reason",
        "ALTER TABLE votes ADD COLUMN reason TEXT AS (question)",
    ),
    "a virtual table": ("CREATE VIRTUAL TABLE f USING fts5(x)",),
    "an index of an expression": ("CREATE INDEX extra ON votes (lower(answer))",),
    "no version": ("DELETE FROM evenhand_version",),
    "two versions": ("INSERT INTO evenhand_version VALUES ('abc')",),
    "a version of bytes": ("UPDATE evenhand_version SET version_num = x'ff'",),
    "no JSON": ("UPDATE studies SET definition = '{'",),
    "a list": ("UPDATE studies SET definition = '[]'",),
    "null": ("UPDATE studies SET definition = 'null'",),
    "bytes": ("UPDATE studies SET definition = x'ff'",),
    "too deep": (f"UPDATE studies SET definition = '{'[' * 100_000}'",),
    "a secret of text": ("UPDATE studies SET secret = 'abc'",),
    "a short secret": ("UPDATE studies SET secret = x'00'",),
    "a date of the study": ("UPDATE studies SET begun_at = 'yesterday'",),
    "an unknown role": ("UPDATE items SET role = 'evil' WHERE id = 1",),
    "an item that is none": ("UPDATE items SET content = '{'",),
    "an item that is a number": ("UPDATE items SET content = '5'",),
    "a date": ("UPDATE presentations SET answered_at = 'x'",),
    "bytes that are no text": ("UPDATE votes SET answer = CAST(x'ff00ff' AS TEXT)",),
    "seconds of text": ("UPDATE presentations SET seconds = 'abc'",),
    "endless seconds": ("UPDATE presentations SET seconds = 9e999",),
    "a role of none": ("UPDATE presentations SET role = 'zzz'",),
    "bytes for an answer": ("UPDATE votes SET answer = x'ff00ff'",),
    "bytes for a reason": ("UPDATE votes SET reason = x'ff00ff'",),
    "an unknown question": ("UPDATE votes SET question = 'zzz'",),
    "a text that is no place": ("UPDATE presentations SET position = 'first'",),
    "a place before the first": ("UPDATE presentations SET position = -1",),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_somebody_changed_is_refused_in_words(answered: Path, tmp_path: Path, case: str) -> None:
    shutil.copy(answered, tmp_path / "x.db")
    run(tmp_path / "x.db", *CHANGES[case])
    with pytest.raises(DataError) as refused:
        store = open_store(tmp_path / "x.db")
        try:
            write_export(store, tmp_path / "x.jsonl")
        finally:
            store.close()
    assert refused.value.hint
    assert not (tmp_path / "x.jsonl").exists()


@pytest.mark.parametrize("seed", range(12))
def test_noise_is_refused_in_words_or_does_not_matter(answered: Path, tmp_path: Path, seed: int) -> None:
    from random import Random

    random, content = Random(seed), bytearray(answered.read_bytes())
    for _ in range(3 * (seed + 1)):
        content[random.randrange(100, len(content))] = random.randrange(256)
    (tmp_path / "x.db").write_bytes(content)
    try:
        store = open_store(tmp_path / "x.db")
    except DataError:
        return
    try:
        read_export(write_export(store, tmp_path / "x.jsonl"))
    except DataError:
        pass
    finally:
        store.close()


def test_what_analyze_leaves_is_no_change(answered: Path, tmp_path: Path) -> None:
    shutil.copy(answered, tmp_path / "x.db")
    run(tmp_path / "x.db", "ANALYZE", "VACUUM")
    open_store(tmp_path / "x.db").close()


def test_no_statement_runs_for_ever(answered: Path) -> None:
    with closing(open_file(answered, "shared")) as connection:
        assert isinstance(connection, Counting)
        connection.count_anew(10_000_000)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(f"{ENDLESS} SELECT count(*) FROM r").fetchall()
        connection.count_anew()
        assert connection.execute("SELECT count(*) FROM votes").fetchone() == (4,)


def test_what_was_stored_by_an_older_clock_is_exported_without_seconds(
    answered: Path, tmp_path: Path
) -> None:
    shutil.copy(answered, tmp_path / "x.db")
    run(tmp_path / "x.db", "UPDATE presentations SET seconds = -10800 WHERE id = 1")
    store = open_store(tmp_path / "x.db")
    path = write_export(store, tmp_path / "x.jsonl")
    store.close()
    seconds = [json.loads(line)["seconds"] for line in path.read_text().splitlines()[1:]]
    assert seconds.count(None) == 1
    read_export(path)
