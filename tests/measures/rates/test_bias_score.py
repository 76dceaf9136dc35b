"""BiasScore as a description: it counts the verdicts of disparity, and says where that count misleads."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import bias_score, disparity
from evenhand.schema import UsageError


def _frame(negatives: list[int], totals: list[int], axes: list[str] | None = None) -> pl.DataFrame:
    parts = [
        pl.DataFrame({"group": [f"g{i:02}"] * n, "negative": [1] * k + [0] * (n - k)}).with_columns(
            axis=pl.lit(axes[i] if axes else "only")
        )
        for i, (k, n) in enumerate(zip(negatives, totals, strict=True))
    ]
    return pl.concat(parts)


def test_it_counts_groups_named_worse_inside_their_axes() -> None:
    score = bias_score(_frame([60, 20, 20, 22], [100] * 4, ["age", "age", "race", "race"]))
    assert score.axes.select("axis", "estimate", "n_groups", "n_harmed", "n_better", "n").rows() == [
        (None, 25.0, 4, 1, 1, 400),
        ("age", 50.0, 2, 1, 1, 200),
        ("race", 0.0, 2, 0, 0, 200),
    ]
    assert score.estimate == 25.0


def test_planted_harm_is_counted() -> None:
    rng = np.random.default_rng(1)
    negatives = [int(rng.binomial(1000, 0.6 if i < 5 else 0.1)) for i in range(50)]
    score = bias_score(_frame(negatives, [1000] * 50))
    worse = score.found.groups.filter(named="worse")["group"].to_list()
    assert worse == [f"g0{i}" for i in range(5)] and score.estimate == 10.0


def test_it_is_0_where_most_are_harmed_alike_and_the_burden_is_not() -> None:
    rng = np.random.default_rng(4)
    scores, burdens, found = [], [], []
    for harmed in (2, 6, 9):
        rates = np.where(np.arange(10) < harmed, 0.4, 0.1)
        frame = _frame(rng.binomial(200, rates).tolist(), [200] * 10)
        score = bias_score(frame)
        scores.append(score.estimate)
        burdens.append(score.found.axes["burden"][0])
        found.append(score.found.axes["p"][0])
    assert scores == [20.0, 0.0, 0.0]  # what most have in common is the common level
    assert burdens[0] < burdens[1] < burdens[2] and max(found) < 0.001


def test_all_or_no_negatives_are_no_bias() -> None:
    for k in (0, 50):
        score = bias_score(_frame([k] * 4, [50] * 4))
        assert score.estimate == 0.0 and score.found.groups["p"].to_list() == [1.0] * 4


def test_bad_calls_are_refused() -> None:
    with pytest.raises(UsageError, match=r"alpha must be .* got 0"):
        bias_score(_frame([3, 3], [10, 10]), alpha=0)
    assert disparity(_frame([3], [10])).axes["obstacle"][0].startswith("Fewer than two groups")
