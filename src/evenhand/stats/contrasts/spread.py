"""Estimate how much the descriptors of an axis truly differ: the SD of their shifts, without noise."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from evenhand.schema import UsageError
from evenhand.stats.arrays import Floats
from evenhand.stats.contrasts.layout import with_reference


@dataclass(frozen=True)
class Spread:
    """SD over descriptors of their true shifts, in nats, with 95% CI. Result of `shift_spread`.

    Attributes
    ----------
    sd, low, high : float
        SD and its CI. ``sd`` and ``low`` are 0 if the variance estimate or its lower bound is negative. NaN if not
        estimable.
    variance, error, freedom : float
        Estimated variance (may be negative), its standard error, and the degrees of freedom of its t distribution.
    """

    sd: float
    low: float
    high: float
    variance: float
    error: float
    freedom: float


@dataclass(frozen=True)
class SpreadChange:
    """Change of the variance of shifts between two models, with 95% CI, two-sided p and both SDs.

    ``before`` and ``after`` are the SDs. ``change`` is the variance after minus that before, with ``low`` and ``high``.
    ``smallest`` is the minimum detectable decrease of the SD (80% power). It is NaN if no decrease is detectable.
    """

    change: float
    low: float
    high: float
    p: float
    before: float
    after: float
    smallest: float


def shift_spread(values: Floats, *, own_nouns: bool) -> Spread:
    """Return the SD over descriptors of their true shifts, without noise, with a 95% CI.

    Parameters
    ----------
    values : numpy.ndarray, shape (contrasts, nouns, descriptors)
        Numbers in nats; NaN is missing.
    own_nouns : bool
        True if each contrast has its own nouns; False if nouns are crossed with contrasts.

    Returns
    -------
    Spread
        The SD is NaN with fewer than two contrasts, descriptors or (crossed) nouns. The CI is NaN with fewer than three
        contrasts or (crossed) nouns, or if nothing varies between contrasts.

    Notes
    -----
    The variance is estimated by products of cells that share neither contrast nor noun. Their noise is independent, so
    the estimate is unbiased (a U-statistic). The CI is from a jackknife over contrasts and crossed nouns (Efron & Stein
    1981).

    >>> rows = np.array([[1.0, -1.0], [1.2, -1.2], [0.8, -0.8]])
    >>> round(shift_spread(rows[:, None], own_nouns=True).sd, 3)
    1.405
    """
    estimate, by_contrast, by_noun = _jackknife_values(values, own_nouns=own_nouns)
    error, freedom = _error(by_contrast, by_noun)
    if not error > 0:
        return Spread(_root(estimate), float("nan"), float("nan"), estimate, error, freedom)
    # A variance cannot be negative. If its estimate is, the upper bound is that of an estimate of 0.
    low, high = _limits(estimate, error, freedom)[0], _limits(max(estimate, 0.0), error, freedom)[1]
    return Spread(_root(estimate), _root(low), _root(high), estimate, error, freedom)


def change_of_spread(before: Floats, after: Floats, *, own_nouns: bool, power: float = 0.8) -> SpreadChange:
    """Return the change in the variance of shifts between two models with the same sentences.

    Parameters
    ----------
    before, after : numpy.ndarray, shape (contrasts, nouns, descriptors)
        Numbers as in `shift_spread`. Cells that are missing in one are left out of both.
    own_nouns : bool
        As in `shift_spread`.
    power : float
        Power of the minimum detectable decrease (``smallest``).

    Returns
    -------
    SpreadChange
        After minus before. The CI is from a jackknife of the difference.

    Raises
    ------
    UsageError
        Shapes differ.

    >>> rows = np.array([[1.0, -1.0], [1.2, -1.2], [0.8, -0.8]])[:, None]
    >>> change_of_spread(rows, rows, own_nouns=True).change
    0.0
    """
    if before.shape != after.shape:
        raise UsageError(
            f"The contrasts of the two models have different shapes: {before.shape} and {after.shape}.",
            "Give contrasts of the same templates, nouns and descriptors for both.",
        )
    gaps = np.isnan(before) | np.isnan(after)
    one, two = (np.where(gaps, np.nan, table) for table in (before, after))
    first, second = (_jackknife_values(table, own_nouns=own_nouns) for table in (one, two))
    change = second[0] - first[0]
    error, freedom = _error(second[1] - first[1], second[2] - first[2])
    low, high = _limits(change, error, freedom)
    p, smallest = float("nan"), float("nan")
    if np.isfinite(error) and freedom > 0:
        if error > 0:
            p = float(2 * stdtr(freedom, -abs(change) / error))
        elif change == 0:  # without a standard error, only an unchanged value can be reported
            p = 1.0
        reach = float(stdtrit(freedom, 0.975) + stdtrit(freedom, power)) * error
        if reach <= max(first[0], 0.0):
            smallest = _root(first[0]) - _root(first[0] - reach)
    return SpreadChange(change, low, high, p, _root(first[0]), _root(second[0]), smallest)


def least_spread(largest: float, descriptors: int) -> float:
    """Return the smallest possible SD of n descriptors of which one differs by `largest` from the mean of the others.

    >>> round(least_spread(1.0, 16), 3)  # one at 1, fifteen at 0: sqrt((15/16)^2 + 15/16^2) / sqrt(15)
    0.25
    """
    return float(largest / np.sqrt(descriptors))


def _jackknife_values(values: Floats, *, own_nouns: bool) -> tuple[float, Floats, Floats]:
    """Return the variance of shifts, and its values with each contrast and (if crossed) each noun left out in turn."""
    deviations, compared = with_reference(values)
    number = int(compared.sum())
    if number < 2:
        return float("nan"), np.zeros(0), np.zeros(0)
    x = deviations[:, :, compared] * ((number - 1) / number)
    if own_nouns:
        count = (~np.isnan(x)).sum(axis=1)
        x = np.divide(np.nansum(x, axis=1), count, out=np.full(count.shape, np.nan), where=count > 0)[:, None]
    known = (~np.isnan(x)).astype(np.float64)
    x = np.nan_to_num(x)
    contrasts = np.flatnonzero(known.any(axis=(1, 2)))
    nouns = np.flatnonzero(known.any(axis=(0, 2)))

    def variance_without(contrast: int | None, noun: int | None) -> float:
        some, there = x, known
        if contrast is not None:
            some, there = np.delete(x, contrast, 0), np.delete(known, contrast, 0)
        if noun is not None:
            some, there = np.delete(x, noun, 1), np.delete(known, noun, 1)
        return _products(some, there, own_nouns) / (number - 1)

    by_contrast = np.array([variance_without(int(c), None) for c in contrasts])
    by_noun = np.zeros(0) if own_nouns else np.array([variance_without(None, int(n)) for n in nouns])
    return variance_without(None, None), by_contrast, by_noun


def _products(x: Floats, known: Floats, own_nouns: bool) -> float:
    """Return the sum over descriptors of the mean product of two cells with different contrasts and (crossed) nouns.

    `x` (contrasts, nouns, descriptors) is 0 where a cell is missing, and `known` is 1 where it is not. The sum over
    pairs of cells is computed by inclusion and exclusion: all pairs, minus those that share a contrast, minus those
    that share a noun, plus the cells themselves, which were subtracted twice.
    """

    def sums(table: Floats, square: Floats) -> Floats:
        whole = table.sum(axis=(0, 1)) ** 2 - (table.sum(axis=1) ** 2).sum(axis=0)
        if own_nouns:
            return np.asarray(whole)
        return np.asarray(whole - (table.sum(axis=0) ** 2).sum(axis=0) + square.sum(axis=(0, 1)))

    pairs, products = sums(known, known), sums(x, x**2)
    usable = pairs > 0.5
    if not usable.any():
        return float("nan")
    # descriptors without two such cells get the mean of the others
    return float((products[usable] / pairs[usable]).mean() * len(pairs))


def _error(by_contrast: Floats, by_noun: Floats) -> tuple[float, float]:
    """Return the jackknife standard error and its degrees of freedom (Satterthwaite's if nouns are a sample too)."""
    parts = [part for part in (by_contrast, by_noun) if len(part)]
    # If one of two crossed nouns is left out, no two cells with different nouns remain. The error is then NaN.
    if not len(by_contrast) or any(np.isnan(part).any() or len(part) < 2 for part in parts):
        return float("nan"), float("nan")
    variances = [(len(p) - 1) / len(p) * float(((p - p.mean()) ** 2).sum()) for p in parts]
    total = sum(variances)
    doubt = sum(v**2 / (len(p) - 1) for v, p in zip(variances, parts, strict=True))
    return total**0.5, total**2 / doubt if doubt > 0 else float(len(by_contrast) - 1)


def _limits(estimate: float, error: float, freedom: float) -> tuple[float, float]:
    if not np.isfinite(error):
        return float("nan"), float("nan")
    reach = float(stdtrit(freedom, 0.975)) * error
    return estimate - reach, estimate + reach


def _root(variance: float) -> float:
    return float(np.sqrt(max(variance, 0.0))) if np.isfinite(variance) else float("nan")
