"""Minimum detectable effects: what "not detected" rules out, and which effects a planned sample can detect."""

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtr, ndtri, stdtrit

from evenhand.schema import UsageError, checked_kinds
from evenhand.stats.arrays import Floats, require_same_shape

POWER = 0.8
"""Power of every minimum detectable effect, unless another power is requested."""
Correction = Literal["none", "benjamini-hochberg", "bonferroni"]


@checked_kinds
def per_test_level(
    alpha: float = 0.05, tests: int = 1, correction: Correction = "none", share_affected: float = 0.01
) -> float:
    """Return the significance level of each of many tests under a correction for multiple testing.

    Use it when you plan a study, to compute minimum detectable effects. The other functions of this module call it.

    Parameters
    ----------
    alpha : float, default 0.05
        Level, or false discovery rate, of all tests together (two-sided).
    tests : int, default 1
        Number of tests.
    correction : {"none", "bonferroni", "benjamini-hochberg"}, default "none"
        Correction for multiple testing.
    share_affected : float, default 0.01
        Share of tests with an effect. Used by Benjamini-Hochberg only.

    Returns
    -------
    float
        Level of a single test.

    Raises
    ------
    UsageError
        `alpha` or the share is not between 0 and 1, there is no test, or the correction is unknown.

    Notes
    -----
    Benjamini-Hochberg requires that the k-th smallest p is at most alpha k / tests. k is assumed to be `share_affected`
    of the tests, at least one. With 600 groups and 1% affected, the level is alpha × 6 / 600.

    References
    ----------
    - Cohen 1988, chapter 6 (two proportions).

    Examples
    --------
    >>> per_test_level(0.05, 600, "bonferroni") < per_test_level(0.05, 600, "benjamini-hochberg")
    True
    """
    if not 0 < alpha < 1 or tests < 1 or not 0 < share_affected <= 1:
        raise UsageError(
            "per_test_level: alpha and share_affected must be between 0 and 1, and tests at least 1, got "
            f"alpha={alpha}, tests={tests}, share_affected={share_affected}."
        )
    match correction:
        case "none":
            return alpha
        case "bonferroni":
            return alpha / tests
        case "benjamini-hochberg":
            return alpha * max(1.0, round(share_affected * tests)) / tests


