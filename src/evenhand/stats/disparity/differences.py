"""Differences of group means with CIs (MOVER) and p-values that agree with each other and with a permutation test."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr

from evenhand.stats.arrays import Flags, Floats
from evenhand.stats.common_level import reference_contrasts
from evenhand.stats.disparity.approximation import Approximation
from evenhand.stats.disparity.deals import Deals, leave_one_out
from evenhand.stats.disparity.limits import GroupLimits
from evenhand.stats.disparity.supports import GRID, Z

_LARGE = 100
LimitsAt = Callable[[float | Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Differences:
    """Contrasts of group means (contrasts,): estimate, 95% CI and two-sided p. p <= 0.05 exactly if the CI excludes
    0.
    """

    estimate: Floats
    low: Floats
    high: Floats
    p: Floats

    @property
    def excludes_zero(self) -> Flags:
        """Return True for contrasts whose CI excludes 0."""
        return np.asarray((self.low > 0) | (self.high < 0))

    def select(self, which: Flags) -> "Differences":
        """Return the differences of the contrasts that are True in `which`."""
        return Differences(self.estimate[which], self.low[which], self.high[which], self.p[which])

    def replace_some(self, which: Flags, by: "Differences") -> "Differences":
        """Return all differences, with those that are True in `which` replaced by the differences `by`."""
        parts = []
        for name in ("estimate", "low", "high", "p"):
            values = np.array(getattr(self, name))
            values[which] = getattr(by, name)
            parts.append(values)
        return Differences(*parts)


def calibrated_differences(
    limits: GroupLimits, contrasts: Floats, test: Deals | Approximation | None
) -> Differences:
    """Return contrasts of group means with CIs (MOVER) that agree with a permutation test.

    Parameters
    ----------
    limits : GroupLimits
        Means of the groups and their intervals.
    contrasts : numpy.ndarray, shape (contrasts, groups)
        Rows that sum to 0.
    test : Deals, Approximation or None
        Permutation test of the same contrasts. None if variances within groups are too unequal for permutation. Each
        unit then counts as one Bernoulli trial.

    Returns
    -------
    Differences
        Estimates, CIs and p. p is the larger of the permutation p and that of the interval. The bound near 0 is moved
        so that the CI excludes 0 exactly if p <= 0.05.

    References
    ----------
    - Zou & Donner 2008: MOVER, intervals of differences from those of the parts. Simulated for this use.

    >>> from evenhand.stats.disparity.units import Units
    >>> means = np.array([.25, .5, 0, 0, .25, 0, 1, .75, .5])
    >>> units = Units.from_arrays(means, np.repeat([0, 1, 2], 3), samples=np.full(9, 4.))
    >>> from evenhand.stats.disparity.deals import deal, leave_one_out
    >>> found = calibrated_differences(GroupLimits.estimate(units), leave_one_out(3), deal(units))
    >>> found.p.round(3).tolist()
    [0.488, 0.109, 0.041]
    """
    at = limits.robust_bounds if test is None else limits.pooled_bounds
    estimate = contrasts @ limits.means
    low_width, high_width = _widths(limits.means, contrasts, at, GRID)
    if test is None:
        return inverted_differences(estimate, low_width, high_width)
    if limits.supports is not None:
        return _with_supports(limits, contrasts, (low_width, high_width), test.normal)
    above = estimate > 0
    facing = np.where(above[None, :], low_width, high_width)
    reached = _crossing(facing, np.abs(estimate))
    mover_p = np.where(np.abs(estimate) < 1e-12, 1.0, 2 * ndtr(-reached))
    at_z = int(np.searchsorted(GRID, Z))
    low, high = estimate - low_width[at_z], estimate + high_width[at_z]
    p = np.maximum(test.p, mover_p)
    normal = test.normal
    # The bound that faces 0 is taken at a larger quantile if the permutation p is larger than that of the interval, so
    # that both agree. If the permutation p is above .32 (normal < 1), it is moved just beyond 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = np.where(normal < 1, np.maximum(Z, 1.001 * reached), Z * np.maximum(1, reached / normal))
    half = np.array([np.interp(z, GRID, column) for z, column in zip(stretch, facing.T, strict=True)])
    low = np.where(above, estimate - half, low)
    high = np.where(above, high, estimate + half)
    # interpolation errors must not decide on which side of 0 the bound is; p decides
    beyond = p <= 0.05
    nudge = 1e-9
    low = np.where(
        above & beyond, np.maximum(low, nudge), np.where(above & ~beyond, np.minimum(low, 0.0), low)
    )
    high = np.where(
        ~above & beyond, np.minimum(high, -nudge), np.where(~above & ~beyond, np.maximum(high, 0.0), high)
    )
    return Differences(estimate, low, high, p)


def _with_supports(
    limits: GroupLimits, contrasts: Floats, widths: tuple[Floats, Floats], normal: Floats
) -> Differences:
    """Return differences with intervals between two kinds: for equal and for unequal variances of prompts.

    The intervals for unequal variances are those of `limits.supports`. Their weight is the largest caution of the
    groups in a contrast (see `Supports.caution`).

    Parameters
    ----------
    widths : tuple of numpy.ndarray, each of shape (grid, contrasts)
        Distances of the lower and upper bounds from the estimates under equal variances.
    normal : numpy.ndarray, shape (contrasts,)
        Normal quantile of another test of the same contrasts. The bound that faces 0 is moved outwards to agree with
        it.
    """
    assert limits.supports is not None
    estimate = contrasts @ limits.means
    above = estimate > 0
    facing = np.where(above[None, :], *widths)
    reached = _crossing(facing, np.abs(estimate))
    stretch = np.maximum(1.0, reached / np.maximum(normal, 1e-6))
    moved = np.stack(
        [np.interp(GRID * by, GRID, column) for by, column in zip(stretch, facing.T, strict=True)], 1
    )
    caution = (np.abs(contrasts) * limits.supports.caution).max(axis=1)
    mixed = []
    for side, ours, theirs in zip((above, ~above), widths, limits.supports.widths(contrasts), strict=True):
        mixed.append((1 - caution) * np.where(side[None, :], moved, ours) + caution * theirs)
    return facing_zero(inverted_differences(estimate, *mixed), attainable_p(limits.sizes, contrasts))


def attainable_p(sizes: Floats, contrasts: Floats) -> Floats:
    """Return the smallest p that permutations of the prompts of each contrast's groups can give (contrasts,)."""
    total = (np.abs(contrasts) > 0) @ sizes
    mine = sizes[contrasts.argmax(axis=1)]
    ways = gammaln(total + 1) - gammaln(mine + 1) - gammaln(np.maximum(total - mine, 0) + 1)
    return np.asarray(np.exp(-ways) * np.where(2 * mine == total, 2.0, 1.0))


