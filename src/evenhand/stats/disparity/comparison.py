"""Compare the groups of one axis: spread, differences, intervals, p-values and minimum detectable effects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.stats.arrays import Flags, Floats, Indices
from evenhand.stats.common_level import (
    NO_COMMON_LEVEL,
    detectable_factor,
    find_common_level,
    reference_contrasts,
)
from evenhand.stats.disparity.approximation import Approximation, approximate
from evenhand.stats.disparity.deals import MOST, Deals, deal, leave_one_out, smallest_p
from evenhand.stats.disparity.differences import (
    Differences,
    calibrated_differences,
    differences_from_reference,
    facing_zero,
    inverted_differences,
)
from evenhand.stats.disparity.effects import (
    Design,
    cautious_effects,
    critical_z,
    group_level,
    smallest_effects,
)
from evenhand.stats.disparity.limits import KNOWN, GroupLimits, common_clustering
from evenhand.stats.disparity.pairs import LargestGap, largest_gap
from evenhand.stats.disparity.smallest import planned_z
from evenhand.stats.disparity.spread import Spread, burden, spread_of_groups, spread_of_two
from evenhand.stats.disparity.supports import CORRELATIONS, Supports, Z, axis_caution, cautious_axis_p
from evenhand.stats.disparity.units import Units
from evenhand.stats.multiplicity import simes

_MANY, _CELLS, _FEW = 6_000, 60_000_000, 5
_UNEVEN_LEVEL = 0.05
_CROSSED = 0.9
"""Smallest share of combinations of prompt and group with exactly one unit, for a design with crossed prompts.

