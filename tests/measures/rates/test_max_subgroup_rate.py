"""The largest rate as a description: what the largest of equal groups is, whose it is, and how groups are ranked."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import disparity, max_subgroup_rate
from evenhand.schema import UsageError
from tests.helpers.clustered import clustered


def _frame(negatives: list[int], totals: list[int], axes: list[str] | None = None) -> pl.DataFrame:
    return pl.concat(
        [
            pl.DataFrame({"group": [f"g{i:02}"] * n, "negative": [1] * k + [0] * (n - k)}).with_columns(
                axis=pl.lit(axes[i] if axes else "only")
            )
            for i, (k, n) in enumerate(zip(negatives, totals, strict=True))
        ]
    )


def test_the_largest_of_equal_groups_is_what_a_simulation_says() -> None:
    rng = np.random.default_rng(1)
    row = max_subgroup_rate(_frame([8] * 20, [40] * 20), draws=4999).maxima.row(1, named=True)
    labels = np.repeat(np.arange(20), 40)
    outcomes = np.repeat([1.0, 0.0], [160, 640])
    largest = [100 * (np.bincount(labels, weights=rng.permutation(outcomes)) / 40).max() for _ in range(2000)]
    assert row["null"] == pytest.approx(np.mean(largest), abs=0.3)
    assert row["null_high"] == pytest.approx(np.quantile(largest, 0.95), abs=1.3)
    assert row["estimate"] == 20.0 and row["excess"] < -10


def test_the_worst_group_is_named_over_all_and_by_axis() -> None:
    frame = _frame([90, 22, 20, 19], [100] * 4, ["age", "age", "race", "race"])
    result = max_subgroup_rate(frame)
    assert result.estimate == 90.0
    assert result.maxima["group"].to_list() == ["g00", "g00", "g02"]
    assert result.maxima["group_axis"].to_list() == ["age", "age", "race"]
    first = result.most_harmed.filter(pl.col("axis").is_null())
    assert first["group"][0] == "g00" and first["rank"].to_list() == [1, 2, 3, 4]


def test_the_most_harmed_are_ranked_by_pooled_rates() -> None:
    frame = _frame([8, 520, 100, 110, 90], [10, 1000, 1000, 1000, 1000])
    result = max_subgroup_rate(frame, most=3)
    assert result.maxima["group"][0] == "g00" and result.maxima["estimate"][0] == 80.0
    listed = result.most_harmed.filter(pl.col("axis").is_null())
    assert listed.height == 3 and listed["pooled"].is_sorted(descending=True)
    small = listed.filter(group="g00")
    assert small["pooled"][0] < small["estimate"][0] - 5
    assert max_subgroup_rate(frame, minimum_n=11).maxima["group"][0] == "g01"


def test_one_prompt_a_group_has_no_null() -> None:
    frame = clustered(np.random.default_rng(2), np.full(8, 0.1), prompts=1, samples=25, correlation=0.3)
    row = max_subgroup_rate(frame).maxima.row(0, named=True)
    assert row["estimate"] is not None and row["null"] is None


def test_nobody_has_the_largest_rate_where_all_are_zero() -> None:
    row = max_subgroup_rate(_frame([0, 0, 0], [20, 20, 20])).maxima.row(0, named=True)
    assert (row["group"], row["estimate"]) == (None, 0.0)


def test_point_3_the_verdict_on_the_worst_group_is_that_of_disparity() -> None:
    rng = np.random.default_rng(3)
    rates = np.array([0.45] + [0.1] * 9)
    found = 0
    for seed in range(20):
        groups = disparity(clustered(rng, rates, 20, 5, 0.3), seed=seed).groups
        found += groups["named"][0] == "worse"
    assert found >= 17


def test_bad_calls_are_refused() -> None:
    with pytest.raises(UsageError, match=r"most must be .* got 0"):
        max_subgroup_rate(_frame([1, 2], [10, 10]), most=0)