@checked_kinds
def detectable_rate(
    background: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    power: float = POWER,
    tests: int = 1,
    correction: Correction = "none",
    share_affected: float = 0.01,
) -> Floats:
    """Return the lowest rate above a background rate that can be detected in a group of n outcomes.

    Use it to plan the number of responses per group. A group with a lower rate would probably not be found.

    Parameters
    ----------
    background : array_like
        Known rate of all groups together, a proportion.
    n : array_like
        Number of independent outcomes in the group; its shape must broadcast with `background`. For clustered
        outcomes, pass `effective_n`.
    alpha, power : float, default 0.05 and 0.8
        Two-sided level of all tests together, and power.
    tests, correction, share_affected
        Correction for multiple testing, as in `per_test_level`.

    Returns
    -------
    numpy.ndarray
        Rates (proportions) of the broadcast shape; 1 if no rate is detectable.

    Raises
    ------
    UsageError
        A rate is outside [0, 1], `power` is not between alpha / 2 and 1, or `per_test_level` refuses its
        arguments.

    Notes
    -----
    The function uses the normal approximation. For a rate of 2%, n = 100 and 600 groups, 6.9% is detectable without a
    correction, 9.3% with Benjamini-Hochberg and 10.0% with Bonferroni.

    References
    ----------
    - Fleiss, Levin & Paik 2003; order statistics of the binomial distribution.

    Examples
    --------
    >>> detectable_rate(0.02, [100, 400, 1600]).round(3).tolist()
    [0.069, 0.042, 0.03]
    """
    require_same_shape("detectable_rate", background=background, n=n)
    base, size = np.broadcast_arrays(
        np.asarray(background, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    if np.any((base < 0) | (base > 1)):
        raise UsageError("background must contain rates from 0 to 1.", "Divide percentages by 100.")
    level = per_test_level(alpha, tests, correction, share_affected)
    reach, certainty = _quantiles(level, power)
    known = np.maximum(size, 1.0)
    # p - z √(p (1 - p) / n) = limit, squared: a quadratic whose larger root is the rate
    limit = base + reach * np.sqrt(base * (1 - base) / known)
    spread = certainty**2 / known
    half = limit + spread / 2
    root = np.sqrt(np.maximum(half**2 - limit**2 * (1 + spread), 0.0))
    rate = np.where(limit < 1, (half + np.sign(certainty) * root) / (1 + spread), 1.0)
    return np.asarray(np.where(size >= 1, np.clip(rate, base, 1.0), 1.0))


@checked_kinds
def detectable_preference(
    n: npt.ArrayLike,
    *,
    alpha: float = 0.05,
    power: float = POWER,
    tests: int = 1,
    correction: Correction = "none",
    share_affected: float = 0.01,
) -> Floats:
    """Return the smallest distance from 0.5 that can be detected with n pairs.

    Use it to plan benchmarks with pairs of sentences, such as CrowS-Pairs. The preference is the share of pairs in
    which the model finds one kind of sentence more likely, for example the stereotype.

    Parameters
    ----------
    n : array_like
        Number of independent pairs; for clustered pairs, pass `effective_n`.
    alpha, power, tests, correction, share_affected
        As in `detectable_rate`.

    Returns
    -------
    numpy.ndarray
        Distances of the preference from 0.5, as proportions, shape of `n`; 0.5 if no preference is detectable.

    Raises
    ------
    UsageError
        As `detectable_rate`: `power` or a setting of the tests is out of range.

    Notes
    -----
    The method is that of `detectable_rate`.

    Examples
    --------
    >>> detectable_preference([60, 1508]).round(3).tolist()
    [0.177, 0.036]
    """
    rate = detectable_rate(
        0.5, n, alpha=alpha, power=power, tests=tests, correction=correction, share_affected=share_affected
    )
    return np.asarray(rate - 0.5)


@checked_kinds
def detectable_mean_difference(
    standard_deviation: npt.ArrayLike,
    n: npt.ArrayLike,
    *,
    other_n: npt.ArrayLike | None = None,
    alpha: float = 0.05,
    power: float = POWER,
    tests: int = 1,
    correction: Correction = "none",
    share_affected: float = 0.01,
) -> Floats:
    """Return the smallest mean difference that Student's two-sided test can detect.

    Use it to plan a comparison of two means, paired or unpaired.

    Parameters
    ----------
    standard_deviation : array_like
        SD of the paired differences, or SD within groups if `other_n` is passed.
    n : array_like
        Number of pairs, or of values in one group.
    other_n : array_like, optional
        Number of values in the other group. Default: the values are paired.
    alpha, power, tests, correction, share_affected
        As in `detectable_rate`.

    Returns
    -------
    numpy.ndarray
        Differences of the broadcast shape, 0 or more, in the unit of the standard deviation. Infinite if there
        are too few values for a test.

    Raises
    ------
    UsageError
        As `detectable_rate`: `power` or a setting of the tests is out of range.

    Notes
    -----
    Power comes from the noncentral t distribution. The negligible probability of a detection on the wrong side is left
    out.

    References
    ----------
    - Cohen 1988, chapter 2.

    Examples
    --------
    >>> detectable_mean_difference(1.0, [10, 32]).round(3).tolist()
    [0.996, 0.511]
    """
    require_same_shape(
        "detectable_mean_difference", standard_deviation=standard_deviation, n=n, other_n=other_n
    )
    spread, size = np.asarray(standard_deviation, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if other_n is None:
        freedom, scale = size - 1, 1 / np.maximum(size, 1.0)
    else:
        other = np.asarray(other_n, dtype=np.float64)
        freedom = size + other - 2
        scale = 1 / np.maximum(size, 1.0) + 1 / np.maximum(other, 1.0)
        freedom = np.where((size >= 1) & (other >= 1), freedom, 0.0)
    level = per_test_level(alpha, tests, correction, share_affected)
    _quantiles(level, power)
    shift = noncentrality(np.maximum(freedom, 1.0), level, power)
    return np.asarray(np.where(freedom >= 1, shift * spread * np.sqrt(scale), np.inf))


@checked_kinds
def effective_n(n: npt.ArrayLike, cluster_size: npt.ArrayLike, intraclass_correlation: float) -> Floats:
    """Return the effective sample size: the number of independent outcomes that n clustered outcomes are worth.

    Use it before `detectable_rate` if you plan several samples per prompt.

    Parameters
    ----------
    n : array_like
        Number of outcomes.
    cluster_size : array_like
        Number of outcomes per cluster (for example, per prompt).
    intraclass_correlation : float
        Correlation of outcomes within a cluster, 0 to 1.

    Returns
    -------
    numpy.ndarray
        Effective sample sizes.

    Notes
    -----
    The formula is n / (1 + (cluster_size - 1) × intraclass_correlation).

    References
    ----------
    - Kish 1965.

    Examples
    --------
    >>> float(effective_n(1000, 25, 0.3).round(1))
    122.0
    """
    size = np.asarray(cluster_size, dtype=np.float64)
    return np.asarray(np.asarray(n, dtype=np.float64) / (1 + (size - 1) * intraclass_correlation))


def noncentrality(freedom: Floats, level: float, power: float) -> Floats:
    """Return the noncentrality for which t exceeds its two-sided critical value with probability `power`, by bisection.

    Parameters
    ----------
    freedom : numpy.ndarray, any shape
        Degrees of freedom.
    level, power : float
        Two-sided level, and power.

    Returns
    -------
    numpy.ndarray, same shape
        Noncentralities, in standard errors.

    Examples
    --------
    >>> float(noncentrality(np.array([99.0]), 0.05, 0.8)[0].round(2))
    2.83
    """
    critical = np.asarray(stdtrit(freedom, 1 - level / 2))
    low, high = np.zeros_like(critical), critical * 4 + 40.0
    for _ in range(80):
        middle = (low + high) / 2
        enough = 1 - nctdtr(freedom, middle, critical) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray((low + high) / 2)


def _quantiles(level: float, power: float) -> tuple[float, float]:
    if not level / 2 < power < 1:
        raise UsageError(f"power must be between alpha / 2 and 1 (usually 0.8), got {power}.")
    return float(-ndtri(level / 2)), float(ndtri(power))
