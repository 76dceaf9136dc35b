"""Clustered errors are those of statsmodels' cluster-robust regression and of plain Student's t."""

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats.cluster_interval import cluster_t


def test_errors_and_limits_are_statsmodels_cluster_robust_ones() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    for clusters, n in ((2, 9), (7, 50), (60, 300)):
        codes = np.concatenate([np.arange(clusters), rng.integers(0, clusters, n - clusters)])
        values = rng.normal(size=clusters)[codes] + rng.normal(size=n)
        fitted = sm.OLS(values, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
        mine = cluster_t(np.bincount(codes, weights=values - values.mean()), n)
        assert float(mine.standard_error) == pytest.approx(fitted.bse[0])
        for level in (0.8, 0.95):
            low, high = fitted.conf_int(1 - level)[0]
            assert float(mine.half_width(level)) == pytest.approx((high - low) / 2)


def test_clusters_of_one_give_student_s_interval() -> None:
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(1).normal(size=(6, 11))
    mine = cluster_t(values - values.mean(axis=1, keepdims=True), 11)
    limits = ttest_1samp(values, 0.0, axis=1).confidence_interval(0.9)
    np.testing.assert_allclose(2 * mine.half_width(0.9), limits.high - limits.low)


def test_estimates_may_have_clusters_of_their_own_number() -> None:
    sums = np.array(
        [[1.0, -1.0, 0.0, 0.0], [1.0, -2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    )
    mine = cluster_t(sums, [2, 4, 3, 0], [2, 4, 1, 0])
    alone = [
        float(cluster_t(row[:number], size).standard_error)
        for row, number, size in ((sums[0], 2, 2), (sums[1], 4, 4))
    ]
    assert mine.standard_error[:2].tolist() == pytest.approx(alone)
    assert np.isnan(mine.standard_error[2:]).all() and np.isnan(mine.half_width()[2:]).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_outside_0_to_1_is_refused(level: float) -> None:
    with pytest.raises(UsageError, match="level must be between 0 and 1"):
        cluster_t([1.0, -1.0], 2).half_width(level)


def test_too_few_clusters_no_mass_and_missing_sums() -> None:
    alone = cluster_t([[1.0, -1.0, 0.5], [0.5, 0.0, 0.0]], [0, 3], [3, 1])
    assert np.isnan(alone.standard_error).all() and np.isnan(alone.half_width()).all()
    assert alone.quantile().tolist() == pytest.approx([4.3027, np.nan], abs=1e-4, nan_ok=True)
    assert float(cluster_t([0.0, 0.0], 4).half_width()) == 0
    with pytest.raises(UsageError, match="contains NaN"):
        cluster_t([1.0, np.nan], 2)
    with pytest.raises(UsageError, match="clusters contains 3, but sums has"):
        cluster_t([1.0, 2.0], 2, 3)
