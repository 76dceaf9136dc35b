"""Test whether any descriptor of an axis differs, by sign flips of contrasts, and test means that may be skewed."""

import numpy as np
from scipy.special import stdtr, stdtrit

from evenhand.stats.arrays import Floats, mean_of_known

_EXACT_UP_TO = 13
_DRAWN, _MOST_DRAWN = 4096, 1 << 17
_TIE = 1e-10
SKEWED_FREEDOM = 1.5
"""Divisor of the degrees of freedom of a skewness-corrected t test.

The skewness of a dozen contrasts is underestimated on average. The divisor makes up for this if the skewness cannot be
averaged over descriptors, because one factor moves them all.
"""


def flips_reach(contrasts: int, level: float) -> bool:
    """Return True if the smallest p of sign flips, 2^(1 - contrasts), is at most half of `level`."""
    return 2.0 ** (1 - contrasts) <= level / 2


def flip_contrasts(
    by_contrast: Floats, *, noise: Floats | None = None, margin: float = 0.0, seed: int = 0
) -> float:
    """Return p of "no descriptor shifts by more than the margin", by flipping the signs of whole contrasts.

    All sign patterns are used for up to 13 contrasts, otherwise random ones. The test is valid for any dependence
    between descriptors.

    Parameters
    ----------
    by_contrast : numpy.ndarray, shape (contrasts, descriptors)
        Shifts. NaN is unknown and contributes 0 to each pattern. The part of a mean shift that is within `margin` is
        subtracted first.
    noise : numpy.ndarray, shape (descriptors,), optional
        Known noise variance of such a shift. Default: 0.
    margin : float
        Largest mean shift, in either direction, that counts as no difference.
    seed : int
        Random seed of sign patterns, which are drawn with more than 13 contrasts.

    Returns
    -------
    float
        p-value of all descriptors together.

    References
    ----------
    - Fisher 1935, section 21, of vectors; Westfall & Young 1993 for the largest of several statistics.

    Examples
    --------
    >>> flip_contrasts(np.array([[1.0, -1.0], [1.2, -1.2], [0.8, -0.8], [1.0, -1.0]]))
    0.125
    """
    return Flips(len(by_contrast), seed).p(by_contrast, margin, noise)


class Flips:
    """Sign patterns for a number of contrasts, drawn once and used for several margins.

    `level` is the smallest significance level at which p is needed. It determines the number of random patterns.
    """

    def __init__(self, contrasts: int, seed: int, level: float = 0.05) -> None:
        if contrasts <= _EXACT_UP_TO:
            # a pattern and its opposite give the same statistics, so the last sign is fixed
            bits = (np.arange(1 << max(0, contrasts - 1))[:, None] >> np.arange(contrasts)) & 1
        else:
            drawn = int(min(max(_DRAWN, 10 / level), _MOST_DRAWN))
            bits = np.random.default_rng(seed).integers(0, 2, size=(drawn - 1, contrasts))
            bits = np.vstack([np.zeros((1, contrasts), dtype=bits.dtype), bits])
        self._signs = np.asarray(1.0 - 2.0 * bits, dtype=np.float64)

    def p(self, by_contrast: Floats, margin: float, noise: Floats | None = None) -> float:
        """Return p: the share of patterns that are at least as extreme as the observed one by either of two statistics.

        The sum of squares over descriptors has power for many small shifts. The largest scaled shift has power for a
        single one. Each pattern is ranked by the smaller p of both, so that the choice does not inflate p. The scale of
        a descriptor combines its own variance with that of the axis. Flips do not change it, because it is computed
        from squares.
        """
        number = np.maximum(np.count_nonzero(~np.isnan(by_contrast), axis=0), 1)
        inner = np.clip(np.nansum(by_contrast, axis=0) / number, -margin, margin)
        rows = np.nan_to_num(by_contrast - inner)
        own = (rows**2).sum(axis=0) / number
        known = np.zeros(len(own)) if noise is None else noise
        scale = own + known + max(0.0, float(own.mean() - known.mean()))
        squares = (self._signs @ rows) ** 2
        largest = (squares / np.where(scale > 0, number * scale, np.inf)).max(axis=1)
        smaller = np.minimum(_shares(squares.sum(axis=1)), _shares(largest))
        # the first pattern is the observed one
        return float(np.mean(smaller <= smaller[0] + _TIE))


