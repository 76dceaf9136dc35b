"""Compute means over clusters: of many groups by Student's t, of a single column by t or the bootstrap."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from evenhand.schema import checked_kinds
from evenhand.stats.arrays import Floats, Indices, mean_of_known, require_same_length
from evenhand.stats.bootstrap import cluster_bootstrap
from evenhand.stats.cluster_interval import cluster_t
from evenhand.stats.intervals import Interval

RESAMPLED_UP_TO, STUDENT_FROM = 100, 400
"""Numbers of clusters up to which the bootstrap quantile replaces Student's t, and from which only t is used.

In between, the quantiles are interpolated, so that one more cluster never makes the bounds jump. With skewed
clusters, the bootstrap covers 90-94% at 10-100 clusters and Student's t covers 83-94%. At 200 clusters the
widths differ by a tenth.
"""
_RESAMPLES = 999
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ClusterMeans:
    """Estimates with confidence intervals and p-values.

    Attributes
    ----------
    estimate, low, high : numpy.ndarray, shape (m,)
        Estimates, and lower and upper bounds of their confidence intervals.
    p : numpy.ndarray, shape (m,)
        Two-sided p-values. p and the bounds are NaN if there is no usable standard error.
    """

    estimate: Floats
    low: Floats
    high: Floats
    p: Floats


@checked_kinds
def standard_errors(values: Floats) -> tuple[Floats, Indices]:
    """Return the standard error of each column's mean, and its number of clusters.

    Use it if each row is an independent unit, such as a prompt. Pass the result to `t_inference`.

    Parameters
    ----------
    values : numpy.ndarray, shape (clusters, columns)
        One row per cluster and one column per mean. NaN if a column has no value there.

    Returns
    -------
    standard_error : numpy.ndarray, shape (columns,)
        Standard error of each mean, in the unit of the values. NaN with fewer than two clusters.
    clusters : numpy.ndarray of int, shape (columns,)
        Number of clusters with a value.

    Examples
    --------
    >>> errors, clusters = standard_errors(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]]))
    >>> errors.round(4).tolist(), clusters.tolist()
    ([1.1547, 1.0], [3, 2])
    """
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    deviations = np.where(known, values - mean_of_known(values, 0), 0.0)
    return cluster_t(deviations.T, count, count).standard_error, count


@checked_kinds
def t_inference(
    estimate: npt.ArrayLike,
    standard_error: npt.ArrayLike,
    freedom: npt.ArrayLike,
    *,
    margin: float = 0.0,
    level: float = 0.95,
) -> ClusterMeans:
    """Return confidence intervals and p-values of estimates by Student's t.

    Use it if you have estimates and standard errors. With a margin, p tests whether the true value is farther than this
    from zero, so that tiny effects do not count.

    Parameters
    ----------
    estimate, standard_error : array_like, shape (m,)
        Estimates and standard errors, in the unit of `margin`.
    freedom : array_like, shape (m,)
        Degrees of freedom of Student's t, at least 1.
    margin : float, default 0.0
        Largest true value, in either direction, that counts as no effect; 0 or more. It affects p only.
    level : float, default 0.95
        Confidence level.

    Returns
    -------
    ClusterMeans
        Estimates with CI and p. Both are NaN if the standard error is 0 (up to rounding) or NaN.

    Notes
    -----
    p is twice the smaller p-value of two one-sided t tests, one against +margin and one against -margin. If nothing
    varied, a t test would give p = 0, which is why p is then NaN.

    Examples
    --------
    >>> t_inference([1.0], [0.5], [9]).p.round(4)
    array([0.0766])
    """
    center, error = np.asarray(estimate, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    df = np.asarray(freedom, dtype=np.float64)
    usable = np.isfinite(error) & (df >= 1) & (error > _ROUNDING * np.abs(center))
    df = np.where(usable, df, 1.0)
    reach = stdtrit(df, (1 + level) / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (np.abs(center) - margin) / error
    p = np.minimum(1.0, 2 * stdtr(df, -t))
    nan = np.full(center.shape, np.nan)
    return ClusterMeans(
        estimate=center,
        low=np.where(usable, center - reach, nan),
        high=np.where(usable, center + reach, nan),
        p=np.where(usable, p, nan),
    )


@checked_kinds
def clustered_mean(
    values: Floats, clusters: npt.ArrayLike, *, bounds: tuple[float, float] = (-np.inf, np.inf), seed: int
) -> Interval:
    """Return the mean of clustered values with its 95% CI.

    Use it for a single mean, such as a rate or a score, of responses that share prompts.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        Values, none of them missing.
    clusters : array_like, shape (n,)
        Label of each value's cluster, such as its prompt. Values of different clusters are independent.
    bounds : tuple of float, default no bounds
        Smallest and largest possible value. The interval is clipped to them.
    seed : int
        Random seed of the bootstrap.

    Returns
    -------
    Interval
        Mean with its interval. The bounds are NaN with fewer than two clusters.

    Notes
    -----
    The interval comes from the cluster bootstrap with up to 100 clusters, from Student's t with 400 or more,
    and from an interpolation of both in between.

    Examples
    --------
    >>> interval = clustered_mean(np.array([1.0, 3.0, 2.0, 2.0]), ["a", "a", "b", "b"], seed=0)
    >>> interval.estimate, interval.clusters
    (2.0, 2)
    """
    require_same_length("clustered_mean", values=values, clusters=clusters)
    nan = float("nan")
    if not len(values):
        return Interval(nan, nan, nan, nan, 0, 0)
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    number = int(codes.max()) + 1
    if number <= RESAMPLED_UP_TO:
        return cluster_bootstrap(values, codes, resamples=_RESAMPLES, bounds=bounds, seed=seed)
    mean = float(values.mean())
    sums = np.bincount(codes, weights=values - mean)
    spread = cluster_t(sums, len(values))
    error, half = float(spread.standard_error), float(spread.half_width())
    if number < STUDENT_FROM:
        resampled = cluster_bootstrap(values, codes, resamples=_RESAMPLES, seed=seed)
        share = (STUDENT_FROM - number) / (STUDENT_FROM - RESAMPLED_UP_TO)
        half += share * ((resampled.high - resampled.low) / 2 - half)
    return Interval(
        mean, max(mean - half, bounds[0]), min(mean + half, bounds[1]), error, number, len(values)
    )
