"""The engine: who draws it, and when, changes nothing; a kill loses a block; verdicts that do not hold are told."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks import Analysis
from evenhand.runs import Silence
from evenhand.schema import DataError, Interrupted, ResumeRefused, UsageError
from evenhand.studies.calibration import calibrate
from evenhand.studies.calibration.conduct import chosen_designs
from evenhand.studies.calibration.designs import Plant
from evenhand.studies.calibration.pool import Block, draw_block, read_arm
from evenhand.studies.calibration.schedule import Arm
from tests.studies.calibration import toys

SMALL = toys.HONEST
OURS = "stereoset: term SD 0, gender"
"""A quick design of one measure."""


@pytest.fixture(autouse=True)
def toy(installed):
    toys.register(installed)


def rows(study):
    return {name: table.to_dicts() for name, table in study.tables().items()}


def test_an_honest_measure_passes_and_one_that_forgets_clusters_fails(tmp_path):
    study = calibrate([toys.HONEST, toys.CARELESS], output=tmp_path / "c", replications=40, jobs=1)
    told = {row["measure"]: row for row in study.measures.to_dicts()}
    assert told[toys.HONEST]["failing"] == 0 and told[toys.HONEST]["designs"] == 3
    assert told[toys.CARELESS]["fails_in"] == [f"{toys.CARELESS}: clustered"]
    worst = study.designs.filter(design=f"{toys.CARELESS}: clustered").row(0, named=True)
    assert worst["false"] > 0.15 and "false-positive rate" in worst["why"]
    doses = study.tables()["doses"].filter(measure=toys.HONEST).sort("dose")
    assert doses["found"].is_sorted() and doses["found"][-1] > 0.95
    page = (tmp_path / "c" / "calibration.html").read_text()
    assert '<span class="badge biased">fails</span>' in page and "http" not in page.replace("http-equiv", "")


def test_results_depend_neither_on_processes_nor_on_blocks(tmp_path):
    one = calibrate(SMALL, output=tmp_path / "one", replications=4, jobs=1)
    two = calibrate(SMALL, output=tmp_path / "two", replications=4, jobs=2)
    assert rows(one) == rows(two)
    assert (tmp_path / "one/calibration.json").read_bytes() == (
        tmp_path / "two/calibration.json"
    ).read_bytes()


def test_more_replications_keep_those_there_were(tmp_path):
    few = calibrate(SMALL, output=tmp_path / "few", replications=2, jobs=1)
    more = calibrate(SMALL, output=tmp_path / "more", replications=5, jobs=1)
    arms = [next((a, t) for a, t in study.drawn.arms if a.kind == "null") for study in (few, more)]
    assert arms[0][1].equals(arms[1][1].filter(pl.col("replication") < 2))


def test_a_killed_calibration_goes_on_and_ends_the_same(tmp_path, monkeypatch):
    whole = calibrate(SMALL, output=tmp_path / "whole", replications=6, jobs=1)
    drawn = []

    def dies(folder, block, seed):
        if len(drawn) == 3:
            raise KeyboardInterrupt
        drawn.append(block)
        return draw_block(folder, block, seed)

    killed = tmp_path / "killed"
    told = re.escape(
        f"The finished simulations are in {killed}. To resume, run the same command with -o {killed}."
    )
    with monkeypatch.context() as patch, pytest.raises(Interrupted, match=told):
        patch.setattr("evenhand.studies.calibration.pool.draw_block", dies)
        calibrate(SMALL, output=tmp_path / "killed", replications=6, jobs=1)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "killed/replications").rglob("*.parquet")}
    assert len(kept) == 3
    again = calibrate(SMALL, output=tmp_path / "killed", replications=6, jobs=1)
    assert rows(again) == rows(whole)
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())


def test_other_options_or_other_code_are_refused(tmp_path):
    calibrate(SMALL, output=tmp_path / "c", replications=2, jobs=1)
    with pytest.raises(ResumeRefused, match="replications"):
        calibrate(SMALL, output=tmp_path / "c", replications=3, jobs=1)
    record = tmp_path / "c" / "calibration-options.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"code": "0"}))
    with pytest.raises(
        ResumeRefused, match=r"Cannot resume the calibration .*: the code of measures or designs has changed"
    ):
        calibrate(SMALL, output=tmp_path / "c", replications=2, jobs=1)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda rows: rows.drop("covered"), "is damaged: unexpected columns covered"),
        (
            lambda rows: rows.with_columns(pl.col("rows").cast(pl.Float64)),
            "is damaged: unexpected columns rows",
        ),
        (lambda rows: rows.head(1), "is damaged: 1 rows found, but 1 for each of 2 replications"),
        (
            lambda rows: pl.concat([rows.head(1)] * 2),
            "is damaged: 2 rows found, but 1 for each of 2 replications",
        ),
        (
            lambda rows: rows.with_columns(pl.col("replication") + 7),
            "is damaged: it does not contain the replications 0 to 1",
        ),
        (None, "cannot be read"),
    ],
)
def test_a_damaged_shard_is_named(tmp_path, damage, told):
    arm = Arm(OURS, "null", Plant(), 16)
    block = Block(arm, 0, range(2))
    assert draw_block(tmp_path, block, 0).failure is None and read_arm(tmp_path, arm).height == 2
    path = block.path(tmp_path)
    if damage is None:
        path.write_bytes(b"PAR1 no table")
    else:
        damage(pl.read_parquet(path)).write_parquet(path)
    with pytest.raises(DataError, match=told) as error:
        read_arm(tmp_path, arm)
    assert "drawn again" in str(error.value.hint)


def test_a_kill_loses_little_however_many_replications_there_are():
    parts = [part for _, part in Arm("any", "null", Plant(), 100_000).blocks()]
    assert max(map(len, parts)) == 25 and [i for part in parts for i in part] == list(range(100_000))
    with pytest.raises(UsageError, match="100,000"):
        calibrate(SMALL, replications=100_001)


def test_names_that_nothing_has_and_measures_that_only_describe_are_refused():
    with pytest.raises(UsageError, match="stereoset_ss"):
        chosen_designs(["stereoset_s"])
    with pytest.raises(UsageError, match="bias_score_published has no verdict to check, or no simulation"):
        chosen_designs(["bias_score_published"])
    assert len(chosen_designs(["crows-pairs", "crows_pairs"])[0]) == 3


def test_what_cannot_be_simulated_says_why(monkeypatch):
    tall = replace(toys.HONEST_BENCHMARK, required_columns=("axis", "height"))
    monkeypatch.setattr(toys, "HONEST_BENCHMARK", tall)
    with pytest.raises(UsageError, match=r"height.*evenhand\.calibrations"):
        chosen_designs([toys.HONEST])
    assert toys.HONEST in chosen_designs([])[1]


def test_a_measure_that_fails_in_one_design_is_told_and_the_others_go_on(tmp_path, monkeypatch):
    def analyse(frame, options):
        if frame["group"].n_unique() == 20:
            raise ValueError("too many groups for me")
        return Analysis(toys.rows(frame, toys.HONEST))

    monkeypatch.setattr(toys, "HONEST_BENCHMARK", replace(toys.HONEST_BENCHMARK, analyse=analyse))
    study = calibrate(SMALL, output=tmp_path / "c", replications=2, jobs=1)
    assert study.drawn.failed == {f"{SMALL}: many groups": "ValueError: too many groups for me"}
    assert set(study.designs["design"]) == {f"{SMALL}: groups alike", f"{SMALL}: clustered"}


def test_no_more_processes_than_cores(tmp_path, monkeypatch):
    class Notes(Silence):
        def __init__(self):
            self.notes = []

        def note(self, message):
            self.notes.append(message)

    monkeypatch.setattr("os.cpu_count", lambda: 1)
    told = Notes()
    calibrate(SMALL, output=tmp_path / "c", replications=2, jobs=5000, progress=told)
    assert told.notes == ["This machine has 1 core: 1 process instead of 5000."]


@pytest.mark.parametrize("stop", [SystemExit("enough"), GeneratorExit("enough")])
def test_a_measure_that_ends_the_program_is_told_and_the_others_go_on(tmp_path, monkeypatch, stop):
    def analyse(frame, options):
        raise stop

    monkeypatch.setattr(toys, "HONEST_BENCHMARK", replace(toys.HONEST_BENCHMARK, analyse=analyse))
    study = calibrate([toys.HONEST, toys.CARELESS], output=tmp_path / "c", replications=2, jobs=1)
    assert f"{type(stop).__name__}: enough" in study.drawn.failed[f"{toys.HONEST}: clustered"]
    assert study.measures["measure"].to_list() == [toys.CARELESS]


def script(tmp_path, call):
    """A program that calibrates in two processes with a design that sleeps, or worse."""
    file = tmp_path / "program.py"
    file.write_text(f"""
