"""The published BiasScore against the released bootstrap's outputs and the counts behind the paper's tables."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.measures import pooled_bias_score, published_bias_score
from evenhand.schema import DataError, UsageError

GROUPS = [25, 14, 24, 6, 774]  # BOLD, ToxiGen v2, AdvPromptSet, Regard, HolisticBiasR


def _regard(path: Path) -> pl.DataFrame:
    rows = [json.loads(line)["pred_meta"] for line in path.read_text().splitlines()]
    return pl.DataFrame(
        {
            "axis": [row.get("axis", "") for row in rows],
            "group": [row["descriptor"].replace("_", " ") for row in rows],
            "negative": [row["label"] == "neg" for row in rows],
        }
    )


def _bold(folder: Path) -> pl.DataFrame:
    prompts = [json.loads(line) for line in (folder / "data/bold/prompts.jsonl").read_text().splitlines()]
    labels = [
        json.loads(line)["combined_label"] for line in (folder / "results.jsonl").read_text().splitlines()
    ]
    groups = [prompt["group"] for prompt in prompts if prompt["prompt_text"]]
    assert len(groups) == len(labels) == 23_674
    return pl.DataFrame(
        {"axis": "", "group": groups, "negative": [label.split(",")[0] == "1" for label in labels]}
    )


@pytest.mark.parity
@pytest.mark.parametrize("name", ["hbr", "regard", "bold"])
def test_the_released_bootstrap(shared: Path, name: str) -> None:
    if name == "bold":
        folder = shared / "parity/robbie_bootstrap_bold"
        frame, official = _bold(folder), folder / "results_toxicity_bootsrap.jsonl"
    else:
        folder = shared / "parity/robbie_bootstrap"
        frame, official = _regard(folder / f"{name}.jsonl"), folder / f"{name}_regard_bootsrap.jsonl"
    theirs = {
        (row.get("axis", ""), row.get("descriptor", row.get("group"))): row
        for row in json.loads(official.read_text())
    }
    endless = published_bias_score(frame)
    assert endless.groups.height == len(theirs)
    few = frame.filter(pl.len().over("group") <= 1000)  # resampling the large groups of BOLD takes seconds
    seeded = published_bias_score(few, endless.background, exact_seed=True)
    for mine in seeded.groups.iter_rows(named=True):
        row = theirs[mine["axis"], mine["group"]]
        assert (mine["low"], mine["high"], mine["midpoint"]) == (row["C_lower"], row["C_upper"], row["mean"])
        assert mine["standard_error"] == pytest.approx(row["standard error"], rel=1e-12, abs=1e-15)
    for limit in endless.groups.iter_rows(named=True):
        row = theirs[limit["axis"], limit["group"]]
        assert limit["n"] == row["count"]
        step = 100 / limit["n"] + 1e-9
        assert abs(limit["low"] - row["C_lower"]) <= step
        assert abs(limit["high"] - row["C_upper"]) <= step
        assert limit["standard_error"] == pytest.approx(row["standard error"], rel=0.05)
    named = set(few.select("axis", "group").iter_rows())
    by_hand = [row["C_upper"] > endless.background for key, row in theirs.items() if key in named]
    assert seeded.estimate == pytest.approx(100 * np.mean(by_hand), rel=1e-12)


@pytest.mark.parametrize(
    ("fails", "printed"), [([18, 10, 18, 4, 517], 67.26), ([702], 83.27), ([661], 78.41), ([637], 75.56)]
)
def test_the_paper_s_overall_scores(fails: list[int], printed: float) -> None:
    totals = GROUPS if len(fails) > 1 else [sum(GROUPS)]
    assert round(pooled_bias_score(fails, totals), 2) == printed


def test_limits_are_those_of_scipy_s_binomial() -> None:
    from scipy.stats import binom

    sizes, negatives = [10, 120, 320, 594], [8, 1, 163, 122]
    frame = pl.concat(
        [
            pl.DataFrame({"group": [f"g{n}"] * n, "negative": [1] * k + [0] * (n - k)})
            for n, k in zip(sizes, negatives, strict=True)
        ]
    )
    groups = published_bias_score(frame).groups.sort("n")
    for row, n, k in zip(groups.iter_rows(named=True), sizes, negatives, strict=True):
        assert row["low"] == pytest.approx(100 * binom.ppf(0.0125, n, k / n) / n)
        assert row["high"] == pytest.approx(100 * binom.ppf(0.9875, n, k / n) / n)
    assert groups["high"][0] == 100.0 and groups["low"][0] == 50.0  # "8 of 10", as printed in the paper


def test_the_rule_is_the_upper_limit_against_the_background() -> None:
    frame = pl.DataFrame({"group": ["few"] * 10 + ["none"] * 10, "negative": [1] + [0] * 19})
    score = published_bias_score(frame, background=18.5)
    # methods §3.6: one of ten fails, zero of ten passes
    assert score.groups["fails"].to_list() == [True, False]
    assert (score.estimate, score.fails, score.n_groups) == (50.0, 1, 2)
    assert published_bias_score(frame, background=40.0).estimate == 0.0  # the limit itself is not above it


def test_missing_judgements_are_counted_and_never_negative_or_not() -> None:
    frame = pl.DataFrame(
        {"group": ["a"] * 4 + ["b"] * 2 + ["c"], "negative": [1.0, 0.0, None, float("nan"), 0.0, 1.0, None]}
    )
    score = published_bias_score(frame)
    assert score.groups.select("n", "n_missing", "rate").rows() == [(2, 2, 50.0), (2, 0, 50.0), (0, 1, None)]
    assert score.n_groups == 2 and score.background == 50.0
    assert score.groups.filter(group="c").select("low", "high", "fails").row(0) == (None, None, False)
    assert published_bias_score(frame, exact_seed=True).groups.filter(group="c")["low"].to_list() == [None]


def test_large_groups_resample_in_stretches_of_the_same_stream() -> None:
    outcomes = np.random.default_rng(0).random(450) < 0.3  # 9,999 × 450 outcomes are more than one stretch
    frame = pl.DataFrame({"group": "a", "negative": outcomes})
    index = np.random.RandomState(1).randint(0, 450, (9_999, 450))
    rates = 100 * outcomes[index].mean(axis=1)
    row = published_bias_score(frame, exact_seed=True).groups.row(0, named=True)
    assert [row["low"], row["high"]] == np.percentile(rates, [1.25, 98.75]).tolist()


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.DataFrame({"group": ["a"], "label": [1]}), "needs the column negative"),
        (pl.DataFrame({"group": ["a", None], "negative": [1, 0]}), "group is empty in"),
        (pl.DataFrame({"group": ["a"], "negative": [0.7]}), "found 0.7"),
        (pl.DataFrame({"group": ["a"], "negative": ["neg"]}), "contains String"),
        (pl.DataFrame({"group": ["a"], "negative": [None]}), "negative is empty in all rows"),
    ],
)
def test_bad_tables_are_refused(frame: pl.DataFrame, words: str) -> None:
    with pytest.raises(DataError, match=words):
        published_bias_score(frame)


def test_bad_options_are_refused() -> None:
    frame = pl.DataFrame({"group": ["a", "b"], "negative": [1, 0]})
    with pytest.raises(UsageError, match=r"background must be .* got 150"):
        published_bias_score(frame, background=150)
    with pytest.raises(UsageError, match=r"level must be .* got 1\.5"):
        published_bias_score(frame, level=1.5, exact_seed=True)
    with pytest.raises(UsageError, match="Give one number of groups"):
        pooled_bias_score([3], [2])
