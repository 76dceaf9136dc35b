"""Kappa and correlations with their limits, against statsmodels, SciPy and the planted truth."""

import numpy as np
import pytest

from evenhand.stats.rater_agreement import kappa, pearson, spearman, specific_agreement


def _verdicts(rng: np.random.Generator, n: int, rate: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    first = rng.random(n) < rate
    return first, first ^ (rng.random(n) < 0.1)


def test_kappa_s_standard_error_is_the_closed_form_of_statsmodels() -> None:
    from statsmodels.stats.inter_rater import cohens_kappa

    rng = np.random.default_rng(1)
    for rate in (0.05, 0.3, 0.8):
        x, y = (v.astype(float) for v in _verdicts(rng, 300, rate))
        mine, theirs = kappa(x, y, np.arange(300)), cohens_kappa(np.histogram2d(x, y, bins=2)[0])
        assert mine.estimate == pytest.approx(theirs.kappa)
        assert mine.standard_error == pytest.approx(theirs.std_kappa * (300 / 299) ** 0.5, rel=1e-9)


def test_limits_hold_the_truth_with_and_without_clusters() -> None:
    rng = np.random.default_rng(2)
    rho = 0.6
    truth = {"spearman": 6 / np.pi * np.arcsin(rho / 2), "pearson": rho}
    held = dict.fromkeys(("kappa", "pearson", "spearman", "clustered"), 0)
    true_kappa = 1 - 0.1 / (1 - (0.3 * 0.34 + 0.7 * 0.66))  # rates .3 and .3 × .9 + .7 × .1
    for _ in range(200):
        x, y = (v.astype(float) for v in _verdicts(rng, 200))
        own = kappa(x, y, np.arange(200))
        held["kappa"] += own.low <= true_kappa <= own.high
        prompts = rng.normal(size=(40, 2)) @ np.linalg.cholesky([[1, rho], [rho, 1]]).T
        alone = rng.normal(size=(40, 3, 2)) @ np.linalg.cholesky([[1, rho], [rho, 1]]).T
        scores = (prompts[:, None] + 0.5 * alone).reshape(-1, 2)
        codes = np.repeat(np.arange(40), 3)
        limits = pearson(scores[:, 0], scores[:, 1], codes)
        held["clustered"] += limits.low <= rho <= limits.high
        for name, function in (("pearson", pearson), ("spearman", spearman)):
            limits = function(prompts[:, 0], prompts[:, 1], np.arange(40))
            held[name] += limits.low <= truth[name] <= limits.high
    assert min(held.values()) >= 178, held


def test_rank_correlation_of_ties_is_scipy_s() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    first = rng.normal(size=400)
    tied = np.round(first), np.round(first + rng.normal(size=400))
    assert spearman(*tied, np.arange(400)).estimate == pytest.approx(spearmanr(*tied).statistic)


def test_numbers_that_never_change_have_no_agreement() -> None:
    zeros = np.zeros(5)
    assert np.isnan(pearson(zeros, np.arange(5.0), np.arange(5)).estimate)
    assert np.isnan(specific_agreement(zeros, zeros, np.arange(5), 1.0).estimate)
