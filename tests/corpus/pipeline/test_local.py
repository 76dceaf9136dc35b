"""Processes that count: one that is killed costs its rank some time and nothing else."""

import os
import random
import signal
import time
from contextlib import closing
from functools import partial
from multiprocessing import active_children
from pathlib import Path

import pytest

from evenhand.corpus.pipeline import count_rank, kept_ranks, merged_ranks, run_in_processes
from evenhand.corpus.pipeline.local import MOST_DEATHS
from evenhand.corpus.pipeline.work import RankDone
from evenhand.schema import DataError, EvenhandError


def told(rank):
    return RankDone(rank, 1, 1, 0)


def dies_once(folder, rank):
    mark = folder / str(rank)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return told(rank)


def dies_over_the_second(rank):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return told(rank)


def fails_at_the_second(rank):
    if rank == 1:
        raise DataError("It is broken.", "Mend it.")
    return told(rank)


def cannot_be_sent(rank):
    raise ValueError("told in words", lambda: None)


def reads(rank):
    return f"file-{rank}"


def test_a_rank_whose_process_is_killed_is_counted_anew(tmp_path: Path) -> None:
    (tmp_path / "0").touch()  # so that one dies
    notes: list[str] = []
    done = list(run_in_processes(partial(dies_once, tmp_path), [0, 1], 2, reads, notes.append))
    assert sorted(one.rank for one in done) == [0, 1]
    assert notes == [
        "The process that counted rank 1 was ended by signal 9 (SIGKILL); this rank is counted again."
    ]


@pytest.mark.slow
def test_a_rank_that_always_ends_its_process_is_named_with_its_files() -> None:
    done = []
    with pytest.raises(EvenhandError, match=rf"Rank 1 failed in {MOST_DEATHS} processes.*file-1") as stop:
        done += list(run_in_processes(dies_over_the_second, [0, 1, 2], 2, reads))
    assert "SIGKILL" in stop.value.message and "--workers" in str(stop.value.hint)
    assert active_children() == []


@pytest.mark.slow
def test_what_a_process_raises_is_raised_here() -> None:
    with pytest.raises(DataError, match=r"It is broken\.\nMend it\."):
        list(run_in_processes(fails_at_the_second, [0, 1, 2], 2, reads))
    with pytest.raises(RuntimeError, match="told in words"):
        list(run_in_processes(cannot_be_sent, [0, 1], 2, reads))
    assert active_children() == []


@pytest.mark.slow
def test_workers_killed_twenty_times_give_the_counts_of_one_that_was_not(work) -> None:
    alone = work(rank_bytes=400, name="alone")
    for rank in range(len(alone.ranks)):
        count_rank(alone, rank)
    shared = work(rank_bytes=400, name="shared")
    draw = random.Random(0)
    kills = 0
    counting = run_in_processes(partial(count_rank, shared), range(len(shared.ranks)), 2, shared.reads)
    with closing(counting):
        for number, _ in enumerate(counting):
            if kills < 20 and number % 3 == 2:
                time.sleep(draw.uniform(0, 0.05))
                os.kill(draw.choice(active_children()).pid, signal.SIGKILL)  # type: ignore[arg-type]
                kills += 1
    assert kills == 20 and len(kept_ranks(shared.folder, len(shared.ranks))) == len(shared.ranks) > 60
    one, other = (merged_ranks(each.folder, len(each.ranks)) for each in (alone, shared))
    for name in ("totals", "terms", "groups", "pairs", "contexts", "skipped", "sources"):
        assert getattr(one, name).equals(getattr(other, name)), name


@pytest.mark.slow
def test_closing_ends_all_processes_at_once(tmp_path: Path) -> None:
    counting = run_in_processes(partial(slow_count, tmp_path), range(8), 2, reads)
    with closing(counting):
        next(counting)
    assert active_children() == []


def slow_count(folder, rank):
    time.sleep(0.2 if rank == 0 else 60)
    return told(rank)
