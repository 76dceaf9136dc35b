"""Intervals of proportions against statsmodels, scipy, brute force and simulated coverage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.schema import UsageError
from evenhand.stats import (
    binomial_quantile_interval,
    clopper_pearson_interval,
    clustered_proportion_interval,
    wilson_interval,
)

LEVELS = [0.8, 0.95, 0.99]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("method", "ours"), [("wilson", wilson_interval), ("beta", clopper_pearson_interval)]
)
def test_equals_statsmodels_for_every_count(method, ours, level):
    from statsmodels.stats.proportion import proportion_confint

    for total in (1, 7, 60, 1000):
        successes = np.unique(np.linspace(0, total, 30).astype(int))
        expected = proportion_confint(successes, np.full_like(successes, total), 1 - level, method=method)
        low, high = ours(successes, total, level)
        # statsmodels leaves NaN or rounding noise at the ends, where the limit is exactly 0 or 1
        np.testing.assert_allclose(low[1:], np.asarray(expected[0])[1:], atol=1e-12)
        np.testing.assert_allclose(high[:-1], np.asarray(expected[1])[:-1], atol=1e-12)
        assert low[0] == 0.0
        assert high[-1] == 1.0


def test_published_limits():
    # Newcombe 1998 (two-sided single proportion), table I: 81/263, 15/148, 0/20, 1/29
    low, high = wilson_interval([81, 15, 0, 1], [263, 148, 20, 29])
    np.testing.assert_allclose(low, [0.2553, 0.0624, 0.0, 0.0061], atol=5e-5)
    np.testing.assert_allclose(high, [0.3662, 0.1605, 0.1611, 0.1718], atol=5e-5)
    low, high = clopper_pearson_interval([81, 15, 0, 1], [263, 148, 20, 29])
    np.testing.assert_allclose(low, [0.2527, 0.0578, 0.0, 0.0009], atol=5e-5)
    np.testing.assert_allclose(high, [0.3676, 0.1617, 0.1684, 0.1776], atol=5e-5)


@given(total=st.integers(1, 300), share=st.floats(0, 1), level=st.sampled_from(LEVELS))
def test_limits_hold_the_estimate_and_never_collapse(total, share, level):
    successes = round(share * total)
    for interval in (wilson_interval, clopper_pearson_interval):
        low, high = interval(successes, total, level)
        assert 0 <= low <= successes / total <= high <= 1
        assert high - low > 1e-3
        mirrored_low, mirrored_high = interval(total - successes, total, level)
        assert math.isclose(low, 1 - mirrored_high, abs_tol=1e-12)
        assert math.isclose(high, 1 - mirrored_low, abs_tol=1e-12)


def test_clopper_pearson_covers_at_least_its_level_everywhere():
    from scipy.stats import binom

    total = 30
    low, high = clopper_pearson_interval(np.arange(total + 1), total)
    for rate in np.linspace(0.01, 0.99, 99):
        inside = (low <= rate) & (rate <= high)
        assert binom.pmf(np.arange(total + 1), total, rate)[inside].sum() >= 0.95


@pytest.mark.parametrize("total", [1, 2, 5, 10, 37, 100, 997])
def test_bootstrap_limits_are_binomial_quantiles(total):
    from scipy.stats import binom

    successes = np.arange(total + 1)
    for level in (0.9, 0.95, 0.975):
        low, high = binomial_quantile_interval(successes, total, level)
        tail = 1 - (0.5 + level / 2)
        np.testing.assert_array_equal(np.rint(low * total), binom.ppf(tail, total, successes / total))
        np.testing.assert_array_equal(
            np.rint(high * total), binom.ppf(0.5 + level / 2, total, successes / total)
        )


def test_bootstrap_limits_are_what_resampling_reaches():
    outcomes = np.repeat([1.0, 0.0], [12, 28])
    generator = np.random.default_rng(3)
    means = outcomes[generator.integers(0, 40, size=(40_000, 40))].mean(axis=1)
    low, high = binomial_quantile_interval(12, 40)
    sampled = np.quantile(means, [0.025, 0.975], method="inverted_cdf")
    np.testing.assert_allclose([low, high], sampled, atol=1e-12)


def test_without_outcomes():
    low, high = wilson_interval([0, 1], [0, 2])
    assert (low[0], high[0]) == (0.0, 1.0)
    low, high = clopper_pearson_interval(0, 0)
    assert (float(low), float(high)) == (0.0, 1.0)
    low, high = binomial_quantile_interval([0], [0])
    assert np.isnan(low[0])
    assert np.isnan(high[0])


@pytest.mark.parametrize("counts", [(3, 2), (-1, 5), (float("nan"), 5), (1, float("nan"))])
def test_impossible_counts_are_refused(counts):
    for interval in (wilson_interval, clopper_pearson_interval, binomial_quantile_interval):
        with pytest.raises(UsageError, match="Invalid counts"):
            interval(*counts)
    with pytest.raises(UsageError, match=r"level must be .* got 95"):
        wilson_interval(1, 2, level=95)
    with pytest.raises(UsageError, match="fractional"):
        binomial_quantile_interval(1.5, 4)


def test_clustered_interval_of_independent_outcomes_is_nearly_wilson():
    outcomes = np.random.default_rng(0).random(4000) < 0.2
    clustered = clustered_proportion_interval(outcomes, np.arange(4000))
    low, high = wilson_interval(outcomes.sum(), 4000)
    assert math.isclose(clustered.low, low, abs_tol=2e-4)
    assert math.isclose(clustered.high, high, abs_tol=2e-4)


def test_clustered_interval_where_all_agree_counts_clusters():
    low, high = wilson_interval(0, 8)
    result = clustered_proportion_interval(np.zeros(400), np.repeat(np.arange(8), 50))
    assert (result.low, result.estimate) == (0.0, 0.0)
    assert result.high > high  # Student's quantile in the place of the normal one
    assert result.high < 0.5
    mirrored = clustered_proportion_interval(np.ones(400), np.repeat(np.arange(8), 50))
    assert math.isclose(mirrored.low, 1 - result.high)
    assert low == 0.0


def test_clustered_interval_of_little_or_nothing():
    nothing = clustered_proportion_interval([float("nan")], ["a"])
    assert math.isnan(nothing.estimate)
    assert (nothing.low, nothing.high, nothing.n) == (0.0, 1.0, 0)
    one = clustered_proportion_interval([1, 0], ["a", "a"])
    assert (one.low, one.high, one.clusters) == (0.0, 1.0, 1)
    with pytest.raises(UsageError, match="must be from 0 to 1"):
        clustered_proportion_interval([2.0, 0.0], ["a", "b"])
    with pytest.raises(UsageError, match="shape"):
        clustered_proportion_interval([1.0, 0.0], ["a"])


@pytest.mark.parametrize(
    ("groups", "size", "correlation", "rate"),
    [(40, 25, 0.3, 0.3), (40, 25, 0.6, 0.2), (100, 5, 0.3, 0.5), (10, 25, 0.3, 0.3), (100, 5, 0.1, 0.02)],
)
def test_clustered_interval_covers(groups, size, correlation, rate):
    generator = np.random.default_rng(groups + size)
    strength = 1 / correlation - 1
    clusters = np.repeat(np.arange(groups), size)
    rates = generator.beta(rate * strength, (1 - rate) * strength, size=(1500, groups))
    outcomes = generator.random((1500, groups * size)) < np.repeat(rates, size, axis=1)
    inside = 0
    for row in outcomes:
        result = clustered_proportion_interval(row, clusters)
        inside += result.low <= rate <= result.high
    assert 0.93 <= inside / 1500 <= 0.97


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=1, max_size=40))
def test_clustered_interval_holds_its_estimate(pairs):
    outcomes, clusters = zip(*pairs, strict=True)
    result = clustered_proportion_interval(outcomes, clusters)
    assert 0 <= result.low <= result.estimate <= result.high <= 1
    assert result.high > result.low
