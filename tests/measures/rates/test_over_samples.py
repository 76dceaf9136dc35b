"""Largest toxicity over k samples: formulas against all subsets, simulated limits, unequal numbers of samples."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.measures import chance_of_any, expected_maximum, toxicity_over_samples
from evenhand.schema import DataError, UsageError


def _frame(scores: list[list[float | None]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"prompt_id": i, "sample": j, "score": s}
            for i, row in enumerate(scores)
            for j, s in enumerate(row)
        ],
        schema={"prompt_id": pl.Int64, "sample": pl.Int64, "score": pl.Float64},
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.integers(1, 7), st.integers(0, 7))
@settings(max_examples=60)
def test_formulas_average_over_all_subsets(scores: list[float], k: int, negatives: int) -> None:
    k, negatives = min(k, len(scores)), min(negatives, len(scores))
    largest = [max(subset) for subset in combinations(scores, k)]
    assert expected_maximum([scores], k)[0] == pytest.approx(np.mean(largest), abs=1e-12)
    outcomes = [1] * negatives + [0] * (len(scores) - negatives)
    any_negative = [max(subset) for subset in combinations(outcomes, k)]
    assert chance_of_any(negatives, len(scores), k) == pytest.approx(np.mean(any_negative), abs=1e-12)


def test_with_k_samples_a_prompt_it_is_the_plain_maximum() -> None:
    rng = np.random.default_rng(0)
    scores = rng.beta(1, 4, (50, 25))
    table = toxicity_over_samples(_frame(scores.tolist())).samples
    largest = scores.max(axis=1)
    assert table["estimate"].to_list() == pytest.approx([largest.mean(), 100 * (largest >= 0.5).mean()])
    assert table["sd"].to_list() == pytest.approx([largest.std(ddof=1), 100 * (largest >= 0.5).std(ddof=1)])
    assert table["k"].to_list() == [25, 25] and table["n_short"].to_list() == [0, 0]
    from scipy.stats import t

    half = t.ppf(0.975, 49) * largest.std(ddof=1) / 50**0.5
    assert table["high"][0] - table["low"][0] == pytest.approx(2 * half, rel=0.15)


def test_more_samples_of_some_prompts_do_not_raise_it() -> None:
    rng = np.random.default_rng(1)
    truth, plain, mine = [], [], []
    for _ in range(60):
        sizes = np.where(np.arange(30) < 15, 5, 20)
        scores = [rng.beta(1, 4, size).tolist() for size in sizes]
        mine.append(toxicity_over_samples(_frame(scores), k=5).samples["estimate"][0])
        plain.append(np.mean([max(row) for row in scores]))
        truth.append(rng.beta(1, 4, (30, 5)).max(axis=1).mean())
    assert np.mean(mine) == pytest.approx(np.mean(truth), abs=0.02)
    assert np.mean(plain) > np.mean(truth) + 0.05


def test_limits_hold_the_truth() -> None:
    rng = np.random.default_rng(2)
    held = np.zeros(2)
    largest = rng.beta(1, 4, (100_000, 4)).max(axis=1).mean()
    any_negative = 100 * (1 - (1 - 0.5**4) ** 4)
    for _ in range(100):
        table = toxicity_over_samples(_frame(rng.beta(1, 4, (40, 6)).tolist()), k=4).samples
        held += [
            table["low"][0] <= largest <= table["high"][0],
            table["low"][1] <= any_negative <= table["high"][1],
        ]
    assert (held >= 90).all()


def test_short_prompts_missing_scores_and_groups() -> None:
    scores: list[list[float | None]] = [[0.1, 0.2, 0.9], [0.1, None, 0.3], [0.4, 0.6, 0.1], [0.2]]
    frame = _frame(scores).with_columns(
        group=pl.when(pl.col("prompt_id") < 2).then(pl.lit("x")).otherwise(pl.lit("y"))
    )
    table = toxicity_over_samples(frame, k=3).samples
    assert table.filter(measure="expected_maximum_toxicity").select(
        "group", "estimate", "n", "n_missing", "n_prompts", "n_short"
    ).rows() == [(None, pytest.approx(0.75), 6, 1, 2, 2), ("x", 0.9, 3, 1, 1, 1), ("y", 0.6, 3, 0, 1, 1)]
    # the published rule: toxic from 0.5 on, inclusive
    assert toxicity_over_samples(_frame([[0.5], [0.4]])).samples["estimate"][1] == 50.0
    own = frame.with_columns(negative=pl.col("score") > 0.85)
    assert toxicity_over_samples(own, k=3).samples["estimate"][1] == 50.0


def test_k_is_what_nearly_all_prompts_reach() -> None:
    scores = [[0.1] * 10] * 99 + [[0.1] * 2]
    table = toxicity_over_samples(_frame(scores)).samples
    assert table["k"][0] == 10 and table["n_short"][0] == 1


def test_a_prompt_in_two_groups_counts_once_over_everything_and_clusters_widen() -> None:
    rng = np.random.default_rng(3)
    one = _frame(rng.beta(1, 3, (30, 4)).tolist()).with_columns(group=pl.lit("x"))
    both = pl.concat([one, one.with_columns(group=pl.lit("y"))])
    table = toxicity_over_samples(both).samples
    assert table["n_prompts"].to_list() == [30] * 6
    # prompts of one story are alike
    alike = pl.col("score") + 0.5 * (pl.col("prompt_id") // 5).mod(2)
    stories = one.with_columns(story=pl.col("prompt_id") // 5, score=alike)
    wide, narrow = (toxicity_over_samples(stories, cluster=c).samples for c in ("story", None))
    assert wide["estimate"][0] == pytest.approx(narrow["estimate"][0])
    assert (wide["high"] - wide["low"])[0] > (narrow["high"] - narrow["low"])[0]


def test_bad_calls_are_refused() -> None:
    with pytest.raises(UsageError, match=r"k must be .* got 9"):
        toxicity_over_samples(_frame([[0.1, 0.2]]), k=9)
    with pytest.raises(UsageError, match=r"expected_maximum: k must be .* got 3"):
        expected_maximum([[0.1, 0.2]], 3)
    with pytest.raises(DataError, match="needs the column score"):
        toxicity_over_samples(pl.DataFrame({"prompt_id": [1]}))
    with pytest.raises(DataError, match="no classified sample"):
        toxicity_over_samples(_frame([[0.1], [None], [None]]))


def test_more_outcomes_than_there_are_cannot_be_sampled() -> None:
    with pytest.raises(UsageError, match="k=4 samples cannot be drawn"):
        chance_of_any([0, 1], [3, 5], 4)
