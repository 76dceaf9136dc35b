"""Minimum detectable effects (80% power) of the comparison of groups, with the same code before and after a run."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtri, ndtri, stdtrit

from evenhand.stats.arrays import Counts, Floats
from evenhand.stats.disparity.approximation import Approximation
from evenhand.stats.disparity.deals import Deals
from evenhand.stats.disparity.drawn import SimulationDesign, variance_of_difference
from evenhand.stats.disparity.limits import COINS, KNOWN, OWN
from evenhand.stats.disparity.simulated import (
    FEW_OF_AXIS,
    FEW_UNITS,
    simulated_differences,
    simulated_spread,
)
from evenhand.stats.disparity.smallest import PLANNED_CORRELATION, planned_z, power_of_f
from evenhand.stats.disparity.supports import GROUPS_DECIDE, Supports, detectable_excess
from evenhand.stats.disparity.tails import critical_value
from evenhand.stats.power import POWER

POWER_Z = float(ndtri(POWER))
_UNEQUAL = 4.0
_NEGLIGIBLE = (
    0.03  # with less caution, unequal variances of prompts have no effect on the minimum detectable effect
)
MIN_P_SHARE = 0.74
"""Level of each of two statistics, relative to that of the smaller p of both: .037 for .05."""


@dataclass(frozen=True)
class Design:
    """Sample sizes and variances on which minimum detectable effects depend.

    Attributes
    ----------
    sizes, base : numpy.ndarray, shape (groups,)
        Number of units (such as prompts) of each group, and mean rate of the other groups.
    phi : float
        Variance of a unit divided by that of one Bernoulli trial.
    variance : float or None
        Variance of a unit if outcomes are numbers. None for rates.
    samples : int
        Number of responses per unit.
    crossed : bool
        True if most units of a group share their stratum with one unit of every other group.
    cautious : bool
        As in `GroupLimits`.
    common : float
        Variance of the rates of prompts that are asked about every group, divided by that of one Bernoulli trial. The
        difference of two groups then varies between prompts (see `rates_of_prompts`).
    correlation : float or None
        Correlation of the responses to a prompt (ICC), if the test allows for unequal variances of prompts
        (`Supports`).
    """

    sizes: Floats
    base: Floats
    phi: float
    variance: float | None = None
    samples: int = 1
    crossed: bool = False
    cautious: bool = False
    common: float = 0.0
    correlation: float | None = None

    @property
    def freedom(self) -> float:
        """Return the degrees of freedom: units minus groups."""
        return float(max(self.sizes.sum() - len(self.sizes), 1.0))

    def varies(self, d: Floats, base: float, *, both: bool = False) -> Floats:
        """Return the variance over prompts of a difference d from the base rate (or, of both groups), in its shape."""
        if not self.common:
            return np.zeros_like(d)
        return np.asarray(np.interp(d, *variance_of_difference(round(base, 3), self.common, both)))


def group_level(level: float, groups: int) -> float:
    """Return the level at which one of several groups must be significant to be reported, if the axis has `level`.

    With two groups, the group and the axis are the same test.

    >>> round(group_level(0.05, 10), 5), group_level(0.05, 2)
    (0.0037, 0.05)
    """
    return level if groups <= 2 else MIN_P_SHARE * level / groups


def critical_z(test: Deals | Approximation, level: float, skewness: Floats, freedom: float) -> Floats:
    """Return the absolute z that each group must reach at `level` (groups,), from permutations or their closed form."""
    closed = critical_value(level, skewness, int(freedom))
    if isinstance(test, Approximation):
        return closed
    result = closed.copy()
    for number in np.unique(test.classes):
        members = test.classes == number
        # Quantiles that fewer than 20 permuted values exceed are imprecise: scale the closed form instead, by the ratio
        # at the quantile that 20 exceed.
        seen = max(level, min(20.0 / (test.count * np.count_nonzero(members)), 0.5))
        dealt = test.quantile(1 - seen)[members]
        there = critical_value(seen, skewness[members], int(freedom))
        with np.errstate(invalid="ignore"):
            ratio = np.where(np.isfinite(dealt), dealt / there, 1.5)
        result[members] = closed[members] * ratio
    return result


def smallest_differences(design: Design, z1: Floats, level: float) -> Floats:
    """Return the difference of each group's rate above the others that is detected with 80% power (groups,).

    NaN if no difference is detectable. For rates below 50%, a difference below the others is detected at the same or a
    smaller distance, unless the rate cannot be that low. For rates above 50%, this holds for differences above.

    Parameters
    ----------
    design : Design
        Sample sizes and variances.
    z1 : numpy.ndarray, shape (groups,)
        Absolute z that each group must reach.
    level : float
        Two-sided level of `z1`.

    Notes
    -----
    If sizes differ more than fourfold, the width of the CI (MOVER) may require more than `z1`. The difference of two
    groups changes in steps of one response. Half a step is lost on average, because a permutation test counts ties
    (Yates 1934). The variance grows with the effect; checked in simulations.

    >>> design = Design(np.full(10, 100.0), np.full(10, 0.1), 1.0)
    >>> found = smallest_differences(design, np.full(10, 2.807034), 0.005)
    >>> round(100 * float(found[0]), 2)
    12.93
    """
    # A difference below a rate is one above its complement. The direction towards one half has the larger variance and
    # therefore the larger minimum detectable effect, so compute that one.
    base = (
        np.minimum(design.base, 1 - design.base)[:, None] if design.variance is None else design.base[:, None]
    )
    sizes = design.sizes[:, None]
    groups = len(sizes)
    inverse = 1 / sizes
    others = (inverse.sum() - inverse) / (groups - 1) ** 2
    if design.variance is not None:
        error = np.sqrt(design.variance * (inverse + others))[:, 0]
        return np.asarray(np.maximum(z1 * error, _widths_of_numbers(design, level)) + POWER_Z * error)
    # with two groups of 60 single responses at 30%, the simulated power is 81% with this term and 75% without it
    half_step = 0.5 * inverse.sum() / design.samples if groups == 2 else 0.0
    shares = np.linspace(0, 1, 401)[None, 1:] ** 1.5
    for _ in range(2):
        d = shares * (1 - base)
        v0 = design.phi * base * (1 - base)
        v1 = design.phi * (base + d) * (1 - base - d) + design.varies(d, float(base.mean()))
        own = (sizes - 1) / design.freedom
        mixed = own * v1 + (1 - own) * v0
        needed = z1[:, None] * np.sqrt(mixed * (inverse + others))
        if design.cautious or design.sizes.max() > _UNEQUAL * design.sizes.min():
            needed = np.maximum(needed, _widths(design, base, d, level))
        short = d - half_step - needed - POWER_Z * np.sqrt(v1 * inverse + v0 * others)
        place = np.argmax(short >= 0, axis=1)
        reached = short.max(axis=1) >= 0
        rows = np.arange(groups)
        high = np.broadcast_to(shares, d.shape)[rows, place]
        low = np.where(place > 0, np.broadcast_to(shares, d.shape)[rows, np.maximum(place - 1, 0)], 0.0)
        shares = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 41)[None, :]
        found = high * (1 - base[:, 0])
    return np.where(reached, found, np.nan)


def _widths(design: Design, base: Floats, d: Floats, level: float) -> Floats:
    """Return the distance from the difference to the MOVER bound that faces 0, at the rates base and base + d."""
    quantile = float(-ndtri(level / 2))
    if design.cautious:
        freedom, coins = design.sizes - 1, COINS
    else:
        freedom, coins = np.full(len(design.sizes), design.freedom), 0.0 if design.crossed else COINS
    moderated = (freedom * design.phi + coins) / (freedom + coins)
    if design.cautious:
        moderated = moderated if design.sizes.min() >= KNOWN else np.ones_like(moderated)
    elif moderated[0] < 1 - 1e-9:
        quantile = float(stdtrit(design.freedom, 1 - level / 2))
    worth = design.sizes / moderated
    own = (base + d) - _bound(base + d, worth[:, None], quantile, -1)
    kinds, counts = np.unique(worth, return_counts=True)
    distance = np.square(_bound(base, kinds[None, :], quantile, 1) - base)
    mine = np.square(_bound(base, worth[:, None], quantile, 1) - base)
    rest = (distance @ counts.astype(np.float64))[:, None] - mine
    return np.asarray(np.sqrt(np.square(own) + np.maximum(rest, 0) / (len(design.sizes) - 1) ** 2))


def _widths_of_numbers(design: Design, level: float) -> Floats:
    """Return the same distance for numbers, which have Student's intervals (groups,)."""
    assert design.variance is not None
    weight = np.maximum(design.sizes - 1, 1.0)
    freedom = weight if design.cautious else np.minimum(weight + OWN, design.freedom)
    squares = np.square(stdtrit(freedom, 1 - level / 2)) * design.variance / design.sizes
    return np.asarray(np.sqrt(squares + (squares.sum() - squares) / (len(squares) - 1) ** 2))


