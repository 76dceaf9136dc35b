"""Test a mean of clustered outcomes by flipping the signs of whole clusters, with the CI that this test gives."""

import math
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt

from evenhand.schema import UsageError
from evenhand.stats.arrays import Floats

EXACT_UP_TO = 12
"""Largest number of clusters for which all sign patterns are used: 2,048 (a pattern and its opposite are the same)."""
DRAWS = 9_999
"""Number of random patterns if there are more clusters. The smallest possible p is then 1 in 10,000."""
_CELLS = 1 << 21


@dataclass(frozen=True)
class ClusterFlip:
    """Mean of clustered outcomes with CI and p from sign flips. Result of `cluster_flip`."""

    estimate: float
    """Sum of the totals divided by the sum of the sizes; NaN without clusters."""
    low: float
    high: float
    """Upper bound of the CI, which contains the means that the test does not reject; NaN without clusters."""
    p: float
    """Two-sided p-value of the hypothesis that the mean equals `null`; NaN without clusters."""
    clusters: int
    """Number of clusters with at least one outcome."""
    smallest_p: float
    """Smallest p-value that this number of clusters can give."""


def cluster_flip(
    totals: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    null: float = 0.0,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> ClusterFlip:
    """Test whether the mean of clustered outcomes equals `null` by flipping the signs of whole clusters.

    Parameters
    ----------
    totals : array_like, shape (k,)
        Sum of the outcomes of each cluster.
    sizes : array_like, shape (k,)
        Number of outcomes of each cluster. Clusters of size 0 are left out.
    null : float, default 0
        Tested mean.
    bounds : tuple of float, optional
        Lowest and highest possible mean. Default: unbounded.
    level : float, default 0.95
        Confidence level.
    draws : int
        Number of random sign patterns. With 12 or fewer clusters, all patterns are used.
    seed : int, default 0
        Random seed of the patterns.

    Returns
    -------
    ClusterFlip
        Mean, CI and p.

    Raises
    ------
    UsageError
        Shapes differ, a size is negative, a number is not finite, or `level` is not between 0 and 1.

    Notes
    -----
    The score of a cluster is its total minus `null` times its size. p is the share of sign patterns with an absolute
    sum of scores that is at least as large as the observed one. The CI contains the means that this test does not
    reject, so p <= 1 - level exactly if it excludes `null`. If all clusters have the same mean, the CI is that of a
    binomial over clusters (Clopper & Pearson 1934). The order of clusters has no effect.

    References
    ----------
    - Fisher 1935, section 21: sign flips.
    - Canay, Romano & Shaikh 2017: flips of whole clusters.
    - Phipson & Smyth 2010: p from random patterns.

    >>> flip = cluster_flip([7, 3, 1, 0, 5, 2, 1, 3], [8, 4, 1, 2, 6, 3, 1, 3], null=0.5, bounds=(0, 1))
    >>> round(flip.estimate, 3), round(flip.p, 4), flip.low, flip.high
    (0.786, 0.0703, 0.5, 1.0)
    """
    sums, counts = _check_clusters(totals, sizes, level, draws)
    number = len(sums)
    smallest = smallest_flip_p(number, draws=draws)
    if number == 0:
        return ClusterFlip(math.nan, math.nan, math.nan, math.nan, 0, smallest)
    alpha = 1.0 - level
    estimate = float(sums.sum() / counts.sum())
    means = sums / counts
    slack = 1e-9 * max(1.0, float(np.abs(means).max()), abs(null))
    below, above = _flipped_means(sums, counts, draws, seed)
    inside = int(np.count_nonzero((below <= null + slack) & (above >= null - slack)))
    drawn = number > EXACT_UP_TO
    patterns = len(below) + drawn  # random patterns, and the observed one
    p = (inside + drawn) / patterns
    place = math.floor(alpha * patterns + 1e-9) - drawn  # number of patterns that may be outside a bound
    low = float(np.partition(below, place)[place]) if place >= 0 else -math.inf
    high = -float(np.partition(-above, place)[place]) if place >= 0 else math.inf
    if float(np.ptp(means)) <= slack and math.isfinite(bounds[0]) and math.isfinite(bounds[1]):
        low, high = _limits_of_one_mean(estimate, null, bounds, number, alpha)
    if p > alpha:  # rounding must not exclude the null if p does not
        low, high = min(low, null), max(high, null)
    return ClusterFlip(estimate, max(low, bounds[0]), min(high, bounds[1]), p, number, smallest)


def smallest_flip_p(clusters: int, *, draws: int = DRAWS) -> float:
    """Return the smallest two-sided p-value that sign flips of this number of clusters can give; 1 without clusters.

    >>> smallest_flip_p(8), smallest_flip_p(500)
    (0.0078125, 0.0001)
    """
    if clusters <= 1:
        return 1.0
    exact = 2.0 ** (1 - clusters)
    return exact if clusters <= EXACT_UP_TO else max(exact, 1.0 / (1 + draws))


def sign_patterns(clusters: int, draws: int, seed: int) -> Floats:
    """Return sign patterns (+1, -1), one per row: all (without opposites) up to EXACT_UP_TO clusters, else random."""
    if clusters <= EXACT_UP_TO:
        bits = (np.arange(1 << max(0, clusters - 1))[:, None] >> np.arange(clusters)) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, size=(draws, clusters), dtype=np.int8)
    return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)


