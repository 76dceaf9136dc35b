"""The mean over a few clusters (templates, nouns) with its t interval and a minimum-effect test."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterMeans:
    """Estimates of m groups, each (m,): NaN limits and p where a group has fewer than two clusters."""

    estimate: Floats
    low: Floats
    high: Floats
    p: Floats


def standard_errors(values: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Standard error of each column's mean over the clusters in the rows, and how many clusters it has."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    mean = np.nansum(values, axis=0) / np.where(count > 0, count, np.nan)
    squares = np.nansum((values - mean) ** 2, axis=0)
    return np.sqrt(squares / np.where(count > 1, (count - 1) * count, np.nan)), count


def t_inference(
    estimate: ArrayLike,
    standard_error: ArrayLike,
    freedom: ArrayLike,
    *,
    margin: float = 0.0,
    level: float = 0.95,
) -> ClusterMeans:
    """Interval, and two-sided p of the hypothesis that the true value lies within `margin` of zero.

    estimate, standard_error: (m,), same unit as margin. freedom: (m,), degrees of freedom, at least 1.
    p doubles the smaller of two one-sided t tests, one against +margin and one against -margin; a
    standard error of zero gives p = 0 outside the margin and 1 inside.

    >>> t_inference([1.0], [0.5], [9]).p.round(4)
    array([0.0766])
    """
    center, error = np.asarray(estimate, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    df = np.asarray(freedom, dtype=np.float64)
    usable = np.isfinite(error) & (df >= 1)
    df = np.where(usable, df, 1.0)
    reach = stdtrit(df, (1 + level) / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (np.abs(center) - margin) / error
    t = np.where(error == 0, np.where(np.abs(center) > margin, np.inf, -np.inf), t)
    p = np.minimum(1.0, 2 * stdtr(df, -t))
    nan = np.full(center.shape, np.nan)
    return ClusterMeans(
        estimate=center,
        low=np.where(usable, center - reach, nan),
        high=np.where(usable, center + reach, nan),
        p=np.where(usable, p, nan),
    )