def inverted_differences(estimate: Floats, low_width: Floats, high_width: Floats) -> Differences:
    """Return differences whose p is the level at which their interval reaches 0.

    Parameters
    ----------
    estimate : numpy.ndarray, shape (contrasts,)
        Differences.
    low_width, high_width : numpy.ndarray, shape (grid, contrasts)
        Distances of the lower and upper bounds from the estimates, at each quantile of `GRID`.

    Examples
    --------
    >>> found = inverted_differences(np.array([0.2]), 0.1 * GRID[:, None], 0.1 * GRID[:, None])
    >>> found.p.round(4).tolist(), found.low.round(4).tolist()
    ([0.0455], [0.004])
    """
    facing = np.where((estimate > 0)[None, :], low_width, high_width)
    p = np.where(np.abs(estimate) < 1e-12, 1.0, 2 * ndtr(-_crossing(facing, np.abs(estimate))))
    at_z = int(np.searchsorted(GRID, Z))
    return Differences(estimate, estimate - low_width[at_z], estimate + high_width[at_z], p)


def differences_from_reference(limits: GroupLimits, reference: Flags, *, coins: bool = False) -> Differences:
    """Return the difference of each group from the mean of the other reference groups (groups,).

    p is the larger of two. One is the level at which the MOVER interval reaches 0. For rates, the other is that of
    Student's t with the variance at the reference's rate, because a group with few events also has a small variance of
    its own. `coins` is as in `Comparison`. The method was simulated for `evenhand.stats.find_common_level`.
    """
    contrasts = reference_contrasts(reference)
    widths = _widths(limits.means, contrasts, limits.robust_bounds if coins else limits.pooled_bounds, GRID)
    found = inverted_differences(contrasts @ limits.means, *widths)
    if not limits.shares or coins or limits.cautious:
        return found
    weights = np.eye(len(reference)) - contrasts
    total = float(limits.sizes.sum())
    rate = np.clip(weights @ limits.means, 0.5 / (total + 1), 1 - 0.5 / (total + 1))
    error = np.sqrt(rate * (1 - rate) * (np.square(contrasts) @ (1 / limits.worth)))
    t = np.divide(np.abs(found.estimate), error, out=np.zeros_like(error), where=error > 0)
    p = 2 * stdtr(float(max(limits.freedom, 1)), -t)
    if limits.supports is not None:
        return _with_supports(limits, contrasts, widths, -ndtri(np.maximum(p, 1e-300) / 2))
    return facing_zero(found, p)


