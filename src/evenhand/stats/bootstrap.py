"""Compute cluster-bootstrap intervals for numbers whose observations share prompts or templates."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.schema import UsageError, checked, checked_kinds
from evenhand.stats.arrays import Codes, Floats, call_statistic
from evenhand.stats.cluster_interval import cluster_t, upper_tail
from evenhand.stats.clusters import (
    CELLS,
    Statistic,
    cluster_ways,
    combine_variances,
    linear_variance,
    point_estimate,
    resample_counts,
    resampled_variance,
    studentised_quantile,
)
from evenhand.stats.intervals import Interval


@dataclass(frozen=True)
class Intervals:
    """Several estimates with their confidence intervals and standard errors.

    Attributes
    ----------
    estimate, low, high, standard_error : numpy.ndarray, shape (rows,)
        Estimates, lower and upper bounds of the intervals, and standard errors, all in the unit of the estimates.
    clusters : numpy.ndarray of int, shape (rows,)
        Number of clusters (sets of dependent observations) behind each estimate.
    """

    estimate: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    clusters: npt.NDArray[np.int64]


@checked
def cluster_bootstrap(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    second_clusters: npt.ArrayLike | None = None,
    statistic: Literal["mean"] | Statistic = "mean",
    weights: npt.ArrayLike | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    bounds: tuple[float, float] | None = None,
    seed: int,
) -> Interval:
    """Return a bootstrap interval of a statistic of clustered observations.

    Use it if only observations of different clusters, such as prompts, are independent.

    Parameters
    ----------
    values : array_like, shape (n,)
        Observations. Missing ones (NaN) and clusters without any other observation are left out.
    clusters : array_like, shape (n,)
        Label of each observation's cluster, such as its prompt, template or person.
    second_clusters : array_like, shape (n,), optional
        Labels of a second, crossed factor (for example template and noun).
    statistic : {"mean"} or callable, default "mean"
        "mean" is the mean, or with `weights` the ratio sum(w v) / sum(w). A callable takes values (n,) and weights
        (resamples, n) and returns (resamples,).
    weights : array_like, shape (n,), optional
        Weights, 0 or more.
    bounds : tuple of float, optional
        Smallest and largest possible value. The interval is clipped to them.
    resamples, level, seed
        Number of bootstrap resamples of clusters (default 2000), confidence level (default 0.95), random seed.

    Returns
    -------
    Interval
        Estimate and interval. The bounds are NaN with fewer than two clusters.

    Raises
    ------
    UsageError
        Shapes differ, or a weight is negative or NaN.

    Notes
    -----
    A one-way mean or ratio gets the symmetric studentised bootstrap. The deviation of each resample is divided by its
    own cluster-robust standard error. The 95% quantile of the absolute result replaces 1.96. In simulations of 10 to
    100 clusters, these intervals cover 94-96%, and percentile intervals 87-94% (tests/stats/test_bootstrap.py). If the
    means of all clusters are equal, the interval has width 0. For a proportion near 0 or 1, use
    `clustered_proportion_interval`.

    Other statistics, and two-way clusters, get the estimate ± t × standard error. Student's t has (the smaller number
    of) clusters - 1 degrees of freedom. The two-way variance is the sum of both one-way variances minus that of the
    combinations of both labels, but at least the larger one-way variance. A two-way mean needs no resampling.

    Sources: Davison & Hinkley 1997, ch. 2.4 and 5.2; Hall 1988 (symmetric studentised); Cameron, Gelbach & Miller 2011
    and Owen 2007 (two-way; his pigeonhole bootstrap is too wide if cells vary most).

    Examples
    --------
    >>> result = cluster_bootstrap([1, 2, 2, 3, 4, 6], ["a", "a", "b", "b", "c", "c"], seed=0)
    >>> result.estimate, result.clusters, result.low < 3 < result.high
    (3.0, 3, True)
    """
    data = _observations(values, clusters, second_clusters, weights)
    numbers, mass, first, second = data
    n = len(numbers)
    groups = int(first.max()) + 1 if n else 0
    second_groups = int(second.max()) + 1 if second is not None and n else None
    fewest = groups if second_groups is None else min(groups, second_groups)
    if fewest < 2:
        estimate = point_estimate(numbers, mass, statistic) if n else float("nan")
        return Interval(estimate, float("nan"), float("nan"), float("nan"), fewest, n)
    if statistic == "mean" and second is None:
        sums = np.bincount(first, weights=numbers * mass)[None, :]
        totals = np.bincount(first, weights=mass)[None, :]
        table = cluster_bootstrap_table(sums, totals, resamples=resamples, level=level, seed=seed)
        estimate, error = float(table.estimate[0]), float(table.standard_error[0])
        low, high = float(table.low[0]), float(table.high[0])
    else:
        estimate = point_estimate(numbers, mass, statistic)
        if statistic == "mean":
            variances = [
                linear_variance(numbers, mass, estimate, codes) for codes in cluster_ways(first, second)
            ]
        else:
            seeds = np.random.SeedSequence(seed).spawn(3)
            variances = [
                resampled_variance(numbers, mass, statistic, codes, resamples, seed_of_way)
                for codes, seed_of_way in zip(cluster_ways(first, second), seeds, strict=False)
            ]
        error = combine_variances(variances) ** 0.5
        half = float(stdtrit(fewest - 1, upper_tail(level))) * error
        low, high = estimate - half, estimate + half
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Interval(estimate, low, high, error, fewest, n)


@checked_kinds
def difference_bootstrap(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    second_clusters: npt.ArrayLike | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int,
) -> Interval:
    """Return a cluster-bootstrap interval of the mean paired difference, first minus second.

    Use it to compare two systems on the same prompts.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Values of two systems, in pairs (on the same n prompts). A pair with a missing value (NaN) is left out.
    clusters, second_clusters, resamples, level, seed
        As in `cluster_bootstrap`.

    Returns
    -------
    Interval
        Mean difference, first minus second, with its interval. Raises UsageError if the shapes differ.

    Notes
    -----
    Source: Miller 2024 (arXiv:2411.00640).

    Examples
    --------
    >>> difference_bootstrap([2, 3, 5, 5], [1, 1, 2, 3], [0, 0, 1, 1], seed=0).estimate
    2.0
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape:
        raise UsageError(f"Paired values must have the same shape, got {one.shape} and {other.shape}.")
    return cluster_bootstrap(
        one - other, clusters, second_clusters=second_clusters, resamples=resamples, level=level, seed=seed
    )


