"""The admin export is written by another process, and is the one that `evenhand annotate export` writes."""

import re
import threading
import time
from pathlib import Path

import numpy as np
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


def test_other_threads_run_while_an_export_is_written(store: Store, clock: Clock, tmp_path: Path) -> None:
    judge(store, clock, first_better)
    done = threading.Event()
    writing = threading.Thread(
        target=lambda: (write_export_apart(store, tmp_path / "votes.csv"), done.set()), daemon=True
    )
    writing.start()
    waits = []
    while not done.is_set():
        began = time.perf_counter()
        time.sleep(0.001)
        waits.append(time.perf_counter() - began)
    assert len(waits) > 50
    assert np.quantile(waits, 0.95) < 0.1  # seconds
