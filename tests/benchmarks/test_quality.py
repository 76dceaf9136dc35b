"""quality and realtoxicityprompts: descriptions without verdicts, each with its known value."""

import json
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, load_benchmark
from evenhand.schema import ChecksumMismatch, DatasetMissing
from tests.helpers.judged_frames import failed, judged, verdicts

QUALITY, TOXICITY = load_benchmark("quality"), load_benchmark("realtoxicityprompts")


def estimates(benchmark, frame: pl.DataFrame) -> dict[tuple[str, str | None], float | None]:
    rows = benchmark.analyse(frame, AnalysisOptions()).measurements
    return {(row.measure, row.stratum): row.estimate for row in rows if row.axis is None}


def texts(continuations: list[str | None]) -> pl.DataFrame:
    n = len(continuations)
    return pl.DataFrame(
        {
            "prompt_id": [str(i) for i in range(n)],
            "text": ["He wrote."] * n,
            "cluster": [str(i % 3) for i in range(n)],
            "continuation": continuations,
            "log_likelihood": [-6.0 if text else None for text in continuations],
            "token_count": pl.Series([3 if text else None for text in continuations], dtype=pl.UInt32),
            "error": [None if text is not None else "model_error" for text in continuations],
        }
    )


def test_quality_of_known_texts() -> None:
    frame = texts(["a b c d e", "a b c d a b c d", "", "I'm sorry, but I can't help with that.", None, "x y"])
    got = estimates(QUALITY, frame)
    assert got["empty_rate", None] == 20.0 and got["refusal_rate", None] == 20.0
    assert got["own_perplexity", None] == pytest.approx(7.389, abs=1e-3)  # e to the 2 nats a token
    assert ("judge_perplexity", None) not in got
    with_judge = frame.with_columns(perplexity_score=pl.Series([10.0, 1000.0, None, None, None, None]))
    assert estimates(QUALITY, with_judge)["judge_perplexity", None] == pytest.approx(100.0)


def test_quality_gives_no_verdict_and_counts_what_is_missing() -> None:
    frame = texts(["a b c", None, None])
    _, measured, findings = verdicts(QUALITY, frame)
    assert findings.is_empty()
    assert measured.filter(pl.col("measure") == "own_perplexity").select("n", "n_missing").rows() == [(1, 2)]
    nothing = texts([None] * 4)
    assert estimates(QUALITY, nothing)["own_perplexity", None] is None


@pytest.mark.parity
def test_quality_prompts(shared: Path) -> None:
    asked = QUALITY.build({"wikitext": shared / "data/wikitext2"})
    assert 350 < len(asked) < 450
    part = QUALITY.sample(asked, 60, seed=0).frame
    assert part.height == 60 and part["cluster"].n_unique() == asked.frame["cluster"].n_unique()


def test_a_fuller_wikitext_of_the_user_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "wiki.test.raw").write_text(
        " = Somebody = \n \n She was a poet of some renown in the town of Ghent . She died . \n",
        encoding="utf-8",
    )
    assert QUALITY.build({"wikitext": tmp_path}).frame["text"].to_list() == [
        "She was a poet of some renown in the town of Ghent."
    ]
    (tmp_path / "wiki.test.raw").rename(tmp_path / "test.txt")
    with pytest.raises(ChecksumMismatch):
        QUALITY.build({"wikitext": tmp_path})
    with pytest.raises(DatasetMissing):
        QUALITY.build({"wikitext": tmp_path / "nowhere"})


def beginnings(scored: bool) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt_id": [str(i) for i in range(40)],
            "text": [f"beginning {i}" for i in range(40)],
            "challenging": [i % 2 == 0 for i in range(40)],
            "prompt_toxicity": [(0.9 if i % 2 == 0 else 0.1) if scored else None for i in range(40)],
        },
        schema_overrides={"prompt_toxicity": pl.Float64},
    )


@pytest.mark.parametrize("scored", [True, False])
def test_toxicity_by_what_was_read(scored: bool) -> None:
    frame = judged(beginnings(scored), "toxicity", lambda f: pl.col("challenging").cast(pl.Float64))
    got = estimates(TOXICITY, frame)
    assert got["negative_rate", None] == 50.0
    assert (got["negative_rate", "benign"], got["negative_rate", "toxic"]) == (0.0, 100.0)
    assert got["prompt_toxicity_gap", None] == 100.0
    assert ("negative_rate", "0.75-1") in got or not scored
    assert verdicts(TOXICITY, frame)[2].is_empty(), "no group is compared"
    assert ("expected_maximum_toxicity", None) not in got, "one sample has no maximum"


def test_expected_maximum_over_samples() -> None:
    frame = judged(beginnings(True), "toxicity", 0.5, 4).with_columns(
        toxicity_score=pl.col("sample").cast(pl.Float64) / 10, toxicity_negative=pl.col("sample") == 3
    )
    got = estimates(TOXICITY, frame)
    assert got["expected_maximum_toxicity", "4 samples"] == pytest.approx(0.3)
    assert got["toxicity_probability", "4 samples"] == 100.0


def test_nothing_judged_is_counted() -> None:
    frame = failed(judged(beginnings(False), "toxicity"), "toxicity", pl.lit(True), "quota")
    _, measured, _ = verdicts(TOXICITY, frame)
    assert measured.filter(pl.col("measure") == "negative_rate").select("estimate", "n_missing").rows() == [
        (None, 40)
    ]


def test_the_owners_file_is_taken_without_its_toxic_prompts(tmp_path: Path) -> None:
    lines = [
        {"prompt": {"text": "Well", "toxicity": score}, "challenging": False} for score in (0.1, 0.9, None)
    ]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    assert TOXICITY.build({"realtoxicityprompts": tmp_path}).frame["prompt_id"].to_list() == ["0"]


@pytest.mark.parity
def test_the_extract(shared: Path) -> None:
    asked = TOXICITY.build({"realtoxicityprompts": shared / "data/realtoxicityprompts"})
    assert dict(asked.frame["challenging"].value_counts().rows()) == {True: 1199, False: 1199}
    part = TOXICITY.sample(asked, 100, seed=0).frame
    assert part["challenging"].sum() == 50
