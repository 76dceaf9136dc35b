"""Compute cluster-robust standard errors of means, ratios and smooth functions of means.

Up to a remainder, each of these statistics is an average of the influences of its observations. An influence is
the amount by which one observation moves the estimate. Influences within a cluster are summed first, because
they may be correlated. The spread of these sums gives the standard error.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.schema import UsageError, checked_kinds
from evenhand.stats.arrays import Floats, Indices


@dataclass(frozen=True)
class ClusterT:
    """Cluster-robust standard errors, with Student's t for confidence intervals.

    Attributes
    ----------
    standard_error : numpy.ndarray, shape (...,)
        Standard error of each estimate, in its unit; NaN with fewer than two clusters.
    clusters : numpy.ndarray of int
        Number of clusters behind each estimate.
    """

    standard_error: Floats
    """NaN with fewer than two clusters."""
    clusters: Indices

    def quantile(self, level: float = 0.95) -> Floats:
        """Return by how many standard errors the bounds of a two-sided interval differ from the estimate.

        This is the quantile of Student's t with clusters - 1 degrees of freedom. NaN with fewer than two
        clusters. Raises UsageError if `level` is not between 0 and 1.
        """
        reach = stdtrit(np.maximum(self.clusters - 1, 1), upper_tail(level))
        return np.asarray(np.where(self.clusters > 1, reach, np.nan))

    def half_width(self, level: float = 0.95) -> Floats:
        """Return half of the width of a two-sided interval, in the unit of the estimates.

        NaN with fewer than two clusters.
        """
        return np.asarray(self.quantile(level) * self.standard_error)


@checked_kinds
def cluster_t(sums: npt.ArrayLike, size: npt.ArrayLike, clusters: npt.ArrayLike | None = None) -> ClusterT:
    """Return cluster-robust standard errors of means or ratios, with Student's t for the interval.

    Use it for many estimates at once, without resampling. Clusters are sets of observations, such as the responses to a
    prompt. Observations may be correlated within a cluster only.

    Parameters
    ----------
    sums : array_like, shape (..., clusters)
        For each estimate, the sum over each cluster of weight × (value - estimate). 0 if an estimate has no
        observation in a cluster.
    size : array_like, shape (...,)
        Number or total weight of the observations behind each estimate. If it is 0, the standard error is NaN.
    clusters : array_like, shape (...,), optional
        Number of clusters of each estimate. Default: all clusters.

    Returns
    -------
    ClusterT
        Standard errors and half-widths of shape (...,). Student's t has clusters - 1 degrees of freedom.

    Raises
    ------
    UsageError
        `clusters` exceeds the number of sums, the shapes do not match, or a sum is not finite. Leave missing
        observations out of the sums.

    References
    ----------
    - Liang & Zeger 1986: the sum over clusters.
    - Cameron & Miller 2015, sections II.B and VI: the factor G / (G - 1) for G clusters, and t with G - 1 degrees of
      freedom.

    Examples
    --------
    The mean of three values in three clusters, which differ from it by -1, 0 and 1:

    >>> of_mean = cluster_t([-1.0, 0.0, 1.0], 3)
    >>> round(float(of_mean.standard_error), 4), round(float(of_mean.half_width()), 4)
    (0.5774, 2.4841)
    """
    moved = np.asarray(sums, dtype=np.float64)
    if moved.ndim == 0:
        raise UsageError(
            "cluster_t: sums must be an array, got one number.", "Give one sum for each cluster."
        )
    counts = np.asarray(moved.shape[-1] if clusters is None else clusters)
    if counts.dtype.kind not in "iuf" or not (counts.size and np.all(counts >= 0)):
        raise UsageError(
            f"cluster_t: clusters must contain whole numbers of 0 or more, got {np.array2string(counts, threshold=4)}.",
            "Give the number of clusters of each row of sums (not their labels), or leave clusters out.",
        )
    try:
        np.broadcast_shapes(np.shape(size), counts.shape, moved.shape[:-1])
    except ValueError as error:
        raise UsageError(
            f"cluster_t: sums of shape {moved.shape}, size of shape {np.shape(size)} and clusters of shape "
            f"{counts.shape} do not match.",
            "Give one size and one number of clusters for each row of sums.",
        ) from error
    if not np.isfinite(moved).all():
        raise UsageError(
            "cluster_t: sums contains NaN or infinity.",
            "Leave missing observations out of the sums: 0 adds nothing.",
        )
    if np.any(counts > moved.shape[-1]):
        raise UsageError(
            f"cluster_t: clusters contains {counts.max():.0f}, but sums has only {moved.shape[-1]} columns of "
            "clusters.",
            "Give one sum for each cluster.",
        )
    number = counts.astype(np.intp)
    enough = (number > 1) & (np.asarray(size, dtype=np.float64) > 0)
    factor = np.where(enough, number / np.where(enough, number - 1, 1), np.nan)
    mass = np.where(enough, np.asarray(size, dtype=np.float64), 1.0)
    return ClusterT(np.asarray(np.sqrt(factor * np.square(moved).sum(axis=-1)) / mass), number)


def upper_tail(level: float) -> float:
    """Return the probability below the upper bound of a two-sided interval; UsageError if `level` is not in (0, 1)."""
    if not 0.0 < level < 1.0:
        raise UsageError(
            f"level must be between 0 and 1, got {level}.", "For a 95% confidence interval use level=0.95."
        )
    return 0.5 + level / 2.0
