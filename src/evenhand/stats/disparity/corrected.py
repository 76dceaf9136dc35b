"""Compare groups by rates that are corrected for the errors of a classifier, which are known from labelled texts."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from evenhand.stats.arrays import Flags, Floats, Indices
from evenhand.stats.common_level import reference_contrasts
from evenhand.stats.disparity.comparison import Comparison, compare_with_others, with_common_level
from evenhand.stats.disparity.deals import leave_one_out
from evenhand.stats.disparity.differences import Differences, inverted_differences
from evenhand.stats.disparity.effects import POWER_Z
from evenhand.stats.disparity.limits import GroupLimits, wilson
from evenhand.stats.disparity.pairs import as_normal, tukey_quantile, widest_gap
from evenhand.stats.disparity.spread import Spread
from evenhand.stats.disparity.spread_limits import limits_of_spread
from evenhand.stats.disparity.supports import GRID, Z
from evenhand.stats.disparity.units import Units
from evenhand.stats.multiplicity import simes
from evenhand.stats.power import POWER


@dataclass(frozen=True)
class LabelCounts:
    """Counts of a classifier's verdicts on human-labelled texts. Arrays have the shape (groups,).

    Attributes
    ----------
    false_alarms, harmless : numpy.ndarray
        Number of false positives, and number of harmless texts. NaN if a group has no labelled texts.
    hits, harmful : numpy.ndarray
        Number of true positives, and number of harmful texts. NaN if a group has no labelled texts.
    shared : numpy.ndarray of bool
        True for groups that all use the counts of one labelled set, so that their errors are correlated.
    """

    false_alarms: Floats
    harmless: Floats
    hits: Floats
    harmful: Floats
    shared: Flags

    def select(self, places: Indices) -> "LabelCounts":
        """Return the counts of the groups at these positions."""
        return LabelCounts(
            self.false_alarms[places],
            self.harmless[places],
            self.hits[places],
            self.harmful[places],
            self.shared[places],
        )

    @property
    def alarm_rate(self) -> Floats:
        """Return the false-positive rate, with half a text added to each count (groups,)."""
        return np.asarray((self.false_alarms + 0.5) / (self.harmless + 1))

    @property
    def hit_rate(self) -> Floats:
        """Return the true-positive rate, with half a text added to each count (groups,)."""
        return np.asarray((self.hits + 0.5) / (self.harmful + 1))

    def usable(self) -> Flags:
        """Return True for groups on whose texts the classifier is better than chance (groups,).

        The lower 95% bound of its true-positive rate must be above the upper 95% bound of its false-positive rate.
        """
        hit_low, _ = wilson(self.hit_rate, self.harmful + 1, np.full(1, Z))
        _, alarm_high = wilson(self.alarm_rate, self.harmless + 1, np.full(1, Z))
        with np.errstate(invalid="ignore"):
            return np.asarray(hit_low > alarm_high)


@dataclass(frozen=True)
class CorrectedRates:
    """Rates of groups that are corrected for classifier errors (Rogan & Gladen 1978); they may be below 0 or above 1.

    ``limits`` are the intervals of the uncorrected rates. Intervals of corrected rates combine those of three rates:
    the uncorrected one, false positives and true positives (Zou & Donner 2008).
    """

    limits: GroupLimits
    counts: LabelCounts
    coins: bool = False
    """True if each unit is treated as one Bernoulli trial."""

    @property
    def rates(self) -> Floats:
        """Return (uncorrected rate - false-positive rate) / (true-positive rate - false-positive rate), shape
        (groups,).
        """
        return _correct_rates(self.limits.means, self.counts.alarm_rate, self.counts.hit_rate)

    @property
    def variance(self) -> Floats:
        """Return the variance of the corrected rates (groups,)."""
        judged = self.limits.means
        worth = self.limits.worth
        share = (judged * worth + 0.5) / (worth + 1)
        return np.asarray(share * (1 - share) / worth / self._youden**2 + self.label_variance)

    @property
    def label_variance(self) -> Floats:
        """Return the part of the variance that is due to the labelled texts (groups,)."""
        alarms, hits = self.counts.alarm_rate, self.counts.hit_rate
        true = np.clip(self.rates, 0, 1)
        of_alarms = (1 - true) ** 2 * alarms * (1 - alarms) / (self.counts.harmless + 1)
        of_hits = true**2 * hits * (1 - hits) / (self.counts.harmful + 1)
        return np.asarray((of_alarms + of_hits) / self._youden**2)

    @property
    def _youden(self) -> Floats:
        return np.asarray(self.counts.hit_rate - self.counts.alarm_rate)

    def bounds_at(self, z: float) -> tuple[Floats, Floats]:
        """Return the bounds of each corrected rate at a normal quantile, clipped to 0 and 1; each has the shape
        (groups,).
        """
        low, high = self.widths(np.eye(len(self.rates)), np.array([z]))
        return np.clip(self.rates - low[0], 0, 1), np.clip(self.rates + high[0], 0, 1)

    def widths(self, contrasts: Floats, grid: Floats) -> tuple[Floats, Floats]:
        """Return the distances of the lower and upper bounds of contrasts from the estimates, shape (grid, contrasts).

        The bounds are at the normal quantiles of a grid (grid,).
        """
        below = np.zeros((len(grid), len(contrasts)))
        above = np.zeros_like(below)
        plus, minus = np.square(np.maximum(contrasts, 0)).T, np.square(np.minimum(contrasts, 0)).T
        shared = self.counts.shared
        for number, (first, second) in enumerate(self.offsets(self.limits.means, grid)):
            together = shared if number else np.zeros_like(shared)
            down = np.where(together, 0, np.minimum(np.minimum(first, second), 0)) ** 2
            up = np.where(together, 0, np.maximum(np.maximum(first, second), 0)) ** 2
            below += down @ plus + up @ minus
            above += up @ plus + down @ minus
            if together.any():  # groups that share a labelled set share its sampling error
                moved = [np.where(together, offset, 0) @ contrasts.T for offset in (first, second)]
                below += np.minimum(np.minimum(*moved), 0) ** 2
                above += np.maximum(np.maximum(*moved), 0) ** 2
        return np.sqrt(below), np.sqrt(above)

    def offsets(self, judged: Floats, z: float | Floats) -> list[tuple[Floats, Floats]]:
        """Return the effect on corrected rates of moving one error source to the end of its interval, others unchanged.

        The sources are the uncorrected rates `judged` ((groups,), or (many, groups) for one quantile), the
        false-positive rates and the true-positive rates.
        """
        counts, quantile = self.counts, np.asarray(z, dtype=np.float64)[..., None]
        alarms, hits = counts.alarm_rate, counts.hit_rate
        limits = replace(self.limits, means=judged)
        ends = (
            (limits.robust_bounds if self.coins else limits.bounds_at)(z),
            wilson(alarms, counts.harmless + 1, quantile),
            wilson(hits, counts.harmful + 1, quantile),
        )
        rates = _correct_rates(judged, alarms, hits)
        # the correction is undefined if both error rates are equal, so they are kept apart
        moved = (
            [_correct_rates(end, alarms, hits) for end in ends[0]],
            [_correct_rates(judged, np.minimum(end, hits - _APART), hits) for end in ends[1]],
            [_correct_rates(judged, alarms, np.maximum(end, alarms + _APART)) for end in ends[2]],
        )
        return [(np.asarray(low - rates), np.asarray(high - rates)) for low, high in moved]


def _correct_rates(judged: Floats, alarms: Floats, hits: Floats) -> Floats:
    return np.asarray((judged - alarms) / (hits - alarms))


_APART = 1e-3
_DRAWS = 400
NO_LABELS = "There are no labelled texts about the group, so the classifier's error rates for it are unknown."
NO_BETTER = (
    "The labelled texts do not show that the classifier distinguishes harmful texts about the group from harmless "
    "ones."
)


def compare_corrected(
    units: Units, counts: LabelCounts, *, level: float = 0.05, unit: str = "prompt", seed: int = 0
) -> Comparison:
    """Compare the groups of an axis as `compare_units` does, by rates that are corrected for classifier errors.

    Parameters
    ----------
    units : Units
        Units of classified responses (rates).
    counts : LabelCounts
        Errors of the classifier for all groups. Groups that cannot be corrected are left out, with the reason.

    Notes
    -----
    p of a group is that of its interval, and p of the axis Simes' p over the groups. Units cannot be permuted, because
    error rates differ between groups. `burden` is not estimated. Simulated for this use.

    >>> x = np.repeat([1.0, 0, 1, 0], [60, 140, 60, 140])
    >>> labels = LabelCounts(np.array([60.0, 4]), np.full(2, 200.0), np.full(2, 180.0), np.full(2, 200.0),
    ...                      np.zeros(2, dtype=bool))
    >>> found = compare_corrected(Units.from_arrays(x, np.repeat([0, 1], 200)), labels)
    >>> found.rates.round(3).tolist(), found.axis_p < 0.001
    ([-0.002, 0.317], True)
    """
    known = ~np.isnan(counts.alarm_rate) & ~np.isnan(counts.hit_rate)
    able = known & counts.usable()
    kept = able[units.groups]
    left_out = {
        int(code): NO_BETTER if known[code] else NO_LABELS
        for code in np.flatnonzero(~able & (units.sizes > 0))
    }
    if not kept.any():
        return replace(compare_with_others(units, level=level, unit=unit, seed=seed), **_nothing(left_out))
    strata = None if units.strata is None else units.strata[kept]
    judged = Units.from_arrays(
        units.values[kept],
        units.groups[kept],
        n_groups=units.n_groups,
        strata=strata,
        samples=units.samples[kept],
        shares=units.shares,
    )
    raw = compare_with_others(judged, level=level, unit=unit, seed=seed)
    corrected = CorrectedRates(raw.limits, counts.select(raw.places), coins=raw.coins)
    rates, groups = corrected.rates, len(raw.places)
    low, high = corrected.bounds_at(Z)
    others = (rates.sum() - rates) / (groups - 1) if groups > 1 else np.full(groups, np.nan)
    result = replace(raw, rates=rates, low=low, high=high, others=others, left_out=left_out, corrected=True)
    if raw.obstacle is not None or raw.differences is None:
        return result
    contrasts = leave_one_out(groups)
    found = inverted_differences(contrasts @ rates, *corrected.widths(contrasts, GRID))
    axis_p = simes(found.p)
    used = level if groups == 2 else level / groups
    smallest = _smallest(corrected, others, used)
    obstacles = _obstacles(corrected, found, raw.differences, contrasts, smallest)
    freedom = float(max(raw.limits.freedom, 1))
    student = tukey_quantile(groups, int(freedom)) / np.sqrt(2)
    nothing = axis_p > level and all(text is not None for text in obstacles)

    def compare(reference: Flags) -> Differences:
        weights = reference_contrasts(reference)
        return inverted_differences(weights @ rates, *corrected.widths(weights, GRID))

    whole = replace(
        result,
        obstacle=obstacles[int(np.argmax(np.abs(found.estimate)))] if nothing else None,
        obstacles=obstacles,
        differences=found,
        spread=_spread(corrected, contrasts, axis_p),
        burden=float("nan"),
        gap=widest_gap(rates, *corrected.bounds_at(as_normal(student, freedom))),
        axis_p=axis_p,
        smallest=smallest,
        smallest_spread=_smallest_spread(corrected, level, seed),
    )
    return with_common_level(whole, compare, level)


def _nothing(left_out: dict[int, str]) -> dict[str, Any]:
    nothing = np.zeros(0)
    return {
        "places": np.zeros(0, dtype=np.intp),
        "rates": nothing,
        "low": nothing,
        "high": nothing,
        "others": nothing,
        "left_out": left_out,
        "corrected": True,
        "obstacle": "No group is measurable: " + next(iter(left_out.values())),
        "differences": None,
        "spread": None,
        "gap": None,
    }


def _obstacles(
    corrected: CorrectedRates, found: Differences, raw: Differences, contrasts: Floats, smallest: Floats
) -> tuple[str | None, ...]:
    """Return for each group why it is not measurable, or None.

    The reason is that the rates differ by less than the uncertainty of the correction, or that there are too few
    labels.
    """
    counts = corrected.counts
    own = np.where(counts.shared, 0.0, corrected.label_variance)
    unsure = Z * np.sqrt(np.square(contrasts) @ own)
    gap = np.abs(raw.estimate) / np.mean(counts.hit_rate - counts.alarm_rate)
    texts: list[str | None] = []
    for number in range(len(gap)):
        labelled = f"{counts.harmless[number]:,.0f} harmless and {counts.harmful[number]:,.0f} harmful texts"
        text = None
        if found.p[number] > 0.05 and raw.p[number] <= 0.05 and unsure[number] > gap[number]:
            text = (
                f"The rates differ by {100 * gap[number]:.1f} points, but the correction for classifier errors, known "
                f"from {labelled}, is uncertain by {100 * unsure[number]:.1f} points. Label more texts."
            )
        elif found.p[number] > 0.05 and np.isnan(smallest[number]):
            text = (
                f"The classifier's error rates are estimated from {labelled}, which are too few to detect any "
                "difference."
            )
        texts.append(text)
    return tuple(texts)


def _spread(corrected: CorrectedRates, contrasts: Floats, axis_p: float) -> Spread:
    rates = corrected.rates
    variance = np.where(
        corrected.counts.shared, corrected.variance - corrected.label_variance, corrected.variance
    )
    observed = float(np.var(rates, ddof=1))
    estimate = float(np.sqrt(max(observed - float(variance.mean()), 0.0)))
    low, high = limits_of_spread(rates, variance, float(max(corrected.limits.freedom, 1)))
    if axis_p > 0.05:
        low = 0.0
    elif low <= 0:  # only one group is significant: use the SD that it alone implies
        groups = len(rates)
        below, above = corrected.widths(contrasts, np.array([float(-ndtri(0.025 / groups))]))
        apart = np.abs(contrasts @ rates) - np.where(contrasts @ rates > 0, below[0], above[0])
        low = max(float(apart.max()) / np.sqrt(groups), 1e-3 * float(np.sqrt(observed)))
    low = min(low, estimate) if estimate > 0 else low
    return Spread(estimate, low, max(high, estimate, low))


def _smallest(corrected: CorrectedRates, others: Floats, level: float) -> Floats:
    """Return the difference of each group that is detected at `level` with 80% power (groups,); NaN if none is."""
    limits, counts = corrected.limits, corrected.counts
    z, groups = float(-ndtri(level / 2)), len(others)
    least = 0.5 / (limits.sizes.sum() + 1)
    base = np.clip(others, least, 1 - least)
    d = np.linspace(0, 1, 201)[1:, None] ** 1.5 * (1 - base)
    youden = counts.hit_rate - counts.alarm_rate

    def planned_widths(true: Floats) -> tuple[Floats, Floats, Floats]:
        judged = np.clip(counts.alarm_rate + youden * true, 0, 1)
        down, up = np.zeros_like(judged), np.zeros_like(judged)
        for number, (first, second) in enumerate(corrected.offsets(judged, z)):
            counted = 0.0 if number else 1.0
            own = np.where(counts.shared, counted, 1.0)
            down += own * np.minimum(np.minimum(first, second), 0) ** 2
            up += own * np.maximum(np.maximum(first, second), 0) ** 2
        there = CorrectedRates(replace(limits, means=judged), counts, corrected.coins)
        return down, up, there.variance - np.where(counts.shared, there.label_variance, 0.0)

    down, _, variance = planned_widths(base + d)
    _, up, still = (value[None, :] if value.ndim == 1 else value for value in planned_widths(base))
    rest = (groups - 1) ** 2
    needed = np.sqrt(down + (up.sum() - up) / rest)
    scatter = np.sqrt(variance + (still.sum() - still) / rest)
    reached = d - needed - POWER_Z * scatter >= 0
    found = d[np.argmax(reached, axis=0), np.arange(groups)]
    return np.where(reached.any(axis=0) & (limits.sizes > 1), found, np.nan)


def _smallest_spread(corrected: CorrectedRates, level: float, seed: int) -> float:
    """Return the SD of corrected rates that is detected with 80% power, half of the groups above; NaN if none is."""
    groups = len(corrected.rates)
    contrasts = leave_one_out(groups)
    below, above = corrected.widths(contrasts, np.array([Z]))
    error = np.maximum(below[0], above[0]) / Z
    draws = np.random.default_rng(seed).standard_normal((min(_DRAWS, max(200_000 // groups, 50)), groups))
    spread = np.sqrt(
        np.where(corrected.counts.shared, corrected.variance - corrected.label_variance, corrected.variance)
    )
    noise = draws * spread
    noise = (noise * groups - noise.sum(axis=1, keepdims=True)) / (groups - 1)
    sign = np.where(np.arange(groups) % 2 == 0, 1.0, -1.0)
    ranks = np.arange(1, groups + 1) / groups

    def power(size: float) -> float:
        shift = contrasts @ (size * sign)
        p = np.sort(2 * ndtr(-np.abs(noise + shift) / error), axis=1)
        return float((p <= level * ranks).any(axis=1).mean())

    low, high = 0.0, 1.0
    if power(high) < POWER:
        return float("nan")
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high * float(np.std(sign, ddof=1))
