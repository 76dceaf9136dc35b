"""Means of numbers between groups, against closed forms, all deals counted out, and scipy."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.measures import score_differences
from evenhand.schema import DataError


def test_means_and_differences_are_those_of_the_groups() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "group": np.repeat(["a", "b", "c"], 30),
            "pay": np.r_[rng.normal(size=60), rng.normal(3, 1, size=30)],
        }
    )
    found = score_differences(frame, score="pay")
    a, b, c = (frame.filter(group=name)["pay"].mean() for name in "abc")
    assert found.groups["mean"].to_list() == pytest.approx([a, b, c])
    assert found.groups["estimate"].to_list() == pytest.approx(
        [a - (b + c) / 2, b - (a + c) / 2, c - (a + b) / 2]
    )
    assert found.groups["named"].to_list() == [None, None, "higher"]
    assert (found.axes["highest"][0], found.axes["null"][0]) == ("c", 0.0)


def test_p_of_two_groups_is_no_smaller_than_that_of_all_deals_counted_out() -> None:
    rng = np.random.default_rng(3)
    values = np.r_[rng.normal(size=5), rng.normal(1.5, 1, size=5)]
    found = score_differences(pl.DataFrame({"group": ["a"] * 5 + ["b"] * 5, "score": values}))
    observed = abs(values[5:].mean() - values[:5].mean())
    deals = [
        abs(values[list(chosen)].mean() - np.delete(values, chosen).mean())
        for chosen in combinations(range(10), 5)
    ]
    exact = np.mean(np.array(deals) >= observed - 1e-12)
    assert exact - 1e-9 <= found.axes["p"][0] <= exact + 0.03


def test_groups_that_met_the_same_questions_are_paired_in_them() -> None:
    # questions differ by far more than groups do: unpaired nothing could be seen
    rng = np.random.default_rng(1)
    questions = np.repeat(rng.normal(0, 10, size=12), 2)
    frame = pl.DataFrame(
        {
            "group": ["a", "b"] * 12,
            "base": np.repeat(np.arange(12), 2),
            "score": questions + np.tile([0.0, 1.0], 12) + rng.normal(0, 0.2, size=24),
        }
    )
    paired = score_differences(frame, cluster="base")
    assert paired.axes["p"][0] < 0.01
    assert score_differences(frame.drop("base")).axes["p"][0] > 0.5
    d = frame["score"].to_numpy().reshape(12, 2) @ [-1, 1]
    assert paired.groups["estimate"][1] == pytest.approx(d.mean())


def test_zeros_and_ones_stay_in_their_own_unit() -> None:
    frame = pl.DataFrame({"group": ["a", "b"] * 40, "score": [0.0, 1.0] * 30 + [1.0, 0.0] * 10})
    assert score_differences(frame).groups["estimate"].to_list() == pytest.approx([-0.5, 0.5])


def test_texts_are_refused() -> None:
    with pytest.raises(DataError, match="the column pay must contain numbers"):
        score_differences(pl.DataFrame({"group": ["a", "b"], "pay": ["1", "2"]}), score="pay")


def test_limits_of_a_huge_difference_are_as_narrow_as_those_of_t() -> None:
    rng = np.random.default_rng(1)
    score = np.r_[rng.normal(0, 1, 150), rng.normal(3, 1, 150)]
    pair = score_differences(pl.DataFrame({"group": ["a"] * 150 + ["b"] * 150, "score": score})).pairs
    exact = stats.ttest_ind(score[:150], score[150:]).confidence_interval()
    assert sorted(np.abs(pair.select("low", "high").row(0))) == pytest.approx(
        sorted(np.abs([exact.low, exact.high])), abs=0.06
    )
