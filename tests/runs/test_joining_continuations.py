"""Prompts beside their continuations: a row for each expected sample, in order, with its text or its reason."""

import polars as pl
import pytest

from evenhand.models.decoding import Decoding
from evenhand.runs import (
    GenerateRequest,
    PlanPart,
    RunDirectory,
    answers,
    continuations,
    execute,
    make_plan,
    written_benchmarks,
)
from evenhand.schema import DataError

COLUMNS = ["sample", "continuation", "finish", "log_likelihood", "token_count", "error", "detail"]


def test_every_prompt_has_its_samples_in_order(written, fakes):
    texts = ["She", "He", "She", "They all"]
    _, model, directory = written(texts)
    table = answers(directory, "texts")
    assert table.columns == ["prompt_id", "text", *COLUMNS]
    expected = [
        (f"p{i}", text, sample, fakes.continuation(text, sample), "end")
        for i, text in enumerate(texts)
        for sample in (0, 1)
    ]
    assert table.select("prompt_id", "text", "sample", "continuation", "finish").rows() == expected
    assert model.batches == [["They all", "She", "He"]]
    assert table["log_likelihood"].to_list() == [-2.0 * n for n in table["token_count"]]
    assert table.equals(continuations(directory, "texts"))
    assert answers(directory, "texts", ["prompt_id"]).columns == ["prompt_id", *COLUMNS]
    assert written_benchmarks(directory) == ["texts"]


def test_what_was_never_asked_is_missing_for_every_sample(start, fakes):
    request = GenerateRequest(Decoding(max_new_tokens=9, temperature=1.0, samples=3))
    plan, _, directory = start(["a", "b"], fakes.HashWriter(), request)
    with directory.lock():
        directory.write_prompts(plan)
        directory.save()
    table = answers(directory, "texts")
    assert table.select("prompt_id", "sample", "continuation", "error").rows() == [
        (prompt, sample, None, "missing") for prompt in ("p0", "p1") for sample in range(3)
    ]


def test_a_failed_row_keeps_its_reason(written):
    _, _, directory = written(["a", " "])
    rows = answers(directory, "texts").filter(pl.col("prompt_id") == "p1")
    assert (
        rows.select("continuation", "finish", "token_count", "error", "detail").rows()
        == [(None, None, None, "empty_text", "the prompt is empty or white space")] * 2
    )


def test_group_columns_pass_through_whatever_they_are_named(tmp_path, fakes):
    model = fakes.HashWriter()
    columns = ["there", "failed", "text_id"]  # names that joins use inside
    frame = pl.DataFrame({"prompt_id": ["x"], "text": ["She"], "there": [3], "failed": [4], "text_id": [5]})
    plan = make_plan([PlanPart("b", frame, GenerateRequest(Decoding(max_new_tokens=9)))], model.fingerprint)
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    with directory.lock():
        directory.write_prompts(plan)
        directory.save()
    assert answers(directory, "b").select(*columns, "sample", "error").rows() == [(3, 4, 5, 0, "missing")]
    execute(plan, model, directory)
    assert answers(directory, "b").select(*columns, "sample", "error").rows() == [(3, 4, 5, 0, None)]


def test_scored_and_unknown_benchmarks_have_no_continuations(start):
    plan, model, directory = start(["a"])
    execute(plan, model, directory)
    for name in ("texts", "unknown"):
        with pytest.raises(DataError, match=f"has no generated text for '{name}'"):
            continuations(directory, name)
