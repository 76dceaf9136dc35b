"""The lock: one living process at a time, none of the dead."""

import os
import signal
import subprocess
import sys

import pytest

from evenhand.runs.lock import hold_lock
from evenhand.schema import UsageError, WriteError

HOLD = """
import sys, time
from pathlib import Path
from evenhand.runs.lock import hold_lock
with hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / ".lock")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_process_is_told_who_holds_it(tmp_path, holder):
    with (
        pytest.raises(UsageError, match=f"in use by process {holder.pid} on .* since 20"),
        hold_lock(tmp_path / ".lock"),
    ):
        pytest.fail("two processes hold the lock")


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert str(holder.pid) in (tmp_path / ".lock.holder").read_text()
    with hold_lock(tmp_path / ".lock"):
        assert str(os.getpid()) in (tmp_path / ".lock.holder").read_text()


def test_it_is_free_again_after_use_also_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), hold_lock(tmp_path / ".lock"):
        raise ZeroDivisionError
    with hold_lock(tmp_path / ".lock"):
        pass


def test_a_process_does_not_hold_it_twice(tmp_path):
    path, me = tmp_path / ".lock", f"process {os.getpid()}"
    with hold_lock(path), pytest.raises(UsageError, match=me), hold_lock(path):
        pytest.fail("held twice in one process")


def test_a_folder_that_cannot_be_written_to_is_a_write_error(tmp_path):
    with pytest.raises(WriteError, match="Could not open the lock"), hold_lock(tmp_path / "absent" / ".lock"):
        pytest.fail("locked a file that cannot exist")


def test_a_process_of_an_earlier_version_is_respected(tmp_path):
    """Which locked the file itself, by the same call of the system, and wrote its name into it."""
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / ".lock").open("a+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        handle.write('{"pid": 1, "host": "here", "since": "2026-01-01"}')
        handle.flush()
        with pytest.raises(UsageError, match="in use by another process"), hold_lock(tmp_path / ".lock"):
            pytest.fail("two processes hold the lock")
    with (
        hold_lock(tmp_path / ".lock"),
        (tmp_path / ".lock").open("a+") as handle,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_nothing_but_the_lock_stays(tmp_path):
    with hold_lock(tmp_path / ".lock"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize("name", [".lock", ".lock.holder"])
def test_a_link_in_a_folder_that_somebody_else_made_harms_no_file(tmp_path, name):
    theirs, mine = tmp_path / "run", tmp_path / "mine.txt"
    theirs.mkdir()
    mine.write_text("precious")
    (theirs / name).symlink_to(mine)
    if name == ".lock":
        with pytest.raises(WriteError, match="link"), hold_lock(theirs / ".lock"):
            pytest.fail("a link is no lock")
    else:
        with hold_lock(theirs / ".lock"):
            assert not (theirs / name).is_symlink()
    assert mine.read_text() == "precious"
