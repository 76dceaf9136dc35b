"""Tails of Fisher's and of the binomial test are SciPy's."""

import numpy as np
from hypothesis import given, settings, strategies as st

from evenhand.stats.exact_tests import tails_of_others, tails_of_rate


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=2, max_size=6))
@settings(max_examples=40)
def test_tails_are_scipy_s_distributions(groups: list[tuple[int, int]]) -> None:
    from scipy.stats import binom, hypergeom

    totals = np.array([n for n, _ in groups])
    counts = np.array([min(k, n) for n, k in groups])
    population, negatives = int(totals.sum()), int(counts.sum())
    tails = tails_of_others(totals, negatives)
    there = hypergeom(population, negatives, totals)
    np.testing.assert_allclose(tails.p_above(counts), there.sf(counts - 1), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(tails.p_below(counts), there.cdf(counts), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(
        tails_of_rate(totals, 0.3).p_above(counts), binom(totals, 0.3).sf(counts - 1), rtol=1e-9, atol=1e-14
    )
