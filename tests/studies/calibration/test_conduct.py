"""The engine: who draws it, and when, changes nothing; a kill loses a block; verdicts that do not hold are told."""

import json
from dataclasses import replace

import polars as pl
import pytest

from evenhand.benchmarks import Analysis
from evenhand.schema import DataError, Interrupted, ResumeRefused, UsageError
from evenhand.studies.calibration import calibrate
from evenhand.studies.calibration.conduct import chosen_designs
from evenhand.studies.calibration.designs import Plant
from evenhand.studies.calibration.pool import Block, draw_block, read_arm
from evenhand.studies.calibration.schedule import Arm
from tests.studies.calibration import toys

SMALL = toys.HONEST


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
    assert worst["false"] > 0.15 and "false in" in worst["why"]
    doses = study.tables()["doses"].filter(measure=toys.HONEST).sort("dose")
    assert doses["found"].is_sorted() and doses["found"][-1] > 0.95
    page = (tmp_path / "c" / "calibration.html").read_text()
    assert "does not hold" in page and "http" not in page.replace("http-equiv", "")


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

    with monkeypatch.context() as patch, pytest.raises(Interrupted, match="goes on"):
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
    with pytest.raises(ResumeRefused, match="other code"):
        calibrate(SMALL, output=tmp_path / "c", replications=2, jobs=1)


def test_a_damaged_shard_is_named(tmp_path):
    arm = Arm(f"{SMALL}: clustered", "null", Plant(), 2)
    block = Block(arm, 0, range(1))
    path = block.path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 no table")
    with pytest.raises(DataError, match="drawn again"):
        read_arm(tmp_path, arm)


def test_names_that_nothing_has_and_measures_that_only_describe_are_refused():
    with pytest.raises(UsageError, match="stereoset_ss"):
        chosen_designs(["stereoset_s"])
    with pytest.raises(UsageError, match="gives no verdict"):
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
