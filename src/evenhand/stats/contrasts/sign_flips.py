"""Test a mean of paired differences by sign flips, with the CI that the same test gives."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from evenhand.stats.arrays import Floats
from evenhand.stats.power import POWER

_EXACT_UP_TO = 16
_DRAWS = 19_999
_LEVEL = 0.05


@dataclass(frozen=True)
class FlippedMean:
    """A mean with 95% CI and two-sided p. The interval excludes 0 exactly if p is at most 0.05.

    ``smallest_p`` is the smallest p that this number of observations can give. ``standard_error`` and ``freedom``
    describe the mean.
    """

    estimate: float
    low: float
    high: float
    p: float
    smallest_p: float
    standard_error: float
    freedom: int


def detectable_by_flips(
    standard_error: float, units: int, level: float = _LEVEL, rate: float | None = None
) -> float:
    """Return the mean that a sign-flip test of a sample of units detects with 80% power.

    Parameters
    ----------
    standard_error : float
        Standard error of the mean.
    units : int
        Number of independent units whose signs are flipped.
    level : float
        Two-sided significance level.
    rate : float, optional
        For differences of two rates: the rate without any effect. An effect on the log-odds, and its standard error,
        are larger in points for rates nearer to one half.

    Returns
    -------
    float
        Mean in the unit of `standard_error`.

    >>> round(detectable_by_flips(0.028, 10, 0.05 / 3), 3), round(detectable_by_flips(0.028, 10, 0.05 / 3, rate=0.2), 3)
    (0.108, 0.13)
    """
    patterns = 2.0 ** min(units, 60)
    reached = 2.0 * np.floor(level * patterns / 2.0 + 1e-9) / patterns if units <= _EXACT_UP_TO else level
    if reached <= 0 or units < 2:
        return float("nan")
    plain = float(stdtrit(units - 1, 1 - reached / 2) + stdtrit(units - 1, POWER)) * standard_error
    if rate is None or not 0 < rate < 1:
        return plain
    near = min(rate, 1 - rate)
    found = plain
    for _ in range(60):
        moved = min(near + found, 0.5)
        found = plain * (0.5 + 0.5 * (moved * (1 - moved) / (near * (1 - near))) ** 2) ** 0.5
    return found


def flipped_mean(differences: npt.ArrayLike, *, seed: int = 0) -> FlippedMean:
    """Test whether the mean of differences is 0 by flipping their signs, and return the CI that the same test gives.

    Parameters
    ----------
    differences : array_like, shape (n,)
        At least two numbers.
    seed : int
        Random seed of the sign patterns.

    Returns
    -------
    FlippedMean
        Mean, 95% CI and two-sided p.

    Notes
    -----
    All sign patterns are used for 16 or fewer numbers, otherwise 19,999 random ones. The bounds are order statistics of
    the means of subsets of the differences.

    References
    ----------
    - Hartigan 1969: typical values. Fisher 1935, section 21: sign flips.

    >>> found = flipped_mean([3.0, 1.0, 2.0, 4.0, 2.0, 3.0])
    >>> found.p, found.low, found.high
    (0.03125, 1.0, 4.0)
    """
    values = np.asarray(differences, dtype=np.float64)
    n = len(values)
    means = _subset_means(values, seed)
    patterns = len(means) + 1
    estimate = float(values.mean())
    slack = 1e-12 * float(np.abs(values).max())
    side = np.count_nonzero(means <= slack) if estimate > 0 else np.count_nonzero(means >= -slack)
    p = 1.0 if abs(estimate) <= slack else min(1.0, 2.0 * (1 + int(side)) / patterns)
    place = int(np.floor(_LEVEL / 2 * patterns + 1e-9))
    low, high = -np.inf, np.inf
    if place > 0:
        ordered = np.sort(means)
        limits = np.array([ordered[place - 1], ordered[-place]])
        low, high = map(float, np.where(np.abs(limits) <= slack, 0.0, limits))
    error = float(values.std(ddof=1)) / n**0.5
    return FlippedMean(estimate, low, high, p, 2.0 / patterns, error, n - 1)


def _subset_means(values: Floats, seed: int) -> Floats:
    """Return the means of all non-empty subsets of the values, or of many random subsets."""
    n = len(values)
    if n <= _EXACT_UP_TO:
        members = ((np.arange(1, 1 << n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
    else:
        members = np.random.default_rng(seed).integers(0, 2, size=(_DRAWS, n)).astype(np.float64)
        members = members[members.any(axis=1)]
    return np.asarray(members @ values / members.sum(axis=1))
