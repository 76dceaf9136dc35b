"""Effect sizes against scipy, statsmodels, brute force and worked examples."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from evenhand.schema import UsageError
from evenhand.stats import (
    cohens_dz,
    median_log_ratio,
    odds_ratio,
    risk_difference,
    risk_ratio,
    superiority_paired,
    superiority_unpaired,
)

grades = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=20)
counts = st.tuples(st.integers(1, 80), st.integers(1, 80), st.integers(1, 80), st.integers(1, 80))


@given(grades, grades)
def test_superiority_counts_every_pair(first, second):
    wins = [(a > b) + (a == b) / 2 for a in first for b in second]
    assert math.isclose(superiority_unpaired(first, second), np.mean(wins), rel_tol=1e-12)
    assert math.isclose(
        superiority_unpaired(first, second) + superiority_unpaired(second, first), 1, rel_tol=1e-12
    )


def test_superiority_is_mann_whitneys_u():
    from scipy.stats import mannwhitneyu

    generator = np.random.default_rng(0)
    first, second = np.round(generator.normal(0.4, 1, 50), 1), np.round(generator.normal(size=70), 1)
    expected = mannwhitneyu(first, second).statistic / 3500
    assert superiority_unpaired(first, second) == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_paired_superiority_counts_wins_and_half_ties(pairs):
    first, second = np.array(pairs, dtype=float).T
    wins = np.mean([(a > b) + (a == b) / 2 for a, b in pairs])
    assert math.isclose(superiority_paired(first, second), wins, rel_tol=1e-12, abs_tol=1e-15)


def test_superiority_of_normals_has_a_closed_form():
    from scipy.special import ndtr

    generator = np.random.default_rng(1)
    first, second = generator.normal(0.5, 1, 20_000), generator.normal(size=20_000)
    assert superiority_unpaired(first, second) == pytest.approx(ndtr(0.5 / math.sqrt(2)), abs=0.006)


@pytest.mark.parametrize("n", [90, 900, 9000])
def test_dz_stays_while_t_grows(n):
    # of two normal distributions: a shift of 0.05 standard deviations
    from scipy.stats import ttest_rel

    generator = np.random.default_rng(n)
    noise = generator.normal(size=n)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    second = generator.normal(size=n) * 5
    first = second + 0.05 + noise
    assert cohens_dz(first, second) == pytest.approx(0.05, rel=1e-9)
    assert ttest_rel(first, second).statistic == pytest.approx(0.05 * math.sqrt(n), rel=1e-9)


def test_nothing_to_compare():
    assert math.isnan(superiority_paired([np.nan], [1.0]))
    assert math.isnan(superiority_unpaired([], [1.0]))
    assert math.isnan(cohens_dz([1.0], [0.0]))
    assert math.isnan(cohens_dz([0.3, 0.3, 0.3], [0.1, 0.1, 0.1]))
    assert math.isnan(median_log_ratio([np.nan], [1.0]))
    with pytest.raises(UsageError, match="same shape"):
        superiority_paired([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(UsageError, match="above 0"):
        median_log_ratio([1.0, 0.0], [1.0, 1.0])


def test_missing_pairs_are_left_out():
    first, second = [4.0, np.nan, 2.0, 9.0], [2.0, 1.0, np.nan, 3.0]
    assert superiority_paired(first, second) == 1.0
    assert median_log_ratio(first, second) == pytest.approx((math.log(2) + math.log(3)) / 2)
    assert cohens_dz(first, second) == pytest.approx(np.mean([2, 6]) / np.std([2, 6], ddof=1))


@given(counts)
def test_two_proportions_equal_statsmodels(cells):
    successes, other = cells[0], cells[2]
    total, other_total = successes + cells[1], other + cells[3]
    for ours, compare, method in (
        (risk_difference, "diff", "newcomb"),
        (risk_ratio, "ratio", "log"),
        (odds_ratio, "odds-ratio", "logit"),
    ):
        result = ours(successes, total, other, other_total)
        expected = confint_proportions_2indep(
            successes, total, other, other_total, compare=compare, method=method
        )
        np.testing.assert_allclose([result.low, result.high], expected, rtol=1e-9, atol=1e-12)
        assert result.low <= result.estimate <= result.high


def test_newcombes_own_examples():
    # Newcombe 1998 (two independent proportions), table II, method 10: 56/70-48/80, 9/10-3/10, 10/10-0/20
    for table, low, high in [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((10, 10, 0, 20), 0.6791, 1.0),
    ]:
        result = risk_difference(*table)
        assert (round(result.low, 4), round(result.high, 4)) == (low, high)


def test_empty_cells_are_corrected():
    result = odds_ratio(0, 10, 5, 10)
    assert result.estimate == pytest.approx((0.5 / 10.5) / (5.5 / 5.5))
    ratio = risk_ratio(0, 10, 5, 10)
    assert ratio.estimate == pytest.approx((0.5 / 11) / (5.5 / 11))
    for finite in (result, ratio, odds_ratio(10, 10, 0, 10), risk_ratio(3, 10, 0, 10)):
        assert 0 < finite.low < finite.estimate < finite.high < math.inf
    # nothing is added where nothing is missing
    assert odds_ratio(2, 10, 5, 10).estimate == pytest.approx((2 / 8) / (5 / 5))
    # a full group needs no correction in a risk ratio
    assert risk_ratio(10, 10, 5, 10).estimate == pytest.approx(2.0)


@pytest.mark.parametrize("table", [(5, 4, 1, 2), (1, 2, 0, 0), (-1, 3, 1, 2)])
def test_impossible_tables_are_refused(table):
    for effect in (risk_difference, risk_ratio, odds_ratio):
        with pytest.raises(UsageError, match="Cannot compare"):
            effect(*table)