def _shares(statistic: Floats) -> Floats:
    """Return for each pattern the share of patterns whose statistic is at least as large."""
    ordered = np.sort(statistic)
    below = np.searchsorted(ordered, statistic - _TIE * ordered[-1], side="left")
    return np.asarray(1.0 - below / len(statistic))


def skewed_p(mean: Floats, error: Floats, freedom: Floats, by_contrast: Floats, margin: float) -> Floats:
    """Return p of each descriptor (d,) if its contrasts may be skewed: the larger p of t and skewness-corrected t.

    `mean`, `error` and `freedom` (d,) are the mean shift over contrasts, its standard error and its degrees of freedom.
    `by_contrast` (contrasts, d) are the shifts, for the skewness. The hypothesis is that the mean is within `margin`.
    The degrees of freedom of both are divided by 1.5, because the skewness of a dozen contrasts is underestimated on
    average. Source: Hall 1992 for the correction (after Johnson 1978).

    >>> rows = np.array([[0.1], [0.2], [0.2], [0.3], [1.9], [0.1], [0.2]])
    >>> few = skewed_p(rows.mean(axis=0), np.array([0.25]), np.array([6.0]), -rows, 0.0)
    >>> bool(few[0] > 0.1)
    True
    """
    skew, root = _skewness(by_contrast)
    skew = skew * np.sign(mean)
    beyond = np.abs(mean) - margin
    distance = np.divide(beyond, error, out=np.zeros(len(mean)), where=error > 0)
    tilt = skew / (3 * root)
    # Hall's cubic has one distance for each p. Johnson's quadratic does not: it falls again at large distances.
    corrected = distance + tilt * distance**2 + tilt**2 * distance**3 / 3 + skew / (6 * root)
    least = np.where(error > 0, np.minimum(distance, corrected), np.inf)
    p = np.minimum(1.0, 2 * stdtr(freedom / SKEWED_FREEDOM, -least))
    return np.asarray(np.where(beyond > 0, p, 1.0))


def skewed_reach(freedom: Floats, by_contrast: Floats, level: float, side: int) -> Floats:
    """Return the number of standard errors (d,) beyond the margin at which `skewed_p` equals a level.

    `freedom` and `by_contrast` are as in `skewed_p`. `side` is 1 for shifts above 0, and -1 for shifts below 0.

    >>> rows = np.array([[0.1], [0.2], [0.2], [0.3], [1.9], [0.1], [0.2]])
    >>> reach = skewed_reach(np.array([6.0]), rows, 0.05, -1)
    >>> float(skewed_p(-0.25 * reach, np.array([0.25]), np.array([6.0]), rows, 0.0)[0].round(6))
    0.05
    """
    skew, root = _skewness(by_contrast)
    tilt, reach = side * skew / (3 * root), stdtrit(freedom / SKEWED_FREEDOM, 1 - level / 2)
    middle = reach - side * skew / (6 * root)
    straight = np.abs(tilt) < 1e-9
    bent = (np.cbrt(1 + 3 * tilt * middle) - 1) / np.where(straight, 1.0, tilt)
    return np.asarray(np.maximum(reach, np.where(straight, middle, bent)))


def _skewness(by_contrast: Floats) -> tuple[Floats, Floats]:
    """Return the unbiased skewness of each column, and the square root of its number of known values."""
    count = np.count_nonzero(~np.isnan(by_contrast), axis=0)
    away = by_contrast - mean_of_known(by_contrast, 0)
    second, third = (np.nansum(away**k, axis=0) / np.maximum(count, 1) for k in (2, 3))
    # Ratio of unbiased cumulants (G1). The callers multiply it by the sign of the mean: it is then above 0 if the long
    # tail points away from 0.
    correction = np.sqrt(count * (count - 1.0)) / np.maximum(count - 2.0, 1.0)
    skew = np.divide(third, second**1.5, out=np.zeros_like(third), where=second > 0) * correction
    return skew, np.sqrt(np.maximum(count, 1))
