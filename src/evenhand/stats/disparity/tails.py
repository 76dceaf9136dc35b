"""Tails of a standardised contrast in closed form: normal through t, with the skewness that rare events have."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, ndtr, ndtri, stdtr

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.units import Units

_GRID = np.concatenate([np.linspace(0, 8, 161), np.geomspace(8.1, 40, 60)])


@dataclass(frozen=True)
class ClosedForm:
    """Contrasts of group means: difference, z (half a step nearer 0 where outcomes are 0 or 1), skewness of the
    difference when nothing differs (contrasts,); and the variance of units within groups."""

    difference: Floats
    z: Floats
    skewness: Floats
    within: float


def closed_form(units: Units, contrasts: Floats) -> ClosedForm:
    """Moments of contrasts (contrasts, groups) under "units belong to no group"; every group has a unit."""
    sizes = units.sizes.astype(np.float64)
    means = units.group_means(units.centred)
    left = units.residuals()
    freedom = max(units.freedom, 1)
    within = float(np.square(left).sum()) / freedom
    cubes = float((left**3).sum()) / freedom
    squares = contrasts * contrasts
    error = squares @ (1 / sizes)
    difference = contrasts @ means
    z, skewness = np.zeros(len(contrasts)), np.zeros(len(contrasts))
    if within > 0:
        step = np.zeros(len(contrasts))
        if units.shares:
            per = np.bincount(units.groups, weights=units.samples, minlength=units.n_groups)
            largest = np.abs(contrasts) >= np.abs(contrasts).max(axis=1, keepdims=True) - 1e-12
            step = np.where(largest, np.abs(contrasts) / (2 * per), 0.0).max(axis=1)
        z = np.sign(difference) * np.maximum(np.abs(difference) - step, 0) / np.sqrt(within * error)
        skewness = cubes * ((squares * contrasts) @ (1 / np.square(sizes))) / (within * error) ** 1.5
    return ClosedForm(difference, z, skewness, within)


def two_tails(z: Floats, skewness: Floats, freedom: int) -> Floats:
    """Chance of |statistic| at least |z| for a standardised sum with this skewness and a variance with `freedom`."""
    # upper tail of t, by the lower one of its mirror image: digits are kept far out
    size = -ndtri(np.maximum(stdtr(float(freedom), -np.abs(z)), 1e-300))
    shape = 4 / np.maximum(np.square(skewness), 1e-10)
    root = np.sqrt(shape)
    long = gammaincc(shape, np.maximum(shape + size * root, 0))
    short = 1 - gammaincc(shape, np.maximum(shape - size * root, 0))
    nearly = np.abs(skewness) < 1e-3
    return np.asarray(np.minimum(1.0, np.where(nearly, 2 * ndtr(-size), long + short)))


def critical_value(level: float, skewness: Floats, freedom: int) -> Floats:
    """The |z| that is exceeded with chance `level`, for each skewness, by interpolation.

    >>> critical_value(0.05, np.zeros(1), 10**6).round(3).tolist()
    [1.96]
    """
    kinds, back = np.unique(np.round(np.abs(skewness), 3), return_inverse=True)
    tails = two_tails(_GRID[:, None], np.asarray(kinds, dtype=np.float64)[None, :], freedom)
    found = [np.interp(-np.log(level), -np.log(np.maximum(tail, 1e-290)), _GRID) for tail in tails.T]
    return np.asarray(found)[back]