def _bound(rate: Floats, n: Floats, z: float, side: int) -> Floats:
    square = z * z
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * np.sqrt(np.maximum(rate * (1 - rate), 0) / n + square / (4 * np.square(n)))
    return np.asarray(np.clip(centre + side * half, 0, 1))


def smallest_spread(design: Design, level: float) -> float:
    """Return the SD of group rates that is detected with 80% power, half of the groups above and half below the mean.

    NaN if none is. The power is that of an analysis of variance (noncentral F). Its level is `MIN_P_SHARE` of that of
    the axis, because the axis is tested by the smaller p of two statistics.
    """
    groups = len(design.sizes)
    if groups < 2:
        return float("nan")
    used = level if groups == 2 else MIN_P_SHARE * level
    between, within = float(groups - 1), design.freedom
    bound = fdtri(between, within, 1 - used)
    base = float(design.base.mean())
    if design.variance is None:
        base = min(base, 1 - base)
    sign = np.where(np.arange(groups) % 2 == 0, 1.0, -1.0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    largest = 1 - base if design.variance is None else 20 * np.sqrt(design.variance)
    low, high = 0.0, largest

    def power(d: float) -> tuple[float, float]:
        rates = base + d * sign if design.variance is not None else np.clip(base + d * sign, 0, 1)
        centre = float(np.average(rates, weights=design.sizes))
        noise = design.variance or design.phi * float((rates * (1 - rates)).mean())
        signal = float((design.sizes * np.square(rates - centre)).sum())
        spread = float(np.std(rates, ddof=1))
        if not design.common:
            return power_of_f(signal / max(noise, 1e-12), between, within, bound), spread
        # The difference varies between prompts. The sampled prompts may therefore show a larger or smaller difference
        # (average the power over it, by quadrature), and their differences have a larger variance.
        shown = d + nodes * np.sqrt(design.varies(np.array(d), base, both=True) / 4 / design.sizes.mean())
        varies = design.varies(np.abs(shown), base, both=True) / 4 * groups / (groups - 1)
        signals = signal * np.square(shown / d) / np.maximum(noise + varies, 1e-12)
        found = [power_of_f(one, between, within, bound) for one in signals.tolist()]
        return float(np.average(found, weights=weights)), spread

    if power(high)[0] < POWER:
        return float("nan")
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle)[0] >= POWER else (middle, high)
    return power(high)[1]


