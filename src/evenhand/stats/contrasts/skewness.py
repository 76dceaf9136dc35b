"""Test a mean of independent, possibly skewed numbers, with the CI of the same test and the minimum detectable mean.

Sign flips and Student's t assume symmetric numbers. If numbers are skewed, both have too many false positives on one
side, and the more so at small levels. Values in a tail that was not sampled cannot be seen in the data. The argument
`tail` states how far away they may be, which bounds how often they can have been missed.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from evenhand.schema import UsageError
from evenhand.stats.arrays import Floats
from evenhand.stats.contrasts.axis_test import SKEWED_FREEDOM, skewed_p
from evenhand.stats.power import POWER, noncentrality

LEAST_NUMBERS = 3
"""Smallest sample size. With fewer numbers, the skewness is unknown."""
_SETS = 4_000
_RESAMPLES = 500
_SIMULATED_UP_TO = 400
_SKEWNESS_KNOWN_FROM = 30


@dataclass(frozen=True)
class SkewedMean:
    """Result of `skewed_mean`: the mean of ``n`` numbers with CI and two-sided p.

    CI and p are NaN with fewer than three numbers, or if all numbers are equal and no `tail` was given.
    """

    estimate: float
    low: float
    high: float
    p: float
    n: int


def skewed_mean(values: npt.ArrayLike, *, level: float = 0.95, tail: float | None = None) -> SkewedMean:
    """Test whether the mean of independent, possibly skewed numbers is 0, and return the matching CI.

    Parameters
    ----------
    values : array_like, shape (n,)
        Numbers without NaN, in any order.
    level : float
        Confidence level.
    tail : float, optional
        Largest distance of values that were not sampled from the others, in the unit of `values`. p is then at least (1
        - |mean| / tail)^n: the probability of not sampling such values if they balance the mean. Default: no such
        values exist.

    Returns
    -------
    SkewedMean
        Mean, CI and two-sided p. The interval excludes 0 exactly if p <= 1 - level.

    Raises
    ------
    UsageError
        A number is not finite, `level` is not between 0 and 1, or `tail` is not positive.

    Notes
    -----
    p is the larger of that of Student's t and that of the skewness-corrected t. The latter has its degrees of freedom
    divided by 1.5, because the skewness of small samples is underestimated. If all numbers are equal, p is that of
    their signs. Without a `tail`, it is then NaN, like the interval.

    References
    ----------
    - Johnson 1978; Hall 1992: the transformation.
    - Bahadur & Savage 1956; Clopper & Pearson 1934: the tail.

    >>> found = skewed_mean([0.1, 0.3, 0.2, 0.5, 0.4, 3.0])
    >>> round(found.estimate, 2), found.low < 0 < found.high, found.p > 0.05
    (0.75, True, True)
    """
    numbers = np.sort(np.asarray(values, dtype=np.float64))
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise UsageError(
            f"values must be a one-dimensional array of finite numbers, got shape {numbers.shape} or numbers that "
            "are not finite.",
            "Remove missing and infinite values.",
        )
    if not 0.0 < level < 1.0:
        raise UsageError(
            f"level must be between 0 and 1, got {level}.", "For a 95% confidence interval use level=0.95."
        )
    if tail is not None and not tail > 0:
        raise UsageError(f"tail must be above 0 (in the unit of the values), got {tail}.")
    n, nan = len(numbers), float("nan")
    mean = float(numbers.mean()) if n else nan
    if n < LEAST_NUMBERS or (tail is None and _equal(numbers)):
        return SkewedMean(mean, nan, nan, nan, n)
    undrawn = 0.0 if tail is None else max(0.0, 1 - abs(mean) / tail) ** n
    least = _tail_bound(n, 1 - level, tail)
    if _equal(numbers):
        p = max(2.0 ** (1 - n) if mean else 1.0, undrawn)
        inside = p > 1 - level
        low, high = (min(mean, 0.0), max(mean, 0.0)) if inside else (mean, mean)
        return SkewedMean(mean, min(low, mean - least), max(high, mean + least), p, n)
    _, spread, skew = _moments(numbers)
    error = float(spread) / float(n) ** 0.5
    p = float(skewed_p(np.array([mean]), np.array([error]), np.array([n - 1.0]), numbers[:, None], 0.0)[0])
    reach = float(stdtrit((n - 1) / SKEWED_FREEDOM, (1 + level) / 2))
    below, above = (max(error * float(_distance(reach, side * skew, n)), least) for side in (1, -1))
    return SkewedMean(mean, mean - below, mean + above, max(p, undrawn), n)


def smallest_mean(
    spread: npt.ArrayLike, n: npt.ArrayLike, *, level: float, power: float = POWER, tail: float | None = None
) -> Floats:
    """Return the mean that `skewed_mean` detects with the given power.

    Parameters
    ----------
    spread : array_like
        Standard deviation of the numbers.
    n : array_like
        Sample size. Shapes are broadcast.
    level, power : float
        Significance level and power.
    tail : float, optional
        As in `skewed_mean`.

    Returns
    -------
    numpy.ndarray
        Means in the unit of `spread`. Infinite with fewer than three numbers.

    Raises
    ------
    UsageError
        `level` or `power` is not between 0 and 1, or the power is not above level / 2.

    Notes
    -----
    With up to 400 numbers, the mean is the 80% quantile (or that of `power`) over 4,000 simulated data sets. With more,
    it comes from the noncentral t. Simulated numbers are normal. With fewer than 30 numbers, the skewness is unknown,
    so exponential numbers are simulated as well, and the largest result is returned.

    >>> float(smallest_mean(0.5, 210, level=0.01).round(2))
    0.12
    >>> float(smallest_mean(0.3, 40, level=0.01).round(2)), float(smallest_mean(0.3, 40, level=0.01, tail=3).round(2))
    (0.18, 0.37)
    """
    if not (0 < level < 1 and level / 2 < power < 1):
        raise UsageError(
            "smallest_mean: level and power must be between 0 and 1, and power above level / 2, got "
            f"level={level}, power={power}."
        )
    width, number = np.broadcast_arrays(np.asarray(spread, dtype=np.float64), np.asarray(n, dtype=np.int64))
    found = [
        _smallest(float(one), int(count), level, power, tail)
        for one, count in zip(width.ravel(), number.ravel(), strict=True)
    ]
    return np.array(found, dtype=np.float64).reshape(number.shape)


def smallest_mean_of_sample(
    values: npt.ArrayLike, *, level: float, power: float = POWER, tail: float | None = None
) -> float:
    """Return the mean that `skewed_mean` detects, for numbers as variable and as skewed as the given ones.

    Parameters
    ----------
    values : array_like, shape (n,)
        Observed numbers without NaN, in any order.
    level, power : float
        Significance level and power.
    tail : float, optional
        As in `skewed_mean`.

    Returns
    -------
    float
        The larger of two means: that for normal numbers with this standard deviation, and that for 500 resamples of
        `values`, on the side with lower power. Infinite if all numbers are equal and too few for a sign test, or have
        no `tail`.

    >>> skewed = np.random.default_rng(0).exponential(size=40)
    >>> smallest_mean_of_sample(skewed, level=0.01) > float(smallest_mean(skewed.std(ddof=1), 40, level=0.01))
    True
    """
    numbers = np.sort(np.asarray(values, dtype=np.float64))
    n = len(numbers)
    if n < LEAST_NUMBERS or (_equal(numbers) and (tail is None or 2.0 ** (1 - n) > level)):
        return float("inf")
    plain = float(smallest_mean(float(numbers.std(ddof=1)), n, level=level, power=power, tail=tail))
    away = (numbers - numbers.mean()) * (n / (n - 1)) ** 0.5
    drawn = away[np.random.default_rng(0).integers(0, n, size=(_RESAMPLES, n))]
    least = _tail_bound(n, level, tail)
    beside = [
        float(np.quantile(np.maximum(far, least) - off, power))
        for far, off in _significance_distances(drawn, level)
    ]
    return max(plain, *beside)


def _equal(numbers: Floats) -> bool:
    return float(np.ptp(numbers)) <= 1e-12 * float(np.abs(numbers).max())


def _tail_bound(n: int, level: float, tail: float | None) -> float:
    """Return the mean at which (1 - mean / tail)^n = `level`: n numbers miss an unsampled tail with this probability.

    `tail` is as in `skewed_mean`. 0 if it is None.
    """
    return 0.0 if tail is None else float(tail * (1 - level ** (1 / n)))


def _smallest(spread: float, n: int, level: float, power: float, tail: float | None) -> float:
    if n < LEAST_NUMBERS:
        return float("inf")
    least = _tail_bound(n, level, tail)
    if n <= _SIMULATED_UP_TO:
        shifts = [
            np.maximum(spread * far, least) - spread * off for far, off in _simulate_thresholds(n, level)
        ]
        return max(float(np.quantile(shift, power)) for shift in shifts)
    by_t = float(noncentrality(np.array([(n - 1) / SKEWED_FREEDOM]), level, power)[0])
    error = spread / math.sqrt(n)
    return max(error * by_t, least + error * float(ndtri(power)))


@cache
def _simulate_thresholds(n: int, level: float) -> list[tuple[Floats, Floats]]:
    rng = np.random.default_rng(0)
    plain = _significance_distances(rng.normal(size=(_SETS, n)), level)[:1]
    return (
        plain
        if n >= _SKEWNESS_KNOWN_FROM
        else plain + _significance_distances(rng.exponential(size=(_SETS, n)) - 1, level)
    )


def _significance_distances(sets: Floats, level: float) -> list[tuple[Floats, Floats]]:
    """Return two pairs (distance, mean), each of shape (data sets,): for true means above and below 0.

    `sets` has one data set per row. `distance` is the size of the observed mean at which it is significant. `mean` is
    the observed mean, multiplied by -1 for true means below 0.
    """
    n = sets.shape[1]
    mean, spread, skew = _moments(sets)
    reach = float(stdtrit((n - 1) / SKEWED_FREEDOM, 1 - level / 2))
    return [(spread / n**0.5 * _distance(reach, side * skew, n), side * mean) for side in (1, -1)]


def _moments(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean, standard deviation and skewness of each row.

    The skewness is unbiased for normal numbers, and 0 if a row does not vary.
    """
    n = rows.shape[-1]
    mean = rows.mean(axis=-1)
    away = rows - mean[..., None]
    squares = away * away
    variance, third = squares.mean(axis=-1), (squares * away).mean(axis=-1)
    varied = variance > 0
    raw = np.where(varied, third / np.where(varied, variance, 1.0) ** 1.5, 0.0)
    return mean, np.sqrt(variance * n / (n - 1)), np.asarray(raw * np.sqrt(n * (n - 1.0)) / (n - 2))


def _distance(reach: float, skew: Floats, n: int) -> Floats:
    """Return the distance in standard errors at which the smaller of t and corrected t equals `reach`, for skew > 0."""
    tilt, middle = skew / (3 * n**0.5), reach - skew / (6 * n**0.5)
    straight = np.abs(tilt) < 1e-9
    bent = (np.cbrt(1 + 3 * tilt * middle) - 1) / np.where(straight, 1.0, tilt)
    return np.asarray(np.maximum(reach, np.where(straight, middle, bent)))