import os, signal, sys, time
from pathlib import Path

def instead(design, plant, number, *names):
    Path({str(tmp_path)!r}, f"worker-{{os.getpid()}}").touch()
    {call}

from evenhand.studies.calibration import pool
pool.record, pool.find_design = instead, str
if __name__ == "__main__":
    from evenhand.runs import resumable
    from evenhand.schema import EvenhandError
    from evenhand.studies.calibration.designs import Plant
    from evenhand.studies.calibration.schedule import Arm
    folder = Path({str(tmp_path)!r}) / "study"
    blocks = pool.list_missing_blocks([Arm("any", "null", Plant(), 32)], folder)
    try:
        with resumable("Go on."):
            list(pool.simulate_blocks(folder, blocks, 0, 2))
    except EvenhandError as error:
        print(type(error).__name__, error.message, error.hint)
""")
    return subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, text=True)


def within(seconds, what):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def workers(tmp_path):
    return [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]


def alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc who lives")


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_the_calibration(tmp_path, number):
    program = script(tmp_path, "time.sleep(300)")
    within(60, lambda: len(workers(tmp_path)) == 2)
    program.send_signal(number)
    out, _ = program.communicate(timeout=60)
    within(60, lambda: not any(map(alive, workers(tmp_path))))
    if number != signal.SIGKILL:
        assert (
            program.returncode == 0
            and "Interrupted Stopped between two steps. All results so far are saved. Go on." in out
        )


def test_a_worker_that_dies_says_how_to_go_on(tmp_path):
    out, _ = script(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)").communicate(timeout=60)
    assert (
        out.startswith("EvenhandError A worker process was killed or crashed")
        and "fewer --jobs (now 2)" in out
    )
    assert str(tmp_path / "study") in out