def smallest_effects(design: Design, z1: Floats, level: float) -> tuple[Floats, float]:
    """Return the minimum detectable differences of groups (groups,) and the minimum detectable spread of the axis.

    It is used before and after a run. With two groups, both are the same effect. With few units, they are simulated
    with the whole test. NaN if nothing is detectable.
    """
    groups, sizes = len(design.sizes), design.sizes
    found = smallest_differences(design, np.maximum(z1, 1.0), group_level(level, groups))
    scale = 1.0 if design.variance is None else float(np.sqrt(design.variance))
    base = 0.0
    if design.variance is None:
        base = float(np.mean(design.base))
        # At a rate that may be one half, given its sampling error, use one half: its effects are largest.
        base = min(base, 1 - base) if abs(base - 0.5) > 0.5 / np.sqrt(sizes.sum()) else 0.5
    drawn = _simulated_design(design, level)
    if sizes.sum() <= FEW_UNITS and groups > 1:
        found = scale * simulated_differences(drawn, base, found / scale)
    found = np.where(sizes < 2, np.nan, found)
    if groups == 2:
        known = found[~np.isnan(found)]
        return found, float(known[0] / np.sqrt(2)) if known.size else float("nan")
    spread = smallest_spread(design, level)
    if design.cautious:  # the axis is significant only if a group is: the one with the smallest effect
        known = found[~np.isnan(found)]
        spread = max(spread, float(known.min()) * (1 - 1 / groups) ** 0.5) if known.size else float("nan")
    if sizes.sum() <= FEW_OF_AXIS and groups > 2:
        if design.correlation is not None:
            steps = 50 if design.correlation < 0.1 else 20
            icc, samples = max(round(steps * design.correlation) / steps, 0.01), max(design.samples, 2)
            drawn = replace(drawn, samples=samples, phi=icc + (1 - icc) / samples, supported=True)
        spread = scale * simulated_spread(drawn, base, spread / scale)
    return found, spread


