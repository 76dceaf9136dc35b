"""Many at once: threads, processes, and processes that are killed in the middle of writing."""

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from evenhand.annotation.definition import Answer
from evenhand.annotation.store import (
    EndVisit,
    InviteRefused,
    LeaseLost,
    Store,
    StoreBusy,
    administration,
    begin_study,
    open_store,
    people,
    sittings,
)
from tests.annotation.store.persons import START, act, check, come, rows, show, study, work

ROOT = Path(__file__).resolve().parents[3]


def everything_is_done(store: Store, votes: int) -> None:
    check(store)
    progress = administration.progress(store, START)
    assert (progress.votes, progress.leased, progress.items_complete) == (votes, 0, progress.items)
    exported = [row for row in administration.votes(store) if row["role"] == "real"]
    assert Counter(Counter(row["item"] for row in exported).values()) == {3: progress.items}


@pytest.mark.slow
def test_twenty_threads_fill_every_quota_exactly(store_address: str) -> None:
    store = begin_study(store_address, study(20, assignment={"units_per_person": 5}))
    persons = [come(store) for _ in range(20)]

    def judge(number: int) -> str:
        random = Random(number)
        while True:
            there = sittings.step(store, persons[number], START)
            if isinstance(there, EndVisit) and there.why == "all given out":
                time.sleep(0.05)
            elif not act(store, persons[number], there, START, lambda item, question: random.choice("ab")):
                return getattr(there, "why", "enough")

    with ThreadPoolExecutor(20) as pool:
        ends = list(pool.map(judge, range(20)))
    assert {*ends} <= {"nothing left", "enough"}
    everything_is_done(store, 60)
    store.close()


def test_one_form_sent_by_many_threads_counts_once(store_address: str) -> None:
    store = begin_study(store_address, study(4))
    person = come(store)
    begin = threading.Barrier(8)
    for _ in range(4):
        shown = show(store, person)

        def send(said: str, shown=shown) -> None:
            begin.wait()
            sittings.answer(store, person, shown.presentation, {"who": Answer(said)}, START)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, "abababab"))
    assert len(list(administration.votes(store))) == 4
    (row,) = administration.persons(store)[1]
    assert (row.votes, row.units) == (4, 1)
    check(store)
    store.close()


def test_two_tabs_get_one_unit(store_address: str) -> None:
    store = begin_study(store_address, study(12))
    person = come(store)
    with ThreadPoolExecutor(8) as pool:
        shown = list(pool.map(lambda _: show(store, person).presentation, range(8)))
    assert len({*shown}) == 1
    assert rows(store, "SELECT count(*) AS n FROM units")[0].n == 1
    store.close()


def test_an_invite_lets_in_no_more_than_it_says_however_many_come_at_once(store_address: str) -> None:
    store = begin_study(store_address, study(1))
    invite = people.make_invites(store, 1, START, uses=3)[0].id

    def arrive(_: int) -> bool:
        try:
            people.arrive(store, invite, START)
        except InviteRefused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(arrive, range(8))) == 3
    many = people.make_invites(store, 1, START, uses=None)[0].id
    with ThreadPoolExecutor(8) as pool:
        same = list(pool.map(lambda _: people.arrive(store, many, START, external="same"), range(8)))
    assert len({*same}) == 1
    store.close()


def test_late_persons_and_those_who_take_over_meet_at_once(store_address: str) -> None:
    """Of each place either the late answer or the new lease holds, whoever is first."""
    store = begin_study(store_address, study(8, assignment={"annotations_per_item": 1, "items_per_unit": 1}))
    late = [come(store) for _ in range(8)]
    shown = [show(store, person) for person in late]
    new = [come(store) for _ in range(8)]
    after = START + timedelta(hours=2)

    def one(number: int) -> str:
        try:
            if number % 2:
                return (
                    "new"
                    if not isinstance(sittings.step(store, new[number // 2], after), EndVisit)
                    else "none"
                )
            said = {"who": Answer("a")}
            sittings.answer(store, late[number // 2], shown[number // 2].presentation, said, after)
        except LeaseLost:
            return "lost"
        return "late"

    with ThreadPoolExecutor(16) as pool:
        found = Counter(pool.map(one, range(16)))
    assert found["late"] + found["new"] == 8
    assert found["lost"] == found["new"]
    check(store)
    store.close()


@pytest.mark.slow
def test_two_processes_may_begin_at_once(store_address: str) -> None:
    program = (
        "import sys; from evenhand.annotation.store import begin_study; "
        "from tests.annotation.store.persons import study; begin_study(sys.argv[1], study(50)).close()"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, store_address], cwd=ROOT) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    store = open_store(store_address)
    assert len(store.study.items) == 50
    assert len(rows(store, "SELECT 1 FROM studies")) == 1
    store.close()


def start_clerk(address: str, seed: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.annotation.store.clerk", address, seed]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_what_was_acknowledged_survives_sigkill(store_address: str) -> None:
    """Two processes write, and one after the other is killed in the middle, ten times."""
    store = begin_study(store_address, study(80, assignment={"units_per_person": 40, "lease_minutes": 0.02}))
    people.make_invites(store, 1, START, uses=None)
    random, said = Random(0), []
    running = [start_clerk(store_address, str(number)) for number in range(2)]
    try:
        for kill in range(10):
            # killed a random time after it has stored something
            process = running[kill % 2]
            said += [process.stdout.readline() for _ in range(random.randint(1, 8))]
            time.sleep(random.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            said += process.communicate()[0].splitlines(keepends=True)
            running[kill % 2] = start_clerk(store_address, str(kill % 2))
            check(store)
        for process in running:
            said += process.communicate(timeout=120)[0].splitlines(keepends=True)
            assert process.returncode == 0
    finally:
        for process in running:
            process.kill()
            process.wait()
            process.stdout.close()
    while administration.progress(store, START).votes < 240:  # what the killed held
        work(store, come(store), datetime.now(UTC) + timedelta(hours=1))
    acknowledged = dict(
        line.split()[1:] for line in said if line.startswith("stored") and line.endswith("\n")
    )
    votes = list(administration.votes(store))
    there = {row["presentation"]: row["answer"] for row in votes}
    assert len(acknowledged) > 100
    assert {key: there.get(key) for key in acknowledged} == acknowledged
    assert len(there) == len(votes) == 240
    everything_is_done(store, 240)
    store.close()


@pytest.mark.slow
def test_a_database_that_stays_locked_is_said_to_be_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.annotation.store.connecting.BUSY_SECONDS", 0.1)
    store = begin_study(tmp_path / "study.db", study(2))
    person = come(store)
    other = open_store(tmp_path / "study.db")

    def hold(_: object) -> None:
        with pytest.raises(StoreBusy, match="nothing was saved"):
            sittings.step(store, person, START)

    other.transactions.write(hold)
    assert show(store, person).position == 0
    for one in (store, other):
        one.close()
