"""Exact tests against scipy, the numbers that published rules give, and ACUTE-Eval's agreement by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency

from evenhand.schema import UsageError
from evenhand.stats.votes import binomial_p, chi_square, minimal_significant, published_agreement, stars


def test_the_exact_binomial_is_scipys() -> None:
    for n in (1, 2, 7, 40, 399, 400):
        for hits in range(0, n + 1, max(1, n // 20)):
            assert binomial_p(hits, n) == pytest.approx(binomtest(hits, n).pvalue, abs=1e-12)


def test_56_percent_of_400_has_one_star_where_the_paper_prints_two() -> None:
    assert binomial_p(224, 400) == pytest.approx(0.019, abs=5e-4)
    assert stars(binomial_p(224, 400)) == "*"
    assert stars(binomial_p(269, 480)) == "**"  # what "56**" asks for


@pytest.mark.parametrize(
    ("p", "marks"), [(0.05, ""), (0.049, "*"), (0.01, "*"), (0.0099, "**"), (0.0009, "***")]
)
def test_stars(p: float, marks: str) -> None:
    assert stars(p) == marks


@pytest.mark.parametrize(("n", "share"), [(100, 0.61), (200, 0.575), (400, 0.5525), (800, 0.53625)])
def test_the_smallest_significant_share(n: int, share: float) -> None:
    assert minimal_significant(n) == share
    hits = round(share * n)
    assert binomtest(hits, n).pvalue < 0.05 <= binomtest(hits - 1, n).pvalue


def test_no_share_of_five_votes_is_significant() -> None:
    assert np.isnan(minimal_significant(5)) and minimal_significant(6) == 1.0
    assert np.isnan(binomial_p(0, 0)) and np.isnan(minimal_significant(0))
    with pytest.raises(UsageError, match="got successes=3, n=2"):
        binomial_p(3, 2)
    with pytest.raises(UsageError, match="got n=10, alpha=2"):
        minimal_significant(10, 2)


def test_agreement_counts_even_splits_as_nothing_and_skips_single_votes() -> None:
    assert published_agreement([[1, 1], [0, 1], [1, 1, 0], [0]]) == pytest.approx((1 + 0 + 2 / 3) / 3)
    assert np.isnan(published_agreement([[1], [0]]))


def test_chi_square_is_scipys() -> None:
    table = np.array([[12, 5, 9], [3, 14, 8], [10, 10, 2]])
    expected = chi2_contingency(table, correction=False)
    assert chi_square(table) == pytest.approx((expected.statistic, expected.dof, expected.pvalue))
    assert chi_square(np.c_[table, [0, 0, 0]]) == chi_square(table)
    assert np.isnan(chi_square([[3, 0], [5, 0]])[2])