In such a design, every prompt is asked about every group, so differences between prompts cancel.
"""
_SKEWED_LEVEL, _SKEWED = 0.2, 0.12
SKEWED = (
    "The scores are too skewed, and their variances too unequal, to compare means with so few {unit}s. Compare their "
    "logarithms or ranks."
)


@dataclass(frozen=True)
class Comparison:
    """Comparison of the rates (or means) of the groups of an axis. Result of `compare_units`.

    A unit is what was sampled, such as a prompt. Arrays have the shape (known,): one entry per group with units.

    Attributes
    ----------
    places : numpy.ndarray of int
        Codes of the groups with units, in the numbering of the argument `units`.
    units, limits : Units, GroupLimits
        The units of these groups, and the confidence intervals on which differences are based (within strata).
    rates, low, high : numpy.ndarray
        Mean of each group's units, with 95% CI.
    others : numpy.ndarray
        Mean of the other groups' rates.
    differences : Differences
        Each group minus the other groups.
    spread, burden, gap
        SD of the true rates, mean minus lowest rate, and largest gap between two groups.
    axis_p : float
        p of "no group differs".
    coins : bool
        True if variances within groups are so unequal that each unit is treated as one Bernoulli trial.
    smallest, smallest_spread
        Difference and spread that are detected with 80% power.
    obstacle, obstacles : str or None
        Reason why no difference could be detected, for the axis and for single groups. With an obstacle, differences,
        spread and gap may be None.
    left_out : mapping of int to str
        Groups with units that are not compared, by code, and the reason.
    corrected : bool
        True if rates are corrected for classifier errors (`compare_corrected`).
    reference : numpy.ndarray of bool, or None
        Groups that do not stand out. Each group is compared with their mean. None: each is compared with all others.
    """

    places: Indices
    units: Units
    limits: GroupLimits
    rates: Floats
    low: Floats
    high: Floats
    others: Floats
    obstacle: str | None
    differences: Differences | None = None
    spread: Spread | None = None
    burden: float = float("nan")
    gap: LargestGap | None = None
    axis_p: float = float("nan")
    coins: bool = False
    smallest: Floats | None = None
    smallest_spread: float = float("nan")
    obstacles: tuple[str | None, ...] = ()
    left_out: Mapping[int, str] = field(default_factory=dict)
    corrected: bool = False
    reference: Flags | None = None

    @property
    def has_one_unit(self) -> Flags:
        """Return True for groups with a single unit, in which the effects of unit and group cannot be separated."""
        return np.asarray(self.units.sizes < 2)


def compare_units(units: Units, *, level: float = 0.05, unit: str = "prompt", seed: int = 0) -> Comparison:
    """Compare the groups of an axis by their sampling units, each with the groups that do not stand out.

    `level` is the significance level of the axis, for minimum detectable effects. `unit` is the name of a unit in
    messages, such as "prompt". Raises a UsageError for an invalid level.

    >>> x = np.random.default_rng(0).binomial(1, np.repeat([0.1, 0.1, 0.5], 100)).astype(float)
    >>> found = compare_units(Units.from_arrays(x, np.repeat(np.arange(3), 100)))
    >>> found.axis_p < 0.001, found.differences.excludes_zero.tolist()
    (True, [False, False, True])
    """
    found = compare_with_others(units, level=level, unit=unit, seed=seed)
    limits, coins = found.limits, found.coins
    return with_common_level(
        found, lambda reference: differences_from_reference(limits, reference, coins=coins), level
    )


def compare_with_others(
    units: Units, *, level: float = 0.05, unit: str = "prompt", seed: int = 0
) -> Comparison:
    """Compare the groups of an axis by their sampling units, each with all others. Parameters are those of
    `compare_units`.
    """
    places = np.flatnonzero(units.sizes > 0)
    known = _select_groups(units, places)
    limits = GroupLimits.estimate(known)
    plain = limits if known.strata is None else GroupLimits.estimate(replace(known, strata=None))
    low, high = plain.bounds_at(Z)
    groups = known.n_groups
    others = np.full(groups, np.nan)
    if groups > 1:
        others = (plain.means.sum() - plain.means) / (groups - 1)
    obstacle = _obstacle(known, level, unit)
    if obstacle is not None:
        return Comparison(places, known, limits, plain.means, low, high, others, obstacle)
    test = _test(known, seed)
    coins = limits.supports is None and test.variance_p <= _UNEVEN_LEVEL
    if (
        not known.shares
        and (limits.cautious or test.variance_p <= _SKEWED_LEVEL)
        and _is_too_skewed(known, limits)
    ):
        obstacle = SKEWED.format(unit=unit)
        return Comparison(places, known, limits, plain.means, low, high, others, obstacle)
    found = calibrated_differences(limits, leave_one_out(groups), None if coins else test)
    axis_p = simes(found.p) if coins else test.axis_p
    if limits.supports is not None and groups > 2:
        axis_p = _axis_p(known, limits.supports, test.axis_p, simes(found.p))
    elif limits.supports is not None:
        axis_p = 0.0  # replaced below by p of the single difference
    if limits.cautious or (not known.shares and known.sizes.min() < KNOWN):
        axis_p = max(axis_p, simes(found.p))
    if groups == 2 and not coins:  # a single test: the axis and its groups must agree
        axis_p = max(axis_p, float(found.p.max()))
    if coins:
        low, high = plain.robust_bounds(Z)
    dealt = None if coins else test
    spread = spread_of_two(found, axis_p) if groups == 2 else spread_of_groups(limits, dealt, axis_p)
    smallest, smallest_spread = _smallest(known, limits, others, test, level, coins)
    return Comparison(
        places=places,
        units=known,
        limits=limits,
        rates=plain.means,
        low=low,
        high=high,
        others=others,
        obstacle=None,
        differences=found,
        spread=spread,
        burden=max(burden(known), 0.0),
        gap=largest_gap(known, limits, coins=coins, seed=seed),
        axis_p=axis_p,
        coins=coins,
        smallest=smallest,
        smallest_spread=smallest_spread,
    )


def _axis_p(units: Units, supports: Supports, dealt: float, by_groups: float) -> float:
    """Return the p of "no group differs" (`cautious_axis_p`), from the permutation p and Simes' p over the groups."""
    contrasts = leave_one_out(units.n_groups)
    single = simes(inverted_differences(contrasts @ supports.means, *supports.widths(contrasts)).p)
    caution = axis_caution(supports.means, supports.prompts, supports.caution)
    parts = (np.array(p) for p in (dealt, by_groups, single, supports.p_of_equal_rates()))
    return float(cautious_axis_p(caution, *parts))


def with_common_level(
    found: Comparison, compare: Callable[[Flags], Differences], level: float = 0.05
) -> Comparison:
    """Return the comparison with each group compared with the groups that do not stand out.

    `compare` compares groups with the mean of a reference. If the p of the axis is above `level`, or with two groups,
    nothing changes. If the groups have no common level, each has an obstacle.
    """
    if found.smallest is not None:
        found = replace(found, smallest=found.smallest * detectable_factor(len(found.rates)))
    if found.differences is None or not found.axis_p <= level:
        return found
    usable = ~found.has_one_unit & ~np.isnan(found.differences.p)
    if usable.sum() < 3:
        return found

    def inside(reference: Flags) -> Differences:
        whole = np.zeros(len(usable), dtype=bool)
        whole[usable] = reference
        return compare(whole).select(usable)

    # find_common_level needs only the order of estimates, which differences from all others have too
    common = find_common_level(compare(usable).estimate[usable], inside)
    if not common.exists:
        known = found.obstacles or (None,) * len(usable)
        return replace(found, obstacles=tuple(text or NO_COMMON_LEVEL for text in known))
    against = facing_zero(inside(common.reference), common.p)
    reference = np.zeros(len(usable), dtype=bool)
    reference[usable] = common.reference
    weights = np.eye(len(usable)) - reference_contrasts(reference)
    return replace(
        found,
        differences=found.differences.replace_some(usable, against),
        others=np.where(usable, weights @ np.nan_to_num(found.rates), found.others),
        reference=reference,
    )


