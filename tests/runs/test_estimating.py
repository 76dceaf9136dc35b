"""Estimates: right about a model whose cost is known, and without a trace."""

import sys

import polars as pl
import pytest

from evenhand.runs import Part, RunDirectory, ScoreRequest, estimate, execute, make_plan
from evenhand.runs.estimating import _spread


def plan_of(frame, model, **request):
    return make_plan([Part("numbered", frame, ScoreRequest(**request))], model.fingerprint)


def test_counts_tokens_time_and_disk_are_near_the_truth(fakes, tmp_path, monkeypatch):
    clock = fakes.Clock()
    monkeypatch.setattr(sys.modules["evenhand.runs.estimating"], "time", clock)
    model = fakes.HashModel(lambda texts: clock.sleep(0.01 + 0.0005 * len(texts)))
    plan = plan_of(fakes.numbered_prompts(6000, distinct=4000), model)
    guess = estimate(plan, model, seconds=0.6)
    assert (guess["requests"], guess["distinct_requests"]) == (6000, 4000)
    assert guess["probe_requests"] < 2500
    assert guess["probe_errors"] == 0
    assert guess["probe_seconds"] <= 0.6
    # The last round's share of a batch's fixed cost is part of its rate: rather too long than too short.
    assert 4000 * 0.0005 < guess["seconds"] < 4000 * 0.0005 * 1.1

    quick = fakes.HashModel()
    directory = RunDirectory.create(tmp_path / "run", model=quick, given={}, resolved={})
    outcome = execute(plan, quick, directory)
    assert guess["tokens"] == pytest.approx(outcome.tokens, rel=0.15)
    disk = sum(path.stat().st_size for path in directory.path.rglob("*.parquet"))
    assert disk / 2 < guess["disk_bytes"] < disk * 2


def test_one_request_and_several_maskings_can_be_estimated(fakes):
    model = fakes.HashModel()
    assert estimate(plan_of(fakes.numbered_prompts(1), model), model)["distinct_requests"] == 1
    frame = fakes.numbered_prompts(40)
    parts = [Part("token", frame, ScoreRequest("token")), Part("word", frame, ScoreRequest("word"))]
    assert estimate(make_plan(parts, model.fingerprint), model)["distinct_requests"] == 80


def test_errors_of_the_probe_are_counted(fakes):
    model = fakes.HashModel()
    frame = pl.DataFrame({"prompt_id": ["a", "b", "c"], "text": ["", "x", "y"]})
    assert estimate(plan_of(frame, model), model)["probe_errors"] >= 1


@pytest.mark.parametrize(("height", "size"), [(1, 1), (5, 3), (100, 8), (100, 100), (4097, 4096)])
def test_a_round_is_spread_over_the_whole_plan(height, size):
    rows = _spread(pl.DataFrame({"i": range(height)}), size)["i"].to_list()
    assert size - 3 <= len(rows) <= size
    assert rows == sorted(set(rows))
    assert rows[0] == 0
    assert size < 4 or rows[-1] == height - 1
