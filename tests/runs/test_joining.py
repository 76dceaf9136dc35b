"""Prompts beside their answers: every prompt once, in order, with its number or its reason."""

import json
import math

import polars as pl
import pytest

from evenhand.models.decoding import Decoding
from evenhand.runs import GenerateRequest, PlanPart, RunDirectory, ScoreRequest, answers, execute, make_plan
from evenhand.schema import DataError


def test_each_prompt_has_the_values_of_its_text(start, fakes):
    texts = ["b", "a", "", "b", "c"]
    plan, model, directory = start(texts)
    execute(plan, model, directory)
    table = answers(directory, "texts")
    assert table["text"].to_list() == texts
    assert table.columns == [
        "prompt_id",
        "text",
        "log_likelihood",
        "token_count",
        "perplexity",
        "error",
        "detail",
    ]
    for text, total, count, perplexity, error in table.select(
        "text", "log_likelihood", "token_count", "perplexity", "error"
    ).rows():
        if not text:
            assert (total, count, perplexity, error) == (None, None, None, "empty_text")
            continue
        values = fakes.token_values(text, None, None, None)
        assert (total, count, error) == (sum(values), len(values), None)
        assert perplexity == pytest.approx(math.exp(-sum(values) / len(values)), rel=1e-12)


def test_what_was_never_asked_is_missing_not_zero(start):
    plan, _, directory = start(["a", "b"])
    with directory.lock():
        directory.write_prompts(plan)
    assert answers(directory, "texts").select("log_likelihood", "perplexity", "error").rows() == [
        (None, None, "missing"),
        (None, None, "missing"),
    ]


def test_tokens_come_only_where_the_benchmark_keeps_them(tmp_path, fakes):
    model, frame = fakes.HashModel(), pl.DataFrame({"prompt_id": ["x", "y"], "text": ["a", "b"]})
    parts = [PlanPart("plain", frame), PlanPart("keep", frame[:1], ScoreRequest(keep_tokens=True))]
    plan = make_plan(parts, model.fingerprint)
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    execute(plan, model, directory)
    assert model.batches == [["a", "b"]]
    reopened = RunDirectory.open(directory.path)
    kept = answers(reopened, "keep")
    assert kept["token_log_likelihoods"].to_list() == [fakes.token_values("a", None, None, None)]
    assert len(kept["token_starts"][0]) == kept["token_count"][0]
    assert "token_ids" not in answers(reopened, "plain").columns


def test_group_columns_pass_through_whatever_they_are_called(tmp_path, fakes):
    model = fakes.HashModel()
    frame = pl.DataFrame({"prompt_id": ["x"], "text": ["a"], "found": [3], "axis": ["age"]})
    plan = make_plan([PlanPart("b", frame)], model.fingerprint)
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    execute(plan, model, directory)
    assert answers(directory, "b").select("found", "axis").rows() == [(3, "age")]


def test_turns_of_prompts_that_are_no_conversations_are_refused(tmp_path, fakes):
    model, frame = fakes.HashModel(), pl.DataFrame({"prompt_id": ["x"], "text": ["a"]})
    plan = make_plan([PlanPart("b", frame, GenerateRequest(Decoding(max_new_tokens=2)))], model.fingerprint)
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    with directory.lock():
        directory.write_prompts(plan)
    file = tmp_path / "run" / "manifest.json"
    content = json.loads(file.read_text())
    content["asked"] = {"b": {"prompts": 1, "decoding": {"samples": 1}, "turns": 3}}
    file.write_text(json.dumps(content))
    with pytest.raises(
        DataError,
        match="states 3 turns for 'b', but the stored prompts of this benchmark are not conversations",
    ):
        answers(RunDirectory.open(tmp_path / "run"), "b")
