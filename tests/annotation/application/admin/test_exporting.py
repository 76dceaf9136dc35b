"""The admin export is written by another process, and is the one that `evenhand annotate export` writes."""

import re
import sys
import threading
import time
from pathlib import Path

import pytest

from evenhand.annotation import Store, write_export
from evenhand.annotation.exports import apart
from evenhand.annotation.exports.apart import write_export_apart
from evenhand.annotation.store import administration
from evenhand.schema import DataError, EvenhandError, UsageError
from tests.annotation.application.admin.conftest import Browser, Clock
from tests.annotation.application.admin.test_seeing import first_better, judge


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_the_export_is_written_elsewhere_and_is_the_same(
    store: Store, clock: Clock, admin: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    judge(store, clock, first_better)
    expected = write_export(store, tmp_path / f"here.{kind}").read_bytes()

    def here(store: Store) -> None:
        raise AssertionError("the votes were read in the process that serves pages")

    monkeypatch.setattr(administration, "votes", here)
    written = admin.post("/admin/export", "/admin/export", kind=kind).content
    when = rb'"exported_at": "[^"]*"'  # two exports may be a second apart
    assert re.sub(when, b"", written) == re.sub(when, b"", expected)


def test_an_error_of_the_other_process_is_raised_here(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="xlsx"):
        write_export_apart(store, tmp_path / "votes.xlsx")
    monkeypatch.setattr(apart.sys, "executable", "/bin/false")
    with pytest.raises(
        EvenhandError, match="process that writes the export failed with exit code 1"
    ) as caught:
        write_export_apart(store, tmp_path / "votes.csv")
    assert type(caught.value) is not DataError and "evenhand annotate export" in caught.value.hint


def test_other_threads_run_while_an_export_is_written(
    store: Store, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(store, clock, first_better)
    started, go_on, program = tmp_path / "started", tmp_path / "go_on", tmp_path / "program"
    program.write_text(
        f"#!/bin/sh\ntouch '{started}'\nwhile [ ! -e '{go_on}' ]; do sleep 0.02; done\nexec '{sys.executable}' \"$@\"\n"
    )
    program.chmod(0o700)
    monkeypatch.setattr(apart.sys, "executable", str(program))
    writing = threading.Thread(target=write_export_apart, args=(store, tmp_path / "votes.csv"), daemon=True)
    writing.start()
    deadline = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < deadline, "the process that writes the export did not start"
        time.sleep(0.02)
    assert writing.is_alive()
    go_on.touch()  # the export ends only because this thread runs
    writing.join(60)
    assert (tmp_path / "votes.csv").exists() and not writing.is_alive()
