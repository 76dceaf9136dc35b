"""The mean of numbers that come in clusters, with limits: by resampling where clusters are few, else by t."""

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.stats import cluster_bootstrap
from evenhand.stats.intervals import Interval

Floats = npt.NDArray[np.float64]

RESAMPLED_UP_TO = 100
"""Clusters up to which Student's quantile is replaced by the bootstrap's; with more the two are alike."""
_RESAMPLES = 999


def clustered_mean(
    values: Floats, clusters: npt.ArrayLike, *, bounds: tuple[float, float] = (-np.inf, np.inf), seed: int
) -> Interval:
    """The mean of values (n,), none of them missing, with 95 % limits for clusters (n,), any labels.

    bounds: of what is possible. seed: of the bootstrap. NaN limits with fewer than two clusters.

    >>> interval = clustered_mean(np.array([1.0, 3.0, 2.0, 2.0]), ["a", "a", "b", "b"], seed=0)
    >>> interval.estimate, interval.clusters
    (2.0, 2)
    """
    nan = float("nan")
    if not len(values):
        return Interval(nan, nan, nan, nan, 0, 0)
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    number = int(codes.max()) + 1
    if number <= RESAMPLED_UP_TO:
        return cluster_bootstrap(values, codes, resamples=_RESAMPLES, bounds=bounds, seed=seed)
    mean = float(values.mean())
    sums = np.bincount(codes, weights=values - mean)
    error = float((number / (number - 1) * np.square(sums).sum()) ** 0.5) / len(values)
    half = float(stdtrit(number - 1, 0.975)) * error
    return Interval(
        mean, max(mean - half, bounds[0]), min(mean + half, bounds[1]), error, number, len(values)
    )