def _flipped_means(sums: Floats, counts: Floats, draws: int, seed: int) -> tuple[Floats, Floats]:
    """Return for each pattern the smaller and the larger of two means: of its flipped and of its other clusters.

    A pattern's |sum| is at least as large as the observed one exactly for the nulls between these two means. They
    therefore give p for any null, and the bounds of the CI are order statistics of them (Hartigan 1969).
    """
    number = len(sums)
    both = np.column_stack([sums, counts])
    if number <= EXACT_UP_TO:
        moved = sign_patterns(number, draws, seed) @ both
    else:
        # seed by the data: if all data sets shared one set of patterns, their p-values would share its error
        generator = np.random.default_rng([seed, crc32(both.tobytes())])
        step = max(1, _CELLS // number)
        parts = []
        for start in range(0, draws, step):
            bits = generator.integers(0, 2, size=(min(step, draws - start), number), dtype=np.int8)
            parts.append((1.0 - 2.0 * bits) @ both)
        moved = np.concatenate(parts)
    whole_sum, whole_count = sums.sum(), counts.sum()
    flipped, left = (whole_count - moved[:, 1]) / 2, (whole_count + moved[:, 1]) / 2
    # A pattern that flips all clusters or none gives the observed |sum| for every null. It counts as "at least as
    # extreme" for each of them, so its interval of means is unbounded.
    everything = np.minimum(flipped, left) <= 1e-9 * whole_count
    with np.errstate(divide="ignore", invalid="ignore"):
        one = (whole_sum - moved[:, 0]) / 2 / flipped
        two = (whole_sum + moved[:, 0]) / 2 / left
    below = np.where(everything, -np.inf, np.minimum(one, two))
    above = np.where(everything, np.inf, np.maximum(one, two))
    return below, above


def _limits_of_one_mean(
    mean: float, null: float, bounds: tuple[float, float], clusters: int, alpha: float
) -> tuple[float, float]:
    """Return the CI if all clusters have the same mean.

    Other clusters may still differ. At least the share `alike` of all clusters has this mean. The rest is assumed to
    be as far away as possible: at the bound, or mirrored at the null.
    """
    # Clopper and Pearson's lower bound of the share that agrees, if k of k clusters do
    alike = (alpha / 2) ** (1 / clusters)
    towards_null = null + (mean - null) * (2 * alike - 1)
    if mean > null:
        return towards_null, mean + (1 - alike) * (bounds[1] - mean)
    if mean < null:
        return mean - (1 - alike) * (mean - bounds[0]), towards_null
    return mean - (1 - alike) * (mean - bounds[0]), mean + (1 - alike) * (bounds[1] - mean)


def _check_clusters(
    totals: npt.ArrayLike, sizes: npt.ArrayLike, level: float, draws: int
) -> tuple[Floats, Floats]:
    sums, counts = np.asarray(totals, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if sums.ndim != 1 or counts.shape != sums.shape:
        raise UsageError(
            f"cluster_flip: totals of shape {sums.shape} and sizes of shape {counts.shape} do not match.",
            "Give one total and one size for each cluster, in one-dimensional arrays.",
        )
    if not (np.isfinite(sums).all() and np.isfinite(counts).all()) or (counts < 0).any():
        raise UsageError(
            "cluster_flip: totals must be finite, and sizes finite and 0 or more.",
            "Leave missing outcomes out of both.",
        )
    if not 0.0 < level < 1.0 or draws < 1:
        raise UsageError(
            "cluster_flip: level must be between 0 and 1, and draws at least 1 (usually 9,999), got "
            f"level={level}, draws={draws}."
        )
    held = counts > 0
    sums, counts = sums[held], counts[held]
    order = np.lexsort((counts, sums))
    return sums[order], counts[order]
