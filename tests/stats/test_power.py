"""Minimum detectable effects against published figures, exact distributions and simulated power."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.schema import UsageError
from evenhand.stats import (
    benjamini_hochberg,
    cluster_bootstrap_table,
    detectable_mean_difference,
    detectable_preference,
    detectable_rate,
    effective_n,
    per_test_level,
)


@pytest.mark.parametrize(
    ("correction", "published"),
    [("none", [6.9, 4.2, 3.0]), ("benjamini-hochberg", [9.3, 5.4, 3.6]), ("bonferroni", [10.0, 5.7, 3.8])],
)
def test_the_published_table(correction, published):
    # by simulation: 600 descriptors, 80 % power, base rate 2 %, n = 100, 400, 1600
    rates = detectable_rate(0.02, [100, 400, 1600], tests=600, correction=correction)
    np.testing.assert_allclose(100 * rates, published, atol=0.051)


@given(
    base=st.floats(0.0, 0.95),
    n=st.integers(1, 10_000),
    power=st.sampled_from([0.3, 0.5, 0.8, 0.99]),
)
def test_rate_solves_its_own_equation(base, n, power):
    from scipy.special import ndtri

    rate = float(detectable_rate(base, n, power=power))
    assert base <= rate <= 1
    if base < rate < 1 - 1e-9:
        limit = base + ndtri(0.975) * math.sqrt(base * (1 - base) / n)
        reached = limit + ndtri(power) * math.sqrt(rate * (1 - rate) / n)
        assert reached == pytest.approx(rate, abs=1e-9)


def test_exact_power_at_the_detectable_rate():
    from scipy.stats import binom

    for base, n in [(0.1, 200), (0.3, 100), (0.02, 1600), (0.5, 400)]:
        rate = float(detectable_rate(base, n))
        limit = base + 1.959964 * math.sqrt(base * (1 - base) / n)
        power = binom.sf(math.floor(limit * n), n, rate)
        assert power == pytest.approx(0.8, abs=0.04)  # steps of the binomial


def test_smaller_samples_and_more_tests_see_less():
    assert np.all(np.diff(detectable_rate(0.05, [10, 100, 1000])) < 0)
    for tests in (2, 50, 5000):
        levels = [
            per_test_level(0.05, tests, correction)
            for correction in ("bonferroni", "benjamini-hochberg", "none")
        ]
        assert levels == sorted(levels)
    assert float(detectable_rate(0.9, 3)) == 1.0
    assert float(detectable_rate(0.1, 0)) == 1.0


def test_pair_preference():
    # null bands of CrowS-Pairs are 1.96 × 0.5 / √n: at a power of 1/2 that is all
    bands = detectable_preference([60, 57, 63, 1508], power=0.5)
    np.testing.assert_allclose(100 * bands, [12.7, 13.0, 12.3, 2.5], atol=0.06)
    assert float(detectable_preference(1508)) == pytest.approx(0.0360, abs=2e-4)
    assert float(detectable_preference(1)) == 0.5


def test_preference_power_by_exact_binomial():
    from scipy.stats import binom

    n = 1508
    distance = float(detectable_preference(n))
    limit = 0.5 + 1.959964 * 0.5 / math.sqrt(n)
    assert binom.sf(math.floor(limit * n), n, 0.5 + distance) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("n", [3, 5, 10, 32, 200])
def test_paired_mean_equals_statsmodels(n):
    from statsmodels.stats.power import TTestPower

    expected = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
    assert float(detectable_mean_difference(2.0, n)) == pytest.approx(2 * expected, rel=1e-5)


def test_unpaired_mean_equals_statsmodels():
    from statsmodels.stats.power import TTestIndPower

    expected = TTestIndPower().solve_power(nobs1=20, ratio=2, alpha=0.05, power=0.8)
    assert float(detectable_mean_difference(1.0, 20, other_n=40)) == pytest.approx(expected, rel=1e-5)


def test_paired_power_by_simulation_under_benjamini_hochberg():
    from scipy.stats import ttest_1samp

    effect = float(
        detectable_mean_difference(1.0, 32, tests=100, correction="benjamini-hochberg", share_affected=0.1)
    )
    rows = np.random.default_rng(0).normal(size=(200, 100, 32))
    rows[:, :10] += effect
    found = benjamini_hochberg(ttest_1samp(rows, 0, axis=2).pvalue) <= 0.05
    # planned as if all 10 were found; with 8 found the level is a little stricter
    assert found[:, :10].mean() == pytest.approx(0.8, abs=0.04)


def test_too_few_values_for_a_test():
    np.testing.assert_array_equal(detectable_mean_difference(1.0, [0, 1]), [np.inf, np.inf])
    assert float(detectable_mean_difference(1.0, 1, other_n=0)) == math.inf
    assert math.isfinite(float(detectable_mean_difference(1.0, 2)))


def test_extreme_levels_stay_accurate():
    # 700,000 Bonferroni tests: the chance of exceeding the critical value, by simulation
    effect = float(detectable_mean_difference(1.0, 32, tests=700_000, correction="bonferroni"))
    from scipy.special import stdtrit

    rows = np.random.default_rng(1).normal(effect, 1, size=(20_000, 32))
    t = rows.mean(axis=1) / rows.std(axis=1, ddof=1) * math.sqrt(32)
    critical = stdtrit(31, 1 - 0.025 / 700_000)
    assert (t > critical).mean() == pytest.approx(0.8, abs=0.01)


def test_effective_n_is_what_the_cluster_bootstrap_sees():
    generator = np.random.default_rng(2)
    shared = generator.normal(size=(2000, 40, 1)) * math.sqrt(0.3)
    values = shared + generator.normal(size=(2000, 40, 25)) * math.sqrt(0.7)
    table = cluster_bootstrap_table(values.sum(axis=2), np.full((2000, 40), 25.0), resamples=50, seed=0)
    seen = 1 / np.mean(table.standard_error**2)
    assert seen == pytest.approx(float(effective_n(1000, 25, 0.3)), rel=0.03)


def test_wrong_input_is_refused():
    with pytest.raises(UsageError, match="power must be between"):
        detectable_rate(0.1, 10, power=1.0)
    with pytest.raises(UsageError, match="background must contain rates"):
        detectable_rate(1.1, 10)
    with pytest.raises(UsageError, match=r"per_test_level: .* got"):
        per_test_level(0.05, 0)
    with pytest.raises(
        UsageError, match="invalid correction='fdr'; expected 'none' or 'benjamini-hochberg' or 'bonferroni'"
    ):
        per_test_level(0.05, 3, "fdr")
