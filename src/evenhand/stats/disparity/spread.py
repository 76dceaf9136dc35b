"""Estimate how much groups differ, without noise: the standard deviation of their true rates, and the burden."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtr, chdtrc

from evenhand.stats.arrays import Floats
from evenhand.stats.disparity.approximation import Approximation
from evenhand.stats.disparity.deals import Deals
from evenhand.stats.disparity.differences import Differences
from evenhand.stats.disparity.limits import GroupLimits
from evenhand.stats.disparity.spread_limits import largest_spread
from evenhand.stats.disparity.supports import Z
from evenhand.stats.disparity.units import Units

_SPLITS, _DRAWN = 100, 1_000_000
_LARGE = 20_000


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the groups' true means (divisor: groups - 1), with 95% CI.

    ``low`` is 0 exactly if the test of the axis is not significant at 5%.
    """

    estimate: float
    low: float
    high: float


def spread_of_groups(limits: GroupLimits, test: Deals | Approximation | None, axis_p: float) -> Spread:
    """Return the SD of the groups' true means with a 95% CI, from the variance of the observed means.

    Parameters
    ----------
    limits : GroupLimits
        Means of the groups and their variances.
    test : Deals, Approximation or None
        Permutation test of the axis. None if units cannot be permuted.
    axis_p : float
        p of "no group differs".

    Returns
    -------
    Spread
        SD and CI, which is one-sided near 0 and two-sided far from it.

    Notes
    -----
    The CI inverts a chi-square distribution with matched moments (Satterthwaite 1946). The transition from one-sided to
    two-sided was simulated for this use.

    >>> from evenhand.stats.disparity.deals import deal
    >>> means = np.array([.25, .5, 0, 0, .25, 0, 1, .75, .5])
    >>> units = Units.from_arrays(means, np.repeat([0, 1, 2], 3), samples=np.full(9, 4.))
    >>> test = deal(units)
    >>> round(100 * spread_of_groups(GroupLimits.estimate(units), test, test.axis_p).estimate, 1)
    32.3
    """
    means, sizes = limits.means, limits.sizes
    observed = float(np.var(means, ddof=1))
    own = np.where(np.isnan(limits.own), limits.spread, limits.own)
    estimate = float(np.sqrt(max(observed - float(np.mean(own / sizes)), 0.0)))
    noise = _noise(limits, means)
    if noise.mean() <= 1e-15:
        noise = np.maximum(_noise(limits, (means * sizes + 0.5) / (sizes + 1)), 1e-12)
    low, high = _invert_test(observed, noise, means, max(limits.freedom, 1), 1.0 if limits.shares else None)
    if axis_p > 0.05:
        low = 0.0
    elif low <= 0:
        low = _other_bound(estimate, observed, test)
    low = min(low, estimate) if estimate > 0 else low
    # a single group may be at its own bound, even if all observed means are equal
    ends = limits.bounds_at(Z)
    alone = float(np.max(np.maximum(means - ends[0], ends[1] - means)[sizes > 1], initial=0.0))
    return Spread(estimate, low, max(high, estimate, low, alone / np.sqrt(len(means))))


def spread_of_two(difference: Differences, axis_p: float) -> Spread:
    """Return the SD of two means, which is their difference divided by the square root of 2, with its interval.

    `difference` has one row for each of the two groups. `axis_p` is at least the p of these rows.
    """
    size, low, high = (
        float(part[0]) / np.sqrt(2) for part in (difference.estimate, difference.low, difference.high)
    )
    least = max(low, -high, 0.0)
    noise = (high - low) / (2 * Z)
    estimate = float(np.sqrt(max(size**2 - noise**2, 0.0)))
    least = 0.0 if axis_p > 0.05 else least
    return Spread(max(estimate, least), least, max(abs(low), abs(high)))


def _noise(limits: GroupLimits, means: Floats) -> Floats:
    if not limits.shares:
        return np.asarray(limits.spread / limits.sizes)
    rate = np.clip(means, 0, 1)
    return np.asarray(limits.phi * rate * (1 - rate) / np.maximum(limits.sizes - limits.phi, 0.5))


