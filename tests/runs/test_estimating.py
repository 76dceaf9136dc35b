"""Estimates: right about a model whose cost is known, and without a trace."""

import sys
import threading

import polars as pl
import pytest

from evenhand.models import Decoding
from evenhand.models.served.model import HttpModel, HttpOptions
from evenhand.runs import (
    FEW,
    GenerateRequest,
    PlanPart,
    RunDirectory,
    ScoreRequest,
    estimate,
    execute,
    make_plan,
)
from evenhand.runs.estimating import _spread
from evenhand.services.pace import Pace
from tests.helpers import bigram_service as bigram


def plan_of(frame, model, **request):
    return make_plan([PlanPart("numbered", frame, ScoreRequest(**request))], model.fingerprint)


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
    parts = [PlanPart("token", frame, ScoreRequest("token")), PlanPart("word", frame, ScoreRequest("word"))]
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


@pytest.fixture
def served(loopback):
    """Return a function that serves the bigram model, or another answer, and returns the model and its server."""
    open_servers = []

    def start(answer=None, **options):
        server = loopback.LoopbackServer(answer or bigram.BigramService()).__enter__()
        open_servers.append(server)
        given = {"store": None, "pause": 0.001, "longest_pause": 0.002, "attempts": 2, **options}
        return HttpModel(f"{server.url}/v1", bigram.NAME, HttpOptions(**given)), server

    yield start
    for server in open_servers:
        server.__exit__()


def continuations(fakes, model, n=600, samples=1):
    request = GenerateRequest(Decoding(max_new_tokens=4, temperature=1.0, samples=samples))
    return make_plan([PlanPart("numbered", fakes.numbered_prompts(n), request)], model.fingerprint)


@pytest.mark.parametrize("samples", [1, 3, 20])
def test_a_service_is_asked_a_handful_and_the_estimate_says_how_many(served, fakes, samples):
    model, server = served()
    guess = estimate(continuations(fakes, model, samples=samples), model)
    assert 4 <= guess["asked"] <= FEW
    assert len(server.asked) == 1 + guess["asked"], "a greeting, and what is owned up to"
    assert guess["tokens"] > 0
    assert guess["disk_bytes"] > 0
    assert guess["probe_errors"] == 0


@pytest.mark.parametrize(("concurrency", "rounds"), [(1, [1] * (1 + FEW)), (4, [1, 1, 4, FEW - 5])])
def test_the_time_of_a_service_is_that_of_its_concurrency(served, fakes, monkeypatch, concurrency, rounds):
    """The requests of a round are all there before the clock moves: a greeting, one request, and all others."""
    clock, service = fakes.Clock(), bigram.BigramService()
    monkeypatch.setattr(sys.modules["evenhand.runs.estimating"], "time", clock)
    barriers = [threading.Barrier(size, lambda: clock.sleep(0.03), timeout=60) for size in rounds]
    turns = iter([barrier for barrier in barriers for _ in range(barrier.parties)])

    def answer(asked):
        next(turns).wait()
        return service(asked)

    model, _ = served(answer, concurrency=concurrency)
    guess = estimate(continuations(fakes, model), model)
    assert guess["seconds"] == pytest.approx(600 * 0.03 / concurrency)


def test_a_limit_of_requests_a_minute_rules_time_and_probe(served, fakes):
    model, server = served(per_minute=60, concurrency=8)
    model.client._pace = Pace()  # no test waits for a minute
    guess = estimate(continuations(fakes, model), model, seconds=3.0)
    assert guess["asked"] == len(server.asked) - 1 <= 3
    assert guess["seconds"] == pytest.approx(600)


def test_likelihoods_of_a_service_cost_the_check_and_a_handful(served, fakes):
    model, server = served(start="she")
    guess = estimate(plan_of(fakes.numbered_prompts(300), model), model)
    assert len(server.asked) - 1 == guess["asked"] <= FEW + 11


@pytest.mark.parametrize("status", [400, 401, 503])
def test_a_service_that_goes_down_or_refuses_leaves_an_estimate_without_a_time(served, fakes, status):
    greeted, service = [], bigram.BigramService()

    def down(asked):
        greeted.append(asked)
        return service(asked) if len(greeted) == 1 else (status, {"error": "closed today"})

    model, server = served(answer=down)
    guess = estimate(continuations(fakes, model), model)
    assert guess["seconds"] is None
    assert guess["tokens"] is None
    assert "closed today" in guess["not_estimated"]
    assert len(server.asked) <= 3


def test_answers_that_were_kept_give_no_time(served, fakes, tmp_path):
    model, _ = served(store=str(tmp_path / "answers.sqlite"))
    plan = continuations(fakes, model, n=3)
    assert estimate(plan, model)["seconds"] > 0
    again = estimate(plan, model)
    assert again["asked"] == 0
    assert again["seconds"] is None
    assert "already stored from an earlier run" in again["not_estimated"]
    assert again["tokens"] > 0


@pytest.mark.parametrize("empty", [0, 1, 3])
def test_a_server_that_counts_no_tokens_gives_none(served, fakes, empty):
    """Also where some of its answers are empty, of which it is known that they have none."""
    service, left = bigram.BigramService(), [empty]

    def uncounted(asked):
        status, body = service(asked)
        for choice in body.get("choices", []):
            if left[0] > 0 and len(served_questions) > 1:
                left[0] -= 1
                choice |= {"text": "", "finish_reason": "stop"}
        served_questions.append(asked)
        return status, {name: value for name, value in body.items() if name != "usage"}

    served_questions: list[object] = []
    model, _ = served(answer=uncounted)
    assert estimate(continuations(fakes, model), model)["tokens"] is None