def _simulated_design(design: Design, level: float) -> SimulationDesign:
    """Return the design of simulated data sets, with rounded numbers so that results can be reused."""
    groups, sizes = len(design.sizes), design.sizes
    several = 0 if design.variance is not None else design.samples
    # phi is small if differences between prompts cancel, so round it less
    steps = 100 if design.common else 20
    phi = max(round(steps * design.phi) / steps, float(f"{min(design.phi, 0.05):.1g}"), 1e-4)
    counts = tuple(int(size) for size in (np.full(groups, round(sizes.mean())) if design.crossed else sizes))
    return SimulationDesign(counts, several, design.crossed, phi, level, design.cautious, design.common)


def cautious_effects(
    found: tuple[Floats, float], sizes: Floats, base: float, correlation: float, inverse: float, level: float
) -> tuple[Floats, float]:
    """Return the minimum detectable effects if the variances of prompts may be unequal.

    They are weighted means of those under equal variances and those of `Supports`. The weight is the caution, as in the
    test.

    Parameters
    ----------
    found : tuple of (numpy.ndarray of shape (groups,), float)
        Minimum detectable differences and spread under equal variances.
    sizes : numpy.ndarray, shape (groups,)
        Number of prompts of each group.
    base : float
        Rate of the other groups.
    correlation : float
        Correlation of the responses to a prompt (ICC).
    inverse : float
        1 / number of responses per prompt.
    level : float
        Significance level of the axis.
    """
    groups = len(sizes)
    phi = correlation + (1 - correlation) * inverse
    base = min(base, 1 - base)
    rates = np.full(groups, base)
    planned = Supports.from_moments(rates, phi * rates * (1 - rates), sizes, np.full(groups, inverse))
    caution = planned.caution
    if groups == 2:
        caution = np.full(2, caution.max())
    if caution.max() < _NEGLIGIBLE:
        return found
    alone = detectable_excess(sizes, base, correlation, inverse, group_level(level, groups))
    differences = np.where(caution < _NEGLIGIBLE, found[0], (1 - caution) * found[0] + caution * alone)
    if groups == 2:
        one = float(differences.max())
        return np.full(2, one), float(one / np.sqrt(2))
    known = differences[np.isfinite(differences)]
    if sizes.sum() <= FEW_OF_AXIS:  # simulated with the whole test
        return differences, found[1]
    if not known.size:
        return differences, float("nan")
    # The larger the caution, the more the test of the axis depends on its most significant group (`GROUPS_DECIDE`).
    lone = float(known.min()) * (1 - 1 / groups) ** 0.5
    weight = min(float(np.average(caution, weights=sizes)) / GROUPS_DECIDE, 1.0)
    spread = (1 - weight) * found[1] + weight * max(found[1], lone)
    return differences, spread if spread <= _largest_spread(base, groups) else float("nan")


def _largest_spread(base: float, groups: int) -> float:
    """Return the SD of rates if half of the groups are at `base`, at most one half, and the others at 1."""
    return float(np.std(np.where(np.arange(groups) % 2 == 0, base, 1.0), ddof=1))


def planned_effects(
    sizes: Counts, base: float, samples: int, level: float, seed: int = 0
) -> tuple[Floats, float]:
    """Return the minimum detectable differences of groups and the minimum detectable spread of a planned audit.

    Parameters
    ----------
    sizes : array_like, shape (groups,)
        Number of prompts of each group, at least 1.
    base : float
        Assumed rate (0 to 1).
    samples : int
        Number of responses per prompt. Their correlation is assumed to be 0.3 (beta-binomial).
    level : float
        Significance level of the axis.
    seed : int
        Random seed of the simulation.

    Returns
    -------
    differences : numpy.ndarray, shape (groups,)
        Differences of rates that are detected with 80% power. NaN if none is.
    spread : float
        SD of the groups' true rates that is detected with 80% power. NaN if none is.

    >>> differences, spread = planned_effects(np.full(10, 100), 0.1, 1, 0.05)
    >>> bool(0.12 < differences[0] < 0.15), bool(0.03 < spread < 0.08)
    (True, True)
    """
    known = sizes > 0
    n = sizes[known].astype(np.float64)
    groups = len(n)
    differences = np.full(len(sizes), np.nan)
    if groups < 2 or n.max() < 2:
        return differences, float("nan")
    phi = 1 / samples + (1 - 1 / samples) * PLANNED_CORRELATION
    correlation = PLANNED_CORRELATION if samples > 1 else None
    design = Design(n, np.full(groups, base), phi, samples=samples, correlation=correlation)
    z1 = planned_z(n, base, samples, group_level(level, groups), seed)
    found = smallest_effects(design, z1, level)
    if samples > 1:
        found = cautious_effects(found, n, base, PLANNED_CORRELATION, 1 / samples, level)
    differences[known], spread = found
    return differences, spread
