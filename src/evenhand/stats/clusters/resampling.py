"""Resample clusters with replacement: counts of the resamples, quantiles and variances of a statistic over them."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.stats.arrays import Codes, Floats, Indices
from evenhand.stats.cluster_interval import cluster_t, upper_tail

Statistic = Callable[[Floats, Floats], npt.ArrayLike]
"""Function of values (n,) and weights (resamples, n) that returns one number per resample."""
CELLS = 1 << 22
"""Largest number of floats in memory at a time while resampling (32 MB)."""


def studentised_quantile(
    deviations: Floats,
    totals: Floats,
    error: Floats,
    factor: Floats,
    present: Indices,
    counts: Floats,
    level: float,
) -> Floats:
    """Return for each row the quantile of |resampled deviation| / its standard error in that resample, shape (rows,).

    Parameters
    ----------
    deviations, totals : numpy.ndarray, shape (rows, clusters)
        Sum of weight × (value - estimate), and sum of weights, in each cluster.
    error, factor, present : numpy.ndarray, shape (rows,)
        Standard error of the row's estimate, √(G / (G - 1)) for its G clusters, and G.
    counts : numpy.ndarray, shape (resamples, clusters)
        How often each cluster was drawn in each resample.
    level : float
        Level of the quantile.

    Returns
    -------
    numpy.ndarray, shape (rows,)
        Quantiles. Student's quantile if no resample can be used.
    """
    mass = counts @ totals.T  # (resamples, rows)
    usable = mass > 0
    mass = np.where(usable, mass, 1.0)
    shift = (counts @ deviations.T) / mass
    square = counts @ np.square(deviations).T - 2.0 * shift * (counts @ (deviations * totals).T)
    square += np.square(shift) * (counts @ np.square(totals).T)
    own_error = factor * np.sqrt(np.maximum(square, 0.0)) / mass
    student = stdtrit(np.maximum(present - 1, 1), upper_tail(level))
    with np.errstate(invalid="ignore"):
        usable &= own_error > 1e-5 * error
    ratio = np.abs(np.divide(shift, own_error, out=np.full_like(shift, np.nan), where=usable))
    complete = usable.all(axis=0)
    result = np.array(student, dtype=np.float64)
    if complete.any():
        result[complete] = np.quantile(ratio[:, complete], level, axis=0)
    # A resample of identical clusters has no standard error and is left out. The remaining resamples vary too
    # little, so such a row gets at least Student's quantile.
    for row in np.flatnonzero(~complete & usable.any(axis=0)):
        result[row] = max(result[row], float(np.quantile(ratio[usable[:, row], row], level)))
    return result


def resample_counts(groups: int, resamples: int, seed: np.random.SeedSequence) -> Floats:
    """Return how often each of `groups` clusters was drawn in each resample, shape (resamples, clusters)."""
    if groups == 0:
        return np.zeros((resamples, 0))
    drawn = np.random.default_rng(seed).integers(0, groups, size=(resamples, groups))
    drawn += np.arange(resamples)[:, None] * groups
    return np.bincount(drawn.ravel(), minlength=resamples * groups).reshape(resamples, groups).astype(float)


def resampled_variance(
    numbers: Floats,
    mass: Floats,
    statistic: Statistic,
    codes: Codes,
    resamples: int,
    seed: np.random.SeedSequence,
) -> float:
    """Return the bootstrap variance of a statistic over resampled clusters.

    `numbers`, `mass` and `codes` have the shape (n,): values, their weights, and the code of each value's cluster. The
    variance is multiplied by G / (G - 1) for G clusters, because that of a resample is too small by this factor.
    """
    groups = int(codes.max()) + 1
    draws = np.empty(resamples)
    step = max(1, CELLS // max(groups, len(numbers)))
    for start, seed_of_block in zip(
        range(0, resamples, step), seed.spawn(-(-resamples // step)), strict=True
    ):
        counts = resample_counts(groups, min(step, resamples - start), seed_of_block)
        draws[start : start + step] = np.asarray(statistic(numbers, counts[:, codes] * mass))
    draws = draws[np.isfinite(draws)]
    return float(draws.var(ddof=1)) * groups / (groups - 1) if len(draws) > 1 else float("nan")


def linear_variance(numbers: Floats, mass: Floats, estimate: float, codes: Codes) -> float:
    """Return the cluster-robust variance of the weighted mean `estimate`; arrays are as in `resampled_variance`."""
    scores = np.bincount(codes, weights=mass * (numbers - estimate))
    return float(cluster_t(scores, mass.sum()).standard_error) ** 2


def cluster_ways(first: Codes, second: Codes | None) -> list[Codes]:
    """Return the clusterings (n,) whose variances `combine_variances` combines.

    These are `first`, or with a second clustering: `first`, `second`, and their intersection (equal codes if both
    agree).
    """
    if second is None:
        return [first]
    cells = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
    return [first, second, cells]


def combine_variances(variances: list[float]) -> float:
    """Combine the variances of one or two clusterings: first + second - intersection, and at least the larger of the
    two.
    """
    if len(variances) == 1:
        return variances[0]
    one, other, cells = variances
    # By chance, the difference can be smaller than a one-way variance, or negative.
    return max(one + other - cells, one, other)


def point_estimate(numbers: Floats, mass: Floats, statistic: Literal["mean"] | Statistic) -> float:
    """Return the mean of `numbers` (n,) with the weights `mass` (n,), or the value of another statistic, as a float."""
    if statistic == "mean":
        return float(numbers @ mass / mass.sum())
    return float(np.asarray(statistic(numbers, mass[None, :])).ravel()[0])
