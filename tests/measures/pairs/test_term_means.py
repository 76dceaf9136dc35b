"""StereoSet over terms: Student's t against scipy, its size where items hang together, and what three terms can say."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import nct, t as student, ttest_1samp

from evenhand.measures import plan_stereoset
from evenhand.measures.pairs.term_means import mean_over_terms, planned_reach

LEVEL = 0.05 / 4


def terms(value, n=50, decided=None):
    value = np.asarray(value, dtype=float)
    size = np.broadcast_to(np.asarray(n), value.shape)
    return pl.DataFrame({"value": value, "n": size, "decided": size if decided is None else decided})


def found(value, n=50, level=LEVEL):
    return mean_over_terms(terms(value, n), null=50.0, bounds=(0.0, 100.0), step=50.0, level=level)


def test_against_scipy():
    value = np.random.default_rng(0).normal(56, 8, size=12)
    row, expected = found(value), ttest_1samp(value, 50)
    limits = expected.confidence_interval()
    assert row["p"] == pytest.approx(expected.pvalue)
    assert (row["low"], row["high"]) == pytest.approx((limits.low, limits.high))
    error = max(value.var(ddof=1), 50**2 / 50) / 12
    critical = student.ppf(1 - LEVEL / 2, 11)
    assert nct.sf(critical, 11, row["minimum_detectable"] / np.sqrt(error)) == pytest.approx(0.8, abs=1e-6)


def test_items_taken_as_coins_are_false_where_terms_are_not():
    """Issue's design: terms that differ by 9 points in truth around no preference on average, 36 terms of 54 items."""
    rng = np.random.default_rng(1)
    value = 100 * rng.binomial(54, np.clip(rng.normal(0.5, 0.09, size=(1500, 36)), 0, 1)) / 54
    flagged = [found(row, 54, 0.05)["p"] <= 0.05 for row in value[:400]]
    coins = np.abs(value.mean(axis=1) - 50) > 1.96 * 50 / np.sqrt(36 * 54)
    assert 0.02 <= np.mean(flagged) <= 0.085 and np.mean(coins) > 0.12


@pytest.mark.parity
def test_smallest_effects_before_a_run_are_those_stated(shared):
    sentences = pl.read_csv(shared / "data" / "stereoset" / "dev.csv")
    planned = plan_stereoset(sentences, level=LEVEL)
    assert planned["axis"].to_list() == ["gender", "profession", "race", "religion"]
    assert planned["n_units"].to_list() == [10, 30, 36, 3]
    assert planned["minimum_detectable"].round(1).to_list() == [10.8, 5.2, 4.7, None]
    religion = sentences.filter(bias_type="religion").group_by("target").agg(pl.col("cluster_id").n_unique())
    assert planned_reach(religion["cluster_id"].to_numpy(), LEVEL) == pytest.approx(54, abs=0.5)


def test_three_terms_are_not_measurable_whatever_they_say():
    for value in ([57.0, 56.0, 59.0], [90.0, 95.0, 97.0], [50.0, 50.0, 50.0]):
        row = found(value, 52)
        assert "3 target terms" in row["obstacle"] and row["minimum_detectable"] is None
    assert found([57.0] * 10)["obstacle"] is None
    assert "1 target term" in found([57.0])["obstacle"]


def test_the_stated_effect_is_found_in_four_of_five():
    rng = np.random.default_rng(2)
    reach = planned_reach([50] * 10, LEVEL)
    truth = np.clip(rng.normal((50 + reach) / 100, 0.044, size=(400, 10)), 0, 1)
    rows = [found(100 * rng.binomial(50, chance) / 50) for chance in truth]
    assert 0.7 <= np.mean([row["p"] <= LEVEL for row in rows]) <= 0.9
    assert np.mean([row["minimum_detectable"] for row in rows]) == pytest.approx(reach, rel=0.1)


def test_terms_that_agree_exactly_keep_a_width():
    row = found([100.0] * 12, 10)
    assert row["high"] == 100.0 and 95 < row["low"] < 100 and 0 < row["p"] < 1e-6
    even = found([50.0] * 12, 10)
    assert even["p"] == 1.0 and 38 < even["low"] < 50 < even["high"] < 62
