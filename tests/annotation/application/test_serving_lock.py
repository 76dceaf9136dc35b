"""A study is served by one process at a time; whoever is killed lets go of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.annotation.application.serving_lock import sole_server
from evenhand.annotation.exports import read_export, write_export
from evenhand.annotation.store import begin_study, open_store, sittings
from evenhand.schema import UsageError
from tests.annotation.store.persons import START, come, show, study

HOLD = """
import sys, time
from evenhand.annotation.application.serving_lock import sole_server
from evenhand.annotation.store import open_store
with sole_server(open_store(sys.argv[1]), "http://127.0.0.1:8123"):
    print("held", flush=True)
    time.sleep(600)
"""
WHERE = "http://127.0.0.1:9999"


def test_a_second_server_is_refused_until_the_first_has_stopped(store_address: str) -> None:
    store, other = begin_study(store_address, study(2)), open_store(store_address)
    try:
        with sole_server(store, WHERE):
            with (
                pytest.raises(
                    UsageError, match=r"The study one in .* is already served by another"
                ) as caught,
                sole_server(other, WHERE),
            ):
                raise AssertionError("two serve")
            assert "Stop that process first" in str(caught.value)
        with sole_server(other, WHERE):
            pass
        with sole_server(store, WHERE), pytest.raises(UsageError), sole_server(other, WHERE):
            pass
    finally:
        store.close()
        other.close()


def test_two_studies_of_one_database_are_served_at_once_if_it_is_a_postgresql(postgres_address: str) -> None:
    one = begin_study(postgres_address, study(2))
    two = begin_study(postgres_address, study(2, name="two"))
    with sole_server(one, WHERE), sole_server(two, WHERE):
        pass
    one.close()
    two.close()


def test_a_killed_process_lets_go_and_its_address_is_named_while_it_lives(store_address: str) -> None:
    store = begin_study(store_address, study(2))
    process = subprocess.Popen([sys.executable, "-c", HOLD, store_address], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="already served") as caught, sole_server(store, WHERE):
            raise AssertionError("two serve")
        if "://" not in store_address:
            assert f"process {process.pid}, http://127.0.0.1:8123" in str(caught.value)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for attempt in range(600):  # PostgreSQL notices a dead client in its own time
            try:
                with sole_server(store, WHERE):
                    break
            except UsageError:
                assert attempt < 599
                subprocess.run(["sleep", "0.1"], check=True)
    finally:
        process.kill()
        process.communicate()
        store.close()


def test_the_file_that_is_locked_is_gone_afterwards_and_private_before(tmp_path: Path) -> None:
    store = begin_study(tmp_path / "one.db", study(2))
    locked = tmp_path / "one.db-serving"
    with sole_server(store, WHERE):
        assert locked.stat().st_mode & 0o077 == 0
    assert not locked.exists()
    store.close()


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_an_export_of_pairs_holds_their_texts(tmp_path: Path, ending: str) -> None:
    store = begin_study(tmp_path / "one.db", study(2))
    person = come(store)
    there = show(store, person, START)
    from evenhand.annotation.definition import Answer

    sittings.answer(store, person, there.presentation, {"who": Answer("a")}, START)
    votes = read_export(write_export(store, tmp_path / f"votes.{ending}")).votes
    store.close()
    assert there.item.pair is not None
    for name, side in zip(("text_a", "text_b"), there.item.pair, strict=True):
        assert votes[name].to_list() == ["\n".join(f"{turn.speaker}: {turn.text}" for turn in side.turns)]
        assert f"model: I am {side.id}." in votes[name][0]
