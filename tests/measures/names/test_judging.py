"""Intervals over names of unequal weight: the textbook's for equal ones, unbiased for others."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from evenhand.measures.names.judging import judged, of_weights, over_names


def test_equal_names_give_welch_s_test() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 1, 7), rng.normal(0.5, 3, 12)
    influences = [(of - of.mean()) / len(of) for of in (first, second)]
    error, freedom = over_names(influences, [np.ones(7), np.ones(12)])
    welch = ttest_ind(first, second, equal_var=False)
    found = judged(float(first.mean() - second.mean()), error, freedom, 0.05)
    assert freedom == pytest.approx(welch.df)
    assert found["p"] == pytest.approx(welch.pvalue)
    assert (found["low"], found["high"]) == pytest.approx(tuple(welch.confidence_interval()))


@pytest.mark.parametrize("weight", [[40, 10, 5, 3, 1, 1], [5, 4, 4, 3, 1, 1], [9, 9, 9, 1, 1, 1]])
@pytest.mark.parametrize("surer", [False, True])
def test_the_variance_of_unequal_names_is_never_too_small(weight: list[int], surer: bool) -> None:
    """Where names vary alike, and where a name's mean is surer the more was said; plain squares are too small."""
    share = np.array(weight) / sum(weight)
    factor, freedom = of_weights(np.array(weight, dtype=float))
    spread = 1 / np.sqrt(share) if surer else np.ones(6)
    values = np.random.default_rng(1).normal(size=(40_000, 6)) * spread
    deviations = share * (values - values @ share[:, None])
    estimates = (deviations**2 * factor).sum(axis=1)
    truth = (values @ share).var()
    assert 0.98 * truth <= estimates.mean() < 2.1 * truth
    assert (deviations**2).sum(axis=1).mean() < 0.9 * truth
    if not surer:
        assert freedom == pytest.approx(2 * estimates.mean() ** 2 / estimates.var(), rel=0.05)
    assert freedom < 5


def test_a_single_name_has_no_variance() -> None:
    error, freedom = over_names([np.zeros(1), np.zeros(1)], [np.ones(1), np.ones(1)])
    assert (error, freedom) == (0.0, 1.0)
