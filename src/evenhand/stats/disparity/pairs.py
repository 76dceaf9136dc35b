"""Compare groups in pairs: differences, and intervals that hold for all pairs together."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri, ndtr, ndtri, roots_legendre, stdtr

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.deals import all_pair_contrasts, deal
from evenhand.stats.disparity.differences import Differences, calibrated_differences
from evenhand.stats.disparity.limits import GroupLimits
from evenhand.stats.disparity.units import Units

_DEALT_UP_TO, _LOWEST = 40, 100
_FREEDOM = 5_000


@dataclass(frozen=True)
class LargestGap:
    """The pair of groups with the strongest evidence of a large difference, and the difference with a simultaneous CI.

    The CI is valid for all pairs together. ``worse`` (groups,) is True for groups whose rate is significantly above
    that of any other group, by the same intervals.
    """

    high_group: int
    low_group: int
    estimate: float
    low: float
    high: float
    worse: Floats


def pairs_of_groups(
    units: Units, limits: GroupLimits, *, reference: int | None = None, coins: bool = False, seed: int = 0
) -> tuple[Floats, Differences]:
    """Return the differences of all pairs of groups, or of all groups to a reference group.

    Parameters
    ----------
    units : Units
        Sampling units of all groups.
    limits : GroupLimits
        Means and intervals of the groups.
    reference : int, optional
        Code of the reference group. Default: all pairs.
    coins : bool
        True if variances within groups are too unequal for permutation.
    seed : int
        Random seed.

    Returns
    -------
    contrasts : numpy.ndarray, shape (pairs, groups)
        The compared pairs.
    differences : Differences
        Their differences with CI and p.
    """
    groups = units.n_groups
    if reference is None:
        contrasts = all_pair_contrasts(groups)
    else:
        contrasts = np.eye(groups)[np.arange(groups) != reference]
        contrasts[:, reference] = -1.0
    test = None if coins else deal(units, contrasts, most=1_999, seed=seed)
    return contrasts, calibrated_differences(limits, contrasts, test)


def largest_gap(units: Units, limits: GroupLimits, *, coins: bool = False, seed: int = 0) -> LargestGap:
    """Return the pair of groups with the highest lower bound of the difference, with a CI that allows for the
    selection.

    Parameters
    ----------
    units : Units
        Sampling units of all groups.
    limits : GroupLimits
        Means and intervals of the groups.
    coins : bool
        True if variances within groups are too unequal for permutation.
    seed : int
        Random seed.

    Notes
    -----
    The quantile is the larger of Tukey's (studentised range) and that of the largest absolute z of all pairs under
    permutation. The latter is used for up to 40 groups.
    """
    groups = units.n_groups
    student = tukey_quantile(groups, limits.freedom) / np.sqrt(2)
    if groups <= _DEALT_UP_TO and not coins:
        dealt = deal(units, all_pair_contrasts(groups), most=199, seed=seed).largest_quantile(0.95)
        student = max(student, min(dealt, 3 * student))
    low, high = (limits.robust_bounds if coins else limits.bounds_at)(as_normal(student, limits.freedom))
    return widest_gap(limits.means, low, high)


def as_normal(student: float, freedom: float) -> float:
    """Return the normal quantile at the level of a quantile of Student's t.

    >>> round(as_normal(2.447, 6), 2)
    1.96
    """
    return float(-ndtri(max(stdtr(float(max(freedom, 1)), -student), 1e-15)))


def widest_gap(means: Floats, low: Floats, high: Floats) -> LargestGap:
    """Return the pair of groups with the highest lower bound of the difference, from simultaneous intervals (groups,).

    >>> gap = widest_gap(np.array([0.1, 0.5, 0.2]), np.array([0.05, 0.4, 0.1]), np.array([0.2, 0.6, 0.3]))
    >>> gap.high_group, gap.low_group, round(gap.low, 3), gap.worse.tolist()
    (1, 0, 0.259, [False, True, False])
    """
    groups = len(means)
    # with very many groups, only those with the lowest upper bounds can be far below another
    below = np.sort(np.argsort(high, kind="stable")[:_LOWEST])
    gap = means[:, None] - means[None, below]
    with np.errstate(invalid="ignore"):
        width = np.sqrt(np.square(means - low)[:, None] + np.square(high - means)[None, below])
    lower = gap - width
    lower[below, np.arange(len(below))] = -np.inf
    ranked = np.where(lower >= lower.max() - 1e-12, gap, -np.inf)
    first, column = (int(place) for place in np.unravel_index(int(np.argmax(ranked)), gap.shape))
    second = int(below[column])
    if means[first] < means[second] or not np.isfinite(lower[first, column]):
        first, second = int(np.argmax(means)), int(np.argmin(means))
        if first == second:
            second = (first + 1) % groups
    estimate = float(means[first] - means[second])
    return LargestGap(
        first,
        second,
        estimate,
        estimate - float(np.hypot(means[first] - low[first], high[second] - means[second])),
        estimate + float(np.hypot(high[first] - means[first], means[second] - low[second])),
        np.asarray((lower > 0).any(axis=1)),
    )


@lru_cache(maxsize=256)
def tukey_quantile(groups: int, freedom: int, share: float = 0.95) -> float:
    """Return the quantile of Tukey's studentised range of `groups` normal means (by quadrature).

    >>> round(tukey_quantile(3, 10), 3), round(tukey_quantile(10, 10**6), 3)
    (3.877, 4.474)
    """
    x, weight = roots_legendre(160)
    x, weight = 8 * x, 8 * weight
    density = groups * weight * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    u, chances = roots_legendre(60)
    u, chances = (u + 1) / 2, chances / 2
    scale = np.ones(1)
    if freedom < _FREEDOM:
        scale = np.sqrt(chdtri(float(max(freedom, 1)), u) / max(freedom, 1))
    else:
        chances = np.ones(1)
    low, high = 0.0, 200.0
    for _ in range(50):
        middle = (low + high) / 2
        inside = np.maximum(ndtr(x[None, :]) - ndtr(x[None, :] - middle * scale[:, None]), 0) ** (groups - 1)
        chance = float(chances @ (inside @ density))
        low, high = (middle, high) if chance < share else (low, middle)
    return (low + high) / 2
