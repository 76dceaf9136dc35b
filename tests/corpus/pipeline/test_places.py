"""Whoever counts, processes here, datatrove, Slurm or Ray: the counts are the same."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evenhand.corpus.pipeline import (
    COUNTING,
    CountingPlace,
    count_rank,
    do_ranks,
    kept_ranks,
    merged_ranks,
    slurm,
)
from evenhand.schema import DataError, EvenhandError, UsageError
from evenhand.services import ray_cluster
from tests.corpus.pipeline.cluster import fake_slurm

TABLES = ("totals", "terms", "groups", "pairs", "contexts", "skipped")


@pytest.fixture
def expected(work):
    alone = work(name="alone")
    for rank in range(len(alone.ranks)):
        count_rank(alone, rank)
    return merged_ranks(alone.folder, len(alone.ranks))


def counted_at(work, place, notes=None):
    told = [] if notes is None else notes
    ranks = range(len(work.ranks))
    done = list(do_ranks(place, work, COUNTING, 2, told.append))
    assert sorted(one.rank for one in done) == list(ranks)
    return merged_ranks(work.folder, len(work.ranks))


def same(one, other):
    differing = [name for name in TABLES if not getattr(one, name).equals(getattr(other, name))]
    read = [each.sources.group_by("address").agg(pl.col("documents").sum()) for each in (one, other)]
    return differing == [] and read[0].sort("address").equals(read[1].sort("address"))


def test_datatrove_counts_the_same_and_a_removed_rank_anew(work, expected, tmp_path: Path, capsys) -> None:
    mine = work(rank_bytes=10_000)
    place = CountingPlace("datatrove", str(tmp_path / "logs"), workers=1)
    assert same(counted_at(mine, place), expected)
    Path(mine.folder, "00001.parquet").unlink()  # datatrove's own marker of it is still there
    assert len(list((tmp_path / "logs/counting/completions").iterdir())) == len(mine.ranks) > 2
    assert [one.rank for one in do_ranks(place, mine, COUNTING, 1, print)] == [1]
    assert same(merged_ranks(mine.folder, len(mine.ranks)), expected)
    out, err = capsys.readouterr()
    assert out + err == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local", "datatrove", "ray"])
def test_two_processes_count_the_same_anywhere(work, expected, tmp_path: Path, name: str) -> None:
    assert same(counted_at(work(), CountingPlace(name, str(tmp_path / "logs"), workers=2)), expected)


@pytest.fixture
def on_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountingPlace:
    monkeypatch.setenv("PATH", fake_slurm(tmp_path / "slurm"))
    monkeypatch.setattr(slurm, "LOOK", 0.1)
    monkeypatch.setattr(slurm, "ASK", 0.5)
    options = {"partition": "cpu", "time": "01:00:00"}
    return CountingPlace("slurm", str(tmp_path / "logs"), slurm=options)


@pytest.mark.slow
def test_slurm_counts_the_same(work, expected, on_slurm: CountingPlace, tmp_path: Path) -> None:
    notes: list[str] = []
    assert same(counted_at(work(rank_bytes=20_000), on_slurm, notes), expected)
    assert notes == [f"Submitted job 1. Its logs are in {on_slurm.logs}/counting."]
    script = (tmp_path / "logs/counting/launch_script.slurm").read_text()
    assert "#SBATCH --partition=cpu" in script and "#SBATCH --time=01:00:00" in script


@pytest.mark.slow
def test_jobs_that_run_on_are_waited_for_and_those_that_failed_are_said(
    work, expected, on_slurm: CountingPlace, tmp_path: Path
) -> None:
    mine = work(rank_bytes=20_000)
    counting = do_ranks(on_slurm, mine, COUNTING, 1, print)
    next(counting)
    counting.close()  # whoever sent them has gone
    notes: list[str] = []
    list(do_ranks(on_slurm, mine, COUNTING, 1, notes.append))
    assert same(merged_ranks(mine.folder, len(mine.ranks)), expected)
    assert notes == ["Job 1, which was submitted earlier, is still running."]
    assert len((tmp_path / "slurm/sent").read_text().splitlines()) == 1
    gone = Path(mine.ranks[0][0].address)
    text = gone.read_text()
    Path(mine.folder, "00000.parquet").unlink()
    try:
        gone.write_text("changed")
        with pytest.raises(
            EvenhandError, match=f"1 of {len(mine.ranks)} ranks are not finished.*{gone.name}"
        ):
            list(do_ranks(on_slurm, mine, COUNTING, 1, print))
    finally:
        gone.write_text(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "requires slurm.partition and slurm.time"),
        ({"partition": "cpu", "time": "1:00", "color": "red"}, "Unknown option slurm.color"),
        ({"partition": "cpu", "time": "1:00"}, "was not found on this machine"),
    ],
)
def test_slurm_says_what_it_needs_before_anything_is_read(
    work, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    mine = work()
    with pytest.raises(UsageError, match=message):
        list(
            do_ranks(CountingPlace("slurm", str(tmp_path / "logs"), slurm=options), mine, COUNTING, 1, print)
        )
    assert kept_ranks(mine.folder, len(mine.ranks)) == set()


def dies_once(work, rank):
    mark = Path(f"{work.folder}-{rank}")
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return count_rank(work, rank)


def always_dies(work, rank):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_ray_counts_a_rank_anew_whose_process_was_killed_and_names_one_that_always_is(
    work, expected, tmp_path: Path
) -> None:
    mine = work(rank_bytes=10_000)
    place = CountingPlace("ray", str(tmp_path / "logs"), workers=2)
    with ray_cluster("ray"):
        list(do_ranks(place, mine, replace(COUNTING, run=dies_once), 2, print))
        assert len(mine.ranks) > 2 and same(merged_ranks(mine.folder, len(mine.ranks)), expected)
        Path(mine.folder, "00001.parquet").unlink()
        with pytest.raises(EvenhandError, match=r"Rank 1 was lost 5 times.*It reads .*part-"):
            list(do_ranks(place, mine, replace(COUNTING, run=always_dies), 2, print))
        Path(mine.ranks[1][0].address).rename(tmp_path / "away")
        try:
            with pytest.raises(DataError, match="was there when the work was planned, but no longer exists"):
                list(do_ranks(place, mine, COUNTING, 2, print))
        finally:
            (tmp_path / "away").rename(mine.ranks[1][0].address)