def _invert_test(
    observed: float, noise: Floats, means: Floats, freedom: int, bound: float | None
) -> tuple[float, float]:
    """Return the bounds of the true SD for which the observed variance of means is not extreme, on a grid of SDs.

    `noise` (groups,) are the squared standard errors of the means, and `bound` is the width of the range of values (1
    for rates). The formulas are those of `spread_limits.limits_of_spread`.
    """
    groups = len(means)
    mean = float(noise.mean())
    squares = np.square(means - means.mean())
    around = float(squares.sum())
    uneven = max(1.0, float((noise * squares).sum()) / (mean * around)) if mean * around > 0 else 1.0
    start, stop = 0.0, 2.0 * (np.sqrt(observed) + np.sqrt(mean)) * np.sqrt(groups + 10.0)
    if bound is not None:
        stop = min(stop, largest_spread(groups, bound))
    lows, highs = (start, stop), (start, stop)
    limits = (start, stop)
    for _ in range(3):  # refine the grid around both bounds
        ends = []
        for side, (first, last) in enumerate((lows, highs)):
            grid = np.linspace(first, last, 201)
            # one-sided (5% below) at an SD of 0, two-sided (2.5% each) if it is large compared with the noise
            share = np.square(grid) / (np.square(grid) + 2 * mean / np.sqrt(groups - 1.0))
            centre = np.square(grid) + mean
            variance = (
                2 / (groups - 1.0) ** 2 * ((1 - 2 / groups) * np.square(noise).sum() + mean**2)
                + 5.2 * uneven * np.square(grid) * mean / (groups - 1.0)
                + 4 * mean**2 / freedom
            )
            nu = 2 * np.square(centre) / variance
            value = observed * nu / centre
            inside = (chdtrc(nu, value) >= 0.05 * (1 - share / 2)) & (chdtr(nu, value) >= 0.025 * share)
            places = np.flatnonzero(inside)
            if not places.size:
                ends.append((first, last))
            elif side == 0:
                ends.append((float(grid[max(places[0] - 1, 0)]), float(grid[places[0]])))
            else:
                ends.append((float(grid[places[-1]]), float(grid[min(places[-1] + 1, 200)])))
        lows, highs = ends
        limits = (lows[1] if lows[0] > 0 or lows[1] > stop / 200 else lows[0], highs[1])
    low = 0.0 if lows[0] == 0.0 else lows[1]
    return low, limits[1]


def _other_bound(estimate: float, observed: float, test: Deals | Approximation | None) -> float:
    """Return a lower bound of the SD if the test of the axis rejects, but the inversion gives a bound of 0.

    If the largest z is significant, one group differs by at least some amount, which implies an SD. The bound is at
    least a thousandth of the larger of the estimated and the observed SD, so that it is above 0.
    """
    if test is None:
        return 1e-3 * max(estimate, float(np.sqrt(observed)))
    level = test.common_level()
    bounds = []
    z = np.abs(test.z[0] if test.z.ndim > 1 else test.z)
    best = int(np.argmax(z))
    if test.largest_p <= level and np.isfinite(z[best]):
        share = 1 - test.largest_quantile(1 - level) / z[best]
        bounds.append(abs(float(test.difference[best])) * share / np.sqrt(len(z)))
    bounds.append(1e-3 * max(estimate, float(np.sqrt(observed))))
    return float(max(bounds))


def burden(units: Units) -> float:
    """Return the mean of all groups minus the lowest group mean, estimated without selection bias.

    The lowest group is chosen on one half of the units, and its mean is estimated on the other, for many random halves.
    The estimate is unbiased if no group differs, and may then be negative. It grows with the share of groups that are
    treated worse, until all are. NaN if fewer than two groups have two units.

    >>> units = Units.from_arrays(np.repeat([0.5, 0.1, 0.5, 0.5], 20), np.repeat(np.arange(4), 20))
    >>> round(burden(units), 6)
    0.3
    """
    sizes = units.sizes
    able = sizes > 1
    if np.count_nonzero(able) < 2:
        return float("nan")
    values = (
        units.values if units.is_balanced else units.values - units.group_means(units.values)[units.groups]
    )
    if not units.is_balanced:
        values = values + units.means[units.groups]
    whole = units.group_means(values)
    mean = float(np.nanmean(whole))
    # sort groups by their values, so that their names do not affect the random halves
    thirds = units.group_means(values**3)
    place = np.argsort(np.lexsort((thirds, whole, sizes)))
    order = np.lexsort((values, place[units.groups]))
    values, sizes, whole, able = (
        values[order],
        sizes[np.argsort(place)],
        whole[np.argsort(place)],
        able[np.argsort(place)],
    )
    groups = place[units.groups][order]
    starts = np.cumsum(sizes) - sizes
    generator = np.random.default_rng(0)
    results = []
    for _ in range(int(np.clip(_DRAWN // len(values), 2, _SPLITS))):
        if len(values) < _LARGE:
            shuffled = np.argsort(groups + generator.random(len(values)) * 0.999)
            rank = np.empty(len(values))
            rank[shuffled] = np.arange(len(values)) - starts[groups[shuffled]]
            first = rank < (sizes // 2)[groups]
        else:  # with many units, halves may differ in size
            first = generator.random(len(values)) < 0.5
        sums = np.bincount(groups, weights=values * first, minlength=len(sizes))
        counts = np.bincount(groups, weights=first, minlength=len(sizes))
        with np.errstate(divide="ignore", invalid="ignore"):
            halves = [sums / counts, (whole * sizes - sums) / (sizes - counts)]
        halves = [np.where(able & np.isfinite(half), half, np.inf) for half in halves]
        ties = 1e-9 * generator.random(len(sizes))  # sorted by means, so ties must be broken at random
        for choose, value in (halves, halves[::-1]):
            lowest = int(np.argmin(np.where(np.isfinite(value), choose + ties, np.inf)))
            results.append(mean - float(value[lowest]))
    return float(np.mean(results))