def facing_zero(found: Differences, p: Floats) -> Differences:
    """Return the differences with p increased to at least `p`, and intervals that include 0 if p is then above .05."""
    larger = np.maximum(found.p, p)
    silent = larger > 0.05
    low = np.where(silent, np.minimum(found.low, 0.0), found.low)
    high = np.where(silent, np.maximum(found.high, 0.0), found.high)
    return Differences(found.estimate, low, high, larger)


def recovered_limits(
    limits: GroupLimits, contrasts: Floats, z: float, *, coins: bool = False
) -> tuple[Floats, Floats]:
    """Return the bounds of contrasts at a normal quantile, from the groups' intervals (MOVER, without adjustment)."""
    estimate = contrasts @ limits.means
    low, high = _widths(
        limits.means, contrasts, limits.robust_bounds if coins else limits.bounds_at, np.array([z])
    )
    return estimate - low[0], estimate + high[0]


def _widths(means: Floats, contrasts: Floats, at: LimitsAt, grid: Floats) -> tuple[Floats, Floats]:
    """Return the distances of the lower and upper bounds from the estimates, each (grid, contrasts)."""
    low, high = at(grid)
    below, above = np.square(means - low), np.square(high - means)
    if np.isinf(below).any() or np.isinf(above).any():
        below, above = np.minimum(below, 1e300), np.minimum(above, 1e300)
    groups = len(means)
    if groups > _LARGE and np.array_equal(contrasts, leave_one_out(groups)):
        # each group against all others: sums over the others are total sums minus its own
        share = 1 / (groups - 1) ** 2
        others_below = (below.sum(axis=1, keepdims=True) - below) * share
        others_above = (above.sum(axis=1, keepdims=True) - above) * share
        return np.sqrt(below + others_above), np.sqrt(above + others_below)
    plus, minus = np.square(np.maximum(contrasts, 0)).T, np.square(np.minimum(contrasts, 0)).T
    return np.sqrt(below @ plus + above @ minus), np.sqrt(above @ plus + below @ minus)


def _crossing(widths: Floats, target: Floats) -> Floats:
    """Return the normal quantile of `GRID` at which each width reaches its target (contrasts,), by interpolation.

    `widths` has the shape (grid, contrasts). If no width reaches the target, it is the largest quantile.
    """
    place = np.clip((widths < target[None, :]).sum(axis=0), 1, len(GRID) - 1)
    columns = np.arange(widths.shape[1])
    before, after = widths[place - 1, columns], widths[place, columns]
    share = np.divide(target - before, after - before, out=np.ones_like(target), where=after > before)
    return np.asarray(GRID[place - 1] + np.clip(share, 0, 1) * (GRID[place] - GRID[place - 1]))