def _test(units: Units, seed: int) -> Deals | Approximation:
    total = len(units.values)
    many = _MANY if units.is_balanced else _MANY // 3
    if total > many and units.sizes.min() >= _FEW and units.shares:
        return approximate(units, seed=seed)
    most = int(np.clip(_CELLS // total, 999, MOST))
    several = bool(np.any(units.samples > 1)) or not units.shares
    return deal(units, variances=several, most=most, seed=seed)


def _smallest(
    units: Units, limits: GroupLimits, others: Floats, test: Deals | Approximation, level: float, coins: bool
) -> tuple[Floats, float]:
    sizes = units.sizes.astype(np.float64)
    used = group_level(level, len(sizes))
    left = units.residuals()
    variance = float(np.mean(np.square(left)))
    skew = float(np.mean(left**3)) / variance**1.5 if variance > 0 else 0.0
    inverse, groups = 1 / sizes, len(sizes)
    error = inverse + (inverse.sum() - inverse) / (groups - 1) ** 2
    cubes = inverse**2 - (np.square(inverse).sum() - inverse**2) / (groups - 1) ** 3
    skewness = skew * cubes / error**1.5
    # a rate of 0 has no variance, so half an event is added
    base = np.clip(others, 0.5 / (sizes.sum() + 1), 1 - 0.5 / (sizes.sum() + 1)) if limits.shares else others
    if variance > 0:
        z1 = critical_z(test, used, skewness, float(limits.freedom))
    else:  # without any variation, plan as before a run, with half an event added
        z1 = planned_z(sizes, float(base.mean()), int(max(units.samples.mean(), 1)), used)
    phi = 1.0 if coins else float(np.average(limits.phi, weights=sizes))
    typical = int(max(round(float(units.samples.mean())), 1))
    paired = 0.0 if units.strata is None else float(np.mean(units.cells() == 1))
    crossed = paired >= (_CROSSED if units.shares else 1.0)
    scatter = None if limits.shares else float(np.mean(limits.spread))
    common = common_clustering(units, phi) if crossed else 0.0
    if common:
        # Few prompts estimate the variance poorly. Its expectation, given the estimate, is larger by df / (df - 2)
        # (inverse chi-square).
        phi = min(phi * min(units.freedom / max(units.freedom - 2, 1), 2.0), 1.0)
    supports, cautious = limits.supports, coins or limits.cautious
    correlation = None if supports is None else supports.correlation
    design = Design(sizes, base, phi, scatter, typical, crossed, cautious, common, correlation)
    found = smallest_effects(design, z1, level)
    if supports is None:
        return found
    correlation = float(supports.weights @ CORRELATIONS)
    samples = float(1 / np.mean(1 / units.samples))
    return cautious_effects(found, sizes, float(np.mean(base)), correlation, 1 / samples, level)


def _obstacle(units: Units, level: float, unit: str) -> str | None:
    groups, sizes = units.n_groups, units.sizes
    if groups < 2:
        return "Fewer than two groups have classified responses."
    if units.freedom < 1 or sizes.max() < 2:
        return (
            f"Each group has only one {unit}. At least two are needed. More samples per {unit} do not help."
        )
    if np.ptp(units.values) == 0 and not units.shares:
        return f"All {len(units.values)} {unit}s gave the same result, so there is no variation to test."
    if not units.shares and float(np.square(units.residuals()).sum()) <= 1e-20 * float(
        np.square(units.stratum_deviations).sum()
    ):
        return f"Within each group all {unit}s gave the same result, so the variance is unknown."
    smallest = smallest_p(units)
    if smallest > level:
        least, most = int(sizes.min()), int(sizes.max())
        number = f"{least}" if least == most else f"{least} to {most}"
        return (
            f"With {number} {unit}s per group, p cannot be smaller than {smallest:.2g}, and {level:.2g} is required. "
            f"Use more {unit}s per group."
        )
    return None


def _is_too_skewed(units: Units, limits: GroupLimits) -> bool:
    """Return True if skewness makes Student's t miss its level, for numbers with the groups' own variances.

    The criterion is the first term of the error of t (Johnson 1978). The skewness must exceed its sampling error.
    """
    own = np.sqrt(np.where(limits.own > 0, limits.own, limits.spread))
    cubes = (units.residuals() / own[units.groups]) ** 3
    skewness = abs(float(cubes.mean()))
    least = float(limits.sizes[limits.sizes > 1].min())
    return bool(skewness > 2.5 * np.sqrt(6 / len(cubes)) and skewness / np.sqrt(least) > _SKEWED)


def _select_groups(units: Units, places: Indices) -> Units:
    """Return the units with new group codes, without groups that have no units."""
    if len(places) == units.n_groups:
        return units
    codes = np.full(units.n_groups, -1, dtype=np.int64)
    codes[places] = np.arange(len(places))
    return Units(units.values, codes[units.groups], len(places), units.strata, units.samples, units.shares)
