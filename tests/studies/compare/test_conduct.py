"""Comparisons: planted changes are named, none are invented, and other programs' real files are read."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.schema import DataError, UsageError
from evenhand.studies.compare.conduct import compare_outputs as compare
from evenhand.studies.compare.outputs import BenchmarkOutputs, Outputs, read_outputs

DATA = Path(__file__).parent / "data"
LM_EVAL = DATA / "samples_harm_demo_2026-11-20T22-06-48.029750.jsonl"
GROUPS = [(axis, f"{axis} {i}") for axis in ("age", "faith") for i in range(5)]


def outputs(name: str, rates: dict[str, float], seed: int, judge: str = "j", prompts: int = 30) -> Outputs:
    """Answers whose prompts differ in how harmful they are, in the same way for every model."""
    rows, prompt_effect = [], np.random.default_rng(99)
    draws = np.random.default_rng(seed)
    for axis, group in GROUPS:
        for k in range(prompts):
            shift = prompt_effect.normal(0, 0.1)
            for sample in range(3):
                harmful = draws.random() < np.clip(rates.get(group, 0.3) + shift, 0, 1)
                rows.append((f"{group}/{k}", sample, f"{group} was", axis, group, float(harmful)))
    columns = ["prompt_id", "sample", "text", "axis", "group", "toxicity"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return Outputs(
        name, Path(f"{name}.run"), {"bold": BenchmarkOutputs(frame, ("toxicity",), {"toxicity": judge})}
    )


def test_a_planted_change_is_found_where_it_is() -> None:
    before = outputs("base", {}, 1)
    after = outputs("calmer", {"faith 2": 0.02}, 2)
    changes = compare(before, after).changes
    groups = changes.drop_nulls("group")
    harmful = groups.filter(outcome="toxicity")
    assert harmful.filter(pl.col("verdict") == "lower")["group"].to_list() == ["faith 2"]
    assert not harmful.filter(pl.col("verdict") == "higher", axis="age").height
    row = harmful.filter(group="faith 2").row(0, named=True)
    assert row["low"] < row["estimate"] < row["high"] < 0 and row["n"] == 90 and row["n_units"] == 30


@pytest.mark.slow
def test_equal_models_rarely_differ() -> None:
    false = 0
    for seed in range(30):
        changes = compare(outputs("a", {}, 2 * seed), outputs("b", {}, 2 * seed + 1)).changes
        false += changes.filter(pl.col("verdict").is_in(["lower", "higher", "changed"])).height > 0
    assert false <= 6  # three families at 5 % each: 4.5 of 30 audits expected at most


def test_a_run_compared_with_itself_is_noted(tmp_path) -> None:
    (tmp_path / "a.run").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    one = replace(outputs("a", {}, 1), source=tmp_path / "a.run")
    same = replace(one, source=tmp_path / "link" / "a.run")
    note = "a and a (2) are the same folder or file: every change is 0 by construction."
    assert compare(one, same, outputs("b", {}, 2), names=["a", "a (2)", "b"]).notes == (note,)
    assert compare(one, outputs("b", {}, 2)).notes == ()


def test_the_summary_is_one_row_for_each_model() -> None:
    result = compare(outputs("a", {"age 0": 0.9}, 1), outputs("b", {}, 2), outputs("c", {}, 3))
    assert result.names == ("a", "b", "c")
    assert result.summary["model"].to_list() == ["a", "b", "c"]
    assert result.summary["largest_group"][0] == "age 0"
    assert set(result.changes["model"]) == {"b", "c"}
    for row in result.summary.iter_rows(named=True):
        assert row["low"] < row["rate"] < row["high"] and row["n"] == 900


def test_same_names_are_told_apart_and_given_names_are_taken() -> None:
    one, two = outputs("m", {}, 1), outputs("m", {}, 2)
    two = Outputs("m", Path("later.run"), two.benchmarks)
    assert compare(one, two).names == ("m (m)", "m (later)")
    assert compare(one, two, names=["old", "new"]).names == ("old", "new")


def test_folders_whose_names_hold_a_full_stop_are_told_apart(tmp_path: Path) -> None:
    folders = [tmp_path / f"temperature-0.{tenth}" for tenth in (5, 7)]
    for folder in folders:
        folder.mkdir()
    one, two = (replace(outputs("m", {}, 1), source=folder) for folder in folders)
    assert compare(one, two).names == ("m (temperature-0.5)", "m (temperature-0.7)")


def test_answers_without_partner_are_counted_not_dropped_in_silence() -> None:
    one, two = outputs("a", {}, 1), outputs("b", {}, 2)
    frame = two.benchmarks["bold"].frame[:-7]
    two = Outputs("b", two.source, {"bold": BenchmarkOutputs(frame, ("toxicity",), {})})
    assert any("7 responses of a" in note for note in compare(one, two).notes)


def test_missing_judgements_are_counted() -> None:
    one, two = outputs("a", {}, 1), outputs("b", {}, 2)
    failed = two.benchmarks["bold"].frame.with_columns(
        toxicity=pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise("toxicity")
    )
    two = Outputs("b", two.source, {"bold": BenchmarkOutputs(failed, ("toxicity",), {})})
    whole = compare(one, two).changes.filter(pl.col("axis").is_null())
    assert whole["n_missing"].to_list() == [5]


def test_lm_evals_own_file() -> None:
    found = read_outputs(LM_EVAL, "dummy")
    frame = found.benchmarks["harm_demo"].frame
    assert frame.select("prompt_id", "text", "group", "harmful").rows() == [
        ("0", "The man was", "man", 1.0),
        ("1", "The woman was", "woman", 1.0),
        ("2", "The boy was", "man", 1.0),
    ]
    changes = compare(found, read_outputs(LM_EVAL, "again")).changes
    assert changes.filter(pl.col("axis").is_null() & pl.col("group").is_null())["estimate"].to_list() == [0.0]


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        (
            "log.json",
            {"eval": {}, "samples": [{"input": "a", "scores": {"s": {"value": 1}}}]},
            "samples.0.id",
        ),
        ("log.json", {"eval": {}, "samples": [{"id": 1, "scores": {"s": 1}}]}, "samples.0.scores.s"),
        ("log.json", {"eval": {}, "samples": [{"id": 1, "epoch": "second"}]}, "samples.0.epoch"),
        ("log.json", {"eval": [], "samples": []}, "eval"),
        ("log.json", {"eval": {}, "samples": "none"}, "samples"),
        ("log.json", {"scores": ["high"]}, "0"),
        ("samples_task_1.jsonl", {"resps": [["a"]]}, "0.doc_id"),
        ("samples_task_1.jsonl", {"doc_id": 1, "resps": [["a"]], "arguments": "x"}, "0.arguments"),
        ("samples_task_1.jsonl", {"doc_id": 1, "resps": [["a"]], "metrics": 3}, "0.metrics"),
    ],
)
def test_a_foreign_log_of_another_shape_is_refused_with_its_place(
    tmp_path: Path, name: str, content: dict[str, object], place: str
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=f"{name} is not .*: {place}"):
        read_outputs(path)


def test_inspects_own_logs_of_both_kinds() -> None:
    pytest.importorskip("zstandard")
    as_json, archive = (read_outputs(DATA / f"inspect_log.{kind}") for kind in ("json", "eval"))
    for found in (as_json, archive):
        assert found.name == "mockllm/model"
        frame = found.benchmarks["t"].frame.sort("prompt_id", "sample")
        assert frame.select("prompt_id", "sample", "group", "harm", "match").rows() == [
            ("2", 0, "woman", 0.0, 0.0),
            ("2", 1, "woman", 0.0, 0.0),
            ("p1", 0, "man", 0.0, 0.0),
            ("p1", 1, "man", 0.0, 0.0),
        ]


def test_robbies_own_layout(tmp_path: Path) -> None:
    scores = [
        {
            "score": 0.9,
            "label": "1",
            "prompt": "p",
            "prediction": "p x",
            "meta": {"axis": "age", "descriptor": "old"},
        },
        {
            "score": 0.1,
            "label": "0",
            "prompt": "p",
            "prediction": "p y",
            "meta": {"axis": "age", "descriptor": "old"},
        },
        {
            "score": -1,
            "label": "",
            "prompt": "q",
            "prediction": "q z",
            "meta": {"axis": "age", "descriptor": "young"},
        },
    ]
    path = tmp_path / "scores.d__bold.p__facebook_opt.m__perspective.json"
    path.write_text(json.dumps({"scores": scores, "stats": {}}))
    found = read_outputs(path)
    assert found.name == "facebook_opt" and found.benchmarks["bold"].classifiers["negative"] == "perspective"
    frame = found.benchmarks["bold"].frame
    assert frame.select("prompt_id", "sample", "group", "negative", "score").rows() == [
        ("p", 0, "old", 1.0, 0.9),
        ("p", 1, "old", 0.0, 0.1),
        ("q", 0, "young", None, None),
    ]


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    one = outputs("a", {}, 1)
    with pytest.raises(UsageError, match="at least two"):
        compare(one)
    with pytest.raises(UsageError, match="1 names"):
        compare(one, one, names=["x"])
    with pytest.raises(DataError, match="from the classifier j, but that of b from k"):
        compare(one, outputs("b", {}, 2, judge="k"))
    other = Outputs("b", Path("b"), {"regard": one.benchmarks["bold"]})
    with pytest.raises(DataError, match="has responses to bold, and b to regard"):
        compare(one, other)
    frame = one.benchmarks["bold"].frame.with_columns(text=pl.lit("another prompt"))
    with pytest.raises(DataError, match="different prompts under one prompt_id"):
        compare(one, Outputs("b", Path("b"), {"bold": BenchmarkOutputs(frame, ("toxicity",))}))
    with pytest.raises(DataError, match="does not exist"):
        read_outputs(tmp_path / "nothing")
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataError, match="not in a known format"):
        read_outputs(tmp_path / "x.json")
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(DataError, match="not a samples file of lm_eval"):
        read_outputs(tmp_path / "x.jsonl")


def test_rates_near_zero_have_limits_that_can_be() -> None:
    never = outputs("never", {group: 0.0 for _, group in GROUPS}, 1)
    frame = never.benchmarks["bold"].frame.with_columns(toxicity=pl.lit(0.0))
    never = Outputs("never", never.source, {"bold": BenchmarkOutputs(frame, ("toxicity",))})
    row = compare(never, outputs("b", {}, 2)).summary.row(0, named=True)
    assert row["low"] == row["rate"] == 0.0 and 0 < row["high"] < 0.05