@checked_kinds
def sums_bootstrap(
    parts: npt.ArrayLike,
    clusters: npt.ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int,
) -> Intervals:
    """Return bootstrap intervals of statistics that are functions of sums, such as BLEU or F1.

    Use it if a score of a corpus is not a mean of scores of texts.

    Parameters
    ----------
    parts : array_like, shape (n, k)
        One row per text (or other observation): its contribution to each of the k sums, without NaN. To compare two
        systems, put their contributions in separate columns and subtract in `statistic`.
    clusters : array_like, shape (n,)
        Label of each row's cluster. Whole clusters are resampled.
    statistic : callable
        Takes sums (..., k) and returns statistics (..., m).
    resamples, level, seed
        As in `cluster_bootstrap`. A resample in which a statistic is not finite is left out for it.

    Returns
    -------
    Intervals
        m rows: estimate ± t × standard error, where Student's t has clusters - 1 degrees of freedom. The bounds are
        NaN with fewer than two clusters. Raises UsageError if the shapes do not match.

    Notes
    -----
    Sources: Davison & Hinkley 1997, ch. 2; Koehn 2004 (BLEU over segments).

    Examples
    --------
    >>> result = sums_bootstrap([[1, 2], [2, 2], [3, 4]], [0, 1, 2], lambda s: s[..., :1] / s[..., 1:], seed=0)
    >>> result.estimate.tolist(), bool(result.low[0] < 0.75 < result.high[0])
    ([0.75], True)
    """
    table, labels = np.asarray(parts, dtype=np.float64), np.asarray(clusters)
    if table.ndim != 2 or labels.shape != table.shape[:1]:
        raise UsageError(
            f"sums_bootstrap: parts of shape {table.shape} and clusters of shape {labels.shape} do not match.",
            "Give parts of shape (n, k), and one cluster label for each of the n rows.",
        )
    codes = _codes(labels)
    groups = int(codes.max()) + 1 if len(codes) else 0
    sums = np.stack([np.bincount(codes, weights=column, minlength=groups) for column in table.T], axis=-1)
    apply = partial(call_statistic, "sums_bootstrap", "statistic", statistic)
    estimate = apply(sums.sum(axis=0))
    present = np.full(len(estimate), groups, dtype=np.int64)
    if groups < 2:
        unknown = np.full(len(estimate), np.nan)
        return Intervals(estimate, unknown, unknown, unknown, present)
    draws = np.empty((resamples, len(estimate)))
    step = max(1, CELLS // groups)
    starts = range(0, resamples, step)
    for start, block in zip(starts, np.random.SeedSequence(seed).spawn(len(starts)), strict=True):
        counts = resample_counts(groups, min(step, resamples - start), block)
        draws[start : start + step] = apply(counts @ sums, shape=(len(counts), len(estimate)))
    draws = np.where(np.isfinite(draws), draws, np.nan)
    known = np.count_nonzero(~np.isnan(draws), axis=0) > 1
    variance = np.full(len(estimate), np.nan)
    variance[known] = np.nanvar(draws[:, known], axis=0, ddof=1)
    error = np.sqrt(variance * groups / (groups - 1))  # resamples vary too little, by (G - 1) / G
    half = float(stdtrit(groups - 1, upper_tail(level))) * error
    return Intervals(estimate, estimate - half, estimate + half, error, present)


@checked_kinds
def jackknife(estimate: npt.ArrayLike, others: npt.ArrayLike, *, level: float = 0.95) -> Intervals:
    """Return jackknife intervals: estimate ± t × jackknife standard error.

    Use it for statistics that a bootstrap would bias, such as a number of distinct words: a resample contains some
    clusters (sets of dependent observations) twice.

    Parameters
    ----------
    estimate : array_like, shape (m,)
        The m statistics, computed from all clusters.
    others : array_like, shape (clusters, m)
        The statistics, recomputed without each cluster in turn.
    level : float, default 0.95
        Confidence level.

    Returns
    -------
    Intervals
        m rows. Student's t has clusters - 1 degrees of freedom. The bounds are NaN with fewer than two clusters.
        Raises UsageError if the shapes do not match.

    Notes
    -----
    Sources: Arvesen 1969; Efron & Stein 1981 (in expectation, the standard error is not too small).

    Examples
    --------
    >>> jackknife([2.0], [[2.5], [2.0], [1.5]]).standard_error.round(4).tolist()  # mean of 1, 2 and 3
    [0.5774]
    """
    value = np.atleast_1d(np.asarray(estimate, dtype=np.float64))
    without = np.asarray(others, dtype=np.float64)
    if without.ndim == 1:
        without = without[:, None]
    if value.ndim != 1 or without.ndim != 2 or without.shape[1:] != value.shape:
        raise UsageError(
            f"jackknife: others of shape {np.shape(others)} does not match an estimate of shape {value.shape}.",
            "Give m estimates, and others of shape (clusters, m): one row for each cluster.",
        )
    groups = len(without)
    present = np.full(len(value), groups, dtype=np.int64)
    if groups < 2:
        unknown = np.full(len(value), np.nan)
        return Intervals(value, unknown, unknown, unknown, present)
    error = np.sqrt((groups - 1) / groups * np.square(without - without.mean(axis=0)).sum(axis=0))
    half = float(stdtrit(groups - 1, upper_tail(level))) * error
    return Intervals(value, value - half, value + half, error, present)


@checked
def cluster_bootstrap_table(
    sums: npt.ArrayLike, totals: npt.ArrayLike, *, resamples: int = 2000, level: float = 0.95, seed: int
) -> Intervals:
    """Return studentised cluster-bootstrap intervals of many means or ratios over the same clusters.

    Use it for many rows at once, such as the descriptors of people, whose clusters are the same templates. Each row is
    estimated by sum(sums) / sum(totals). All rows share the same resampled clusters.

    Parameters
    ----------
    sums : array_like, shape (rows, clusters)
        Sum of a row's observations in each cluster. NaN if the row has none.
    totals : array_like, shape (rows, clusters)
        Number or weight of a row's observations in each cluster. 0 if the row has none.
    resamples, level, seed
        As in `cluster_bootstrap`, which has the sources too.

    Returns
    -------
    Intervals
        One row per estimate; the bounds are NaN with fewer than two clusters. Raises UsageError if the shapes differ.

    Examples
    --------
    >>> table = cluster_bootstrap_table([[2.0, 4.0, 3.0], [1.0, 1.0, 4.0]], [[2, 2, 2], [1, 1, 2]], seed=0)
    >>> table.estimate.tolist()
    [1.5, 1.5]
    """
    row_sums = np.atleast_2d(np.asarray(sums, dtype=np.float64))
    row_totals = np.atleast_2d(np.asarray(totals, dtype=np.float64))
    if row_sums.shape != row_totals.shape or row_sums.ndim != 2:
        raise UsageError(
            f"cluster_bootstrap_table: sums has shape {np.shape(sums)}, and totals {np.shape(totals)}.",
            "Give both arrays in the shape (rows, clusters).",
        )
    known = (row_totals > 0) & ~np.isnan(row_sums)
    row_sums, row_totals = np.where(known, row_sums, 0.0), np.where(known, row_totals, 0.0)
    present = np.count_nonzero(known, axis=1)
    mass = row_totals.sum(axis=1)
    estimate = np.divide(row_sums.sum(axis=1), mass, out=np.full(len(mass), np.nan), where=mass > 0)
    # use deviations from the estimate: with raw sums, the resampled variances would be lost to rounding
    deviations = np.where(known, row_sums - np.nan_to_num(estimate)[:, None] * row_totals, 0.0)
    enough = present >= 2
    factor = np.sqrt(present / np.maximum(present - 1, 1))
    error = cluster_t(deviations, mass, present).standard_error
    # removes rounding errors of rows that do not vary
    scale = np.abs(row_sums).sum(axis=1)
    error[enough & (error * mass <= 1e-13 * scale)] = 0.0
    counts = resample_counts(row_sums.shape[1], resamples, np.random.SeedSequence(seed))
    quantile = np.full(len(mass), np.nan)
    step = max(1, CELLS // max(1, resamples))
    for start in range(0, len(mass), step):
        rows = slice(start, start + step)
        quantile[rows] = studentised_quantile(
            deviations[rows], row_totals[rows], error[rows], factor[rows], present[rows], counts, level
        )
    half = quantile * error
    return Intervals(estimate, estimate - half, estimate + half, error, present.astype(np.int64))


def _observations(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    second_clusters: npt.ArrayLike | None,
    weights: npt.ArrayLike | None,
) -> tuple[Floats, Floats, Codes, Codes | None]:
    numbers = np.asarray(values, dtype=np.float64)
    mass = np.ones_like(numbers) if weights is None else np.asarray(weights, dtype=np.float64)
    first = np.asarray(clusters)
    second = None if second_clusters is None else np.asarray(second_clusters)
    shapes = {numbers.shape, mass.shape, first.shape} | (set() if second is None else {second.shape})
    if len(shapes) > 1 or numbers.ndim != 1:
        raise UsageError(
            f"Values, clusters and weights have different shapes: {sorted(shapes)}.",
            "Give one cluster label and one weight for each value, in one-dimensional arrays.",
        )
    if not np.all(mass >= 0):
        raise UsageError("weights must contain numbers of 0 or more, but one is negative or NaN.")
    known = ~np.isnan(numbers) & (mass > 0)
    second_codes = None if second is None else _codes(second[known])
    return numbers[known], mass[known], _codes(first[known]), second_codes


def _codes(labels: npt.NDArray[np.generic]) -> Codes:
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp)
