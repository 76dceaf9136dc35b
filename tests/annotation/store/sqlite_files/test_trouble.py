"""A disk without room: said so, nothing lost, and what is stored can be exported to another."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import event

from evenhand.annotation.store import administration, begin_study, open_store
from evenhand.schema import WriteError
from tests.annotation.store.persons import START, come, study, work

ON_A_FULL_DISK = """
import os, shutil, subprocess, sys
from pathlib import Path
from evenhand.annotation.exports import read_export, write_export
from evenhand.annotation.store import administration, begin_study, open_store, people
from evenhand.schema import WriteError
from tests.annotation.store.persons import START, come, study, work

disk, elsewhere = Path(sys.argv[1]), Path(sys.argv[2])
done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", disk], capture_output=True)
if done.returncode:
    print("no mount")
    sys.exit()
child = os.fork()
if not child:  # a server that dies: its answers are in the journal alone
    store = begin_study(disk / "study.db", study(4))
    work(store, come(store))
    os._exit(0)
os.waitpid(child, 0)
(disk / "study.db-shm").unlink()
assert (disk / "study.db-wal").stat().st_size > 50_000

def fill():
    with (disk / "filling").open("ab", buffering=0) as filling:
        try:
            while True:
                filling.write(bytes(4096))
        except OSError:
            pass
    assert shutil.disk_usage(disk).free == 0

def refused(what):
    try:
        what()
    except WriteError as error:
        assert "is full" in error.message, error.message
        assert "postgresql://" not in str(error)
    else:
        raise AssertionError(what)

fill()
store = open_store(disk / "study.db")
assert read_export(write_export(store, elsewhere / "x.jsonl")).votes.height == 4
administration.backup(store, str(elsewhere / "copy.db"))
refused(lambda: people.make_invites(store, 100_000, START))
refused(lambda: administration.backup(store, str(disk / "copy.db")))
store.close()
fill()  # closing wrote the journal into the file
refused(lambda: begin_study(disk / "new.db", study(4)))
refused(lambda: begin_study(disk / "study.db", study(4)))
copy = open_store(elsewhere / "copy.db")
assert len(list(administration.votes(copy))) == 4
copy.close()
(disk / "filling").unlink()
begin_study(disk / "study.db", study(4)).close()
store = open_store(disk / "study.db")
assert len(list(administration.votes(store))) == 4
store.close()
print("all of it")
"""


def test_a_full_disk_is_said_and_exported_from(tmp_path: Path) -> None:
    """On a real disk without room, in a name space where anybody may mount one."""
    (tmp_path / "disk").mkdir()
    try:
        done = subprocess.run(
            ["unshare", "-rm", sys.executable, "-c", ON_A_FULL_DISK, tmp_path / "disk", tmp_path],
            capture_output=True,
            text=True,
            timeout=120,
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "no mount" in done.stdout or "unshare" in done.stderr:
        pytest.skip("no disk can be mounted here")
    assert done.stdout == "all of it\n", done.stderr


def test_what_fails_for_want_of_room_is_written_nowhere(tmp_path: Path) -> None:
    store = begin_study(tmp_path / "study.db", study(4))
    person = come(store)

    def fill(raw: object, *_: object) -> None:
        pages = raw.execute("PRAGMA page_count").fetchone()[0]  # type: ignore[attr-defined]
        raw.execute(f"PRAGMA max_page_count={pages}")  # type: ignore[attr-defined]

    event.listen(store.engine, "checkout", fill)
    with pytest.raises(WriteError, match="is full"):
        administration.record(store, "", "x", "", START, detail="long " * 100_000)
    event.remove(store.engine, "checkout", fill)
    store.engine.dispose()
    work(store, person)
    store.close()


def test_a_limit_of_the_process_is_an_error_in_words(tmp_path: Path) -> None:
    begin_study(tmp_path / "study.db", study(4)).close()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        store = open_store(tmp_path / "study.db")  # no room for what is shared: alone
        assert list(administration.votes(store)) == []
        with pytest.raises(WriteError, match="disk error"):
            administration.pause(store, True, "", START)
        store.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
