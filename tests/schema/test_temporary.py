"""Temporary files: nobody foresees them, nobody is led astray by them, and a killed writer's are removed."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from evenhand.schema import WriteError, atomic_write, write_text
from evenhand.schema.temporary import is_temporary, sweep, temporary_file

WRITER = """
import os, signal, sys, time
from evenhand.schema import atomic_write
from pathlib import Path
with atomic_write(Path(sys.argv[1])) as handle:
    handle.write(b"half")
    handle.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def writer(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "writing\n"
    return process


def temporaries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if is_temporary(path)]


def test_what_a_killed_writer_left_goes_and_what_a_living_one_holds_stays(tmp_path: Path) -> None:
    with writer(tmp_path / "dead") as dead, writer(tmp_path / "living") as living:
        (held,) = set(temporaries(tmp_path)) - set(kill(dead, tmp_path))
        write_text(tmp_path / "mine", "whole")
        assert temporaries(tmp_path) == [held]
        living.kill()
        living.wait()
        sweep(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def kill(process: "subprocess.Popen[str]", folder: Path) -> list[Path]:
    """Kill a writer; returns what it leaves, which is told by trying to lock it."""
    import fcntl

    process.send_signal(signal.SIGKILL)
    process.wait()
    left = []
    for path in temporaries(folder):
        with path.open("rb") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.append(path)
            except BlockingIOError:
                pass
    assert len(left) == 1 and left[0].read_bytes() == b"half"
    return left


def test_names_are_never_the_same_and_tell_nothing(tmp_path: Path) -> None:
    names = set()
    for _ in range(200):
        with temporary_file(tmp_path) as (_, path):
            names.add(path.name)
    assert len(names) == 200 and not any(
        str(os.getpid()) == part for name in names for part in name.split(".")
    )
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_lies_where_the_file_would_be_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the name were foreseen: the file is opened exclusively, and the next name is tried by nobody."""
    monkeypatch.setattr("evenhand.schema.temporary.token_hex", lambda n: "0" * 16)
    treasure = tmp_path / "elsewhere" / "treasure"
    treasure.parent.mkdir()
    treasure.write_text("years of work")
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setattr("evenhand.schema.temporary.sweep", lambda folder: None)
    (folder / f".evenhand-{'0' * 16}.tmp").symlink_to(treasure)
    with pytest.raises(WriteError, match="File exists"), atomic_write(folder / "x") as handle:
        handle.write(b"overwritten")
    assert treasure.read_text() == "years of work"


def test_sweeping_removes_a_link_and_not_what_it_leads_to_nor_files_of_others(tmp_path: Path) -> None:
    treasure = tmp_path / "treasure"
    treasure.write_text("years of work")
    link = tmp_path / f".evenhand-{'a' * 16}.tmp"
    link.symlink_to(treasure)
    for name in (
        ".evenhand-short.tmp",
        "evenhand-0123456789abcdef.tmp",
        ".x.tmp",
        ".evenhand-0123456789abcdef.tmp.txt",
    ):
        (tmp_path / name).write_text("kept")
    os.mkfifo(tmp_path / f".evenhand-{'b' * 16}.tmp")  # opening it would wait for ever
    sweep(tmp_path)
    assert not link.is_symlink() and treasure.read_text() == "years of work"
    assert sum(path.is_file() and path.read_text() == "kept" for path in tmp_path.iterdir()) == 4
    sweep(tmp_path / "absent")


def test_many_writers_in_one_folder_do_not_sweep_each_other_away(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for _ in range(20):
                write_text(tmp_path / f"{number}.txt", str(number))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{number}.txt" for number in range(8)]


def test_a_long_name_fits(tmp_path: Path) -> None:
    assert write_text(tmp_path / ("x" * 255), "whole").read_text() == "whole"
