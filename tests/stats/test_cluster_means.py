"""Means over clusters: limits that hold the truth, and errors that a plain loop gives."""

import numpy as np
import pytest

from evenhand.stats.cluster_means import clustered_mean, standard_errors, t_inference


def test_means_have_limits_that_hold_with_few_and_many_clusters() -> None:
    rng = np.random.default_rng(4)
    for clusters in (30, 150):
        held = 0
        for _ in range(100):
            values = rng.normal(size=(clusters, 1)) + rng.normal(size=(clusters, 3)) + 5
            limits = clustered_mean(values.ravel(), np.repeat(np.arange(clusters), 3), seed=0)
            held += limits.low <= 5 <= limits.high
        assert held >= 89
    assert np.isnan(clustered_mean(np.zeros(0), np.zeros(0), seed=0).estimate)


def test_errors_of_columns_are_those_of_their_known_values() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 40))
    values[rng.random(values.shape) < 0.6] = np.nan
    values[:, 0], values[:, 1] = np.nan, [1.0, *[np.nan] * 11]
    errors, counts = standard_errors(values)
    for column, error, count in zip(values.T, errors, counts, strict=True):
        known = column[~np.isnan(column)]
        assert count == len(known)
        if len(known) < 2:
            assert np.isnan(error)
        else:
            assert error == pytest.approx(known.std(ddof=1) / len(known) ** 0.5)


def test_without_a_margin_the_test_is_student_s() -> None:
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(1).normal(0.4, 1, size=(9, 5))
    errors, counts = standard_errors(values)
    mine, theirs = t_inference(values.mean(axis=0), errors, counts - 1), ttest_1samp(values, 0.0)
    np.testing.assert_allclose(mine.p, theirs.pvalue)
    limits = theirs.confidence_interval(0.95)
    np.testing.assert_allclose(np.stack([mine.low, mine.high]), np.stack([limits.low, limits.high]))


def test_one_cluster_more_never_makes_the_limits_jump() -> None:
    """At 101 clusters the limits of skewed values once became a tenth narrower."""
    values = np.random.default_rng(8).lognormal(0, 1.2, 402)
    widths = {}
    for clusters in (100, 101, 399, 400):
        # the same values, so that only the number of clusters changes
        kept = np.sort(np.quantile(values, (np.arange(clusters) + 0.5) / clusters))
        limits = clustered_mean(kept, np.arange(clusters), seed=0)
        widths[clusters] = (limits.high - limits.low) * clusters**0.5 / kept.std()
    assert widths[101] == pytest.approx(widths[100], rel=0.04)
    assert widths[400] == pytest.approx(widths[399], rel=0.01)
    assert widths[100] > widths[400]
