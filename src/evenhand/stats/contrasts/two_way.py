"""Compare groups that all occur in the cells of two crossed samples, such as templates and nouns.

Each sample may interact with the groups: a template, or a noun, may be unfavourable to some groups. Both interactions
are noise for statements about similar templates and nouns. More cells of one sample do not reduce the noise of the
other. The variance of a group's mean is therefore the sum of both components. Permutations of cells, or either sample
alone, underestimate it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import fdtr, fdtrc, fdtri, stdtr, stdtrit

from evenhand.schema import UsageError
from evenhand.stats.arrays import Floats
from evenhand.stats.power import POWER

LEVEL = 0.05
"""Error probability of the CIs (95%)."""
LARGEST_ABSENT_SHARE = 0.1
"""Largest share of missing cells that are filled in by row and column effects. With more, levels are left out first."""
_ROUNDING = 1e-20
_STEPS = 200


@dataclass(frozen=True)
class CrossedOutcome:
    """Variance components of one outcome of groups, with two crossed samples. Result of `crossed_outcome`.

    The mean over groups is subtracted from each cell (a combination of a level of the first and of the second sample).

    Attributes
    ----------
    means, by_first, by_second : numpy.ndarray, shapes (groups,), (groups, first) and (groups, second)
        Means across all cells, and within each level of a sample.
    first, second, residual : float
        Contributions of both samples and the residual to the variance of a group's mean. 0 if a sample has one level.
    left : float
        Residual degrees of freedom for one group.
    within : numpy.ndarray, shape (first,)
        Variance between groups in each level of the first sample, without noise. NaN if the second has one level.
    absent : float
        Share of cells that were filled in.
    """

    means: Floats
    by_first: Floats
    by_second: Floats
    first: float
    second: float
    residual: float
    left: float
    within: Floats
    absent: float = 0.0


def crossed_outcome(values: npt.ArrayLike) -> CrossedOutcome:
    """Split the variance of an outcome into components of two crossed samples and a residual (Henderson 1953, method
    1).

    `values` has the shape (groups, first, second), with at least two groups and two levels of one sample. NaN is
    missing and replaced by row and column effects.

    >>> outcome = crossed_outcome([[[0.2, 0.4], [0.1, 0.3]], [[0.3, 0.3], [0.4, 0.2]], [[0.9, 0.5], [0.7, 0.6]]])
    >>> [round(x, 6) for x in (outcome.first, outcome.second, outcome.residual)]
    [0.000625, 0.013125, 0.003958]
    """
    cells = np.asarray(values, dtype=np.float64)
    if cells.ndim != 3 or cells.shape[0] < 2 or cells.shape[1] * cells.shape[2] < 2:
        raise UsageError(
            "crossed_outcome: values must have the shape (groups, first, second) with at least two groups and "
            f"two cells, got {cells.shape}."
        )
    known = np.isfinite(cells)
    absent = int(cells.size - known.sum())
    if absent:
        cells = _fill_missing(cells, known)
    centred = cells - cells.mean(axis=0)
    groups, first, second = cells.shape
    by_first, by_second = centred.mean(axis=2), centred.mean(axis=1)
    means = by_first.mean(axis=1)
    rest = centred - by_first[:, :, None] - by_second[:, None, :] + means[:, None, None]
    full = (groups - 1) * (first - 1) * (second - 1)
    # A missing cell costs one degree of freedom. If no group has it, its mean is not estimated, which gives one back.
    free = full - absent + int((~known).all(axis=0).sum())
    of_first = float(np.square(by_first - means[:, None]).sum())
    of_second = float(np.square(by_second - means[:, None]).sum())
    return CrossedOutcome(
        means=means,
        by_first=by_first,
        by_second=by_second,
        first=of_first / ((groups - 1) * (first - 1) * first) if first > 1 else 0.0,
        second=of_second / ((groups - 1) * (second - 1) * second) if second > 1 else 0.0,
        # filled-in cells have no residual, and their estimation increases the variance of means
        residual=float(np.square(rest).sum()) * full / (max(free, 1) ** 2 * first * second) if full else 0.0,
        left=max(free, 1) / (groups - 1),
        within=_variance_within_levels(centred, by_first, known),
        absent=absent / cells.size,
    )


def _variance_within_levels(centred: Floats, by_first: Floats, known: npt.NDArray[np.bool_]) -> Floats:
    groups, _, second = centred.shape
    if second < 2:
        return np.full(centred.shape[1], np.nan)
    left = np.square(centred - by_first[:, :, None]).sum(axis=(0, 2))
    full = (groups - 1) * (second - 1)
    free = full - (~known).sum(axis=(0, 2)) + (~known).all(axis=0).sum(axis=1)
    between = np.square(by_first).sum(axis=0) / (groups - 1)
    return np.asarray(between - left * full / (np.maximum(free, 1) ** 2 * second))


def _fill_missing(cells: Floats, known: npt.NDArray[np.bool_]) -> Floats:
    """Return the cells with missing ones replaced by the fit of cell mean, row and column, iterated to convergence."""
    there = known.sum(axis=0)
    centre = np.where(known, cells, 0.0).sum(axis=0) / np.maximum(there, 1)  # 0 where no group has the cell
    filled = np.where(known, cells, centre)
    tolerance = 1e-7 * max(float(filled.std()), 1e-30)
    for _ in range(_STEPS):
        middle = filled.mean(axis=0)
        centred = filled - middle
        fitted = centred.mean(axis=2)[:, :, None] + centred.mean(axis=1)[:, None, :]
        better = np.where(known, cells, middle + fitted - centred.mean(axis=(1, 2))[:, None, None])
        change = float(np.abs(better - filled).max())
        filled = better
        if change < tolerance:
            break
    return filled


@dataclass(frozen=True)
class CrossedSpread:
    """Variance between the true means of groups, summed over outcomes, with p (of a variance of 0) and 95% CI.

    ``spread`` is the variance of the observed means, and ``noise`` the part that is due to the two samples, with
    ``noise_freedom`` degrees of freedom. ``low`` is above 0 exactly if p is at most 0.05.
    """

    spread: float
    noise: float
    freedom: float
    noise_freedom: float
    p: float
    low: float
    high: float

    @property
    def estimate(self) -> float:
        """Return the unbiased variance estimate, spread minus noise. Without any difference, it is negative in half of
        all samples.
        """
        return self.spread - self.noise

    def detectable(self, level: float = LEVEL) -> float:
        """Return the true variance that is detected with 80% power at this level."""
        return detectable_variance(self.noise, self.freedom, self.noise_freedom, level)


def crossed_spread(outcomes: Sequence[CrossedOutcome]) -> CrossedSpread:
    """Return p and CI of the variance between groups, summed over outcomes (one or several `crossed_outcome`).

    Without any difference, spread / noise has an F distribution. Correlated outcomes have fewer degrees of freedom,
    estimated from the similarity of groups between levels of the first sample (Satterthwaite 1946; simulated for this
    use).

    >>> outcome = crossed_outcome([[[0.2, 0.4], [0.1, 0.3]], [[0.3, 0.3], [0.4, 0.2]], [[0.9, 0.5], [0.7, 0.6]]])
    >>> result = crossed_spread([outcome])
    >>> round(result.spread, 6), round(result.noise, 6), result.freedom
    (0.053958, 0.009792, 2.0)
    """
    if not outcomes:
        raise UsageError("crossed_spread: outcomes is empty.", "Give at least one result of crossed_outcome.")
    groups, first = outcomes[0].by_first.shape
    second = outcomes[0].by_second.shape[1]
    spread = float(sum(np.square(outcome.means).sum() for outcome in outcomes)) / (groups - 1)
    of_first, of_second, residual = (
        float(sum(getattr(outcome, name) for outcome in outcomes)) for name in ("first", "second", "residual")
    )
    freedom = _freedom(outcomes)
    left = outcomes[0].left * freedom
    noise, noise_freedom = _noise((of_first, of_second, residual), (first, second), freedom, left)
    p, low, high = sliding_interval(spread, noise, freedom, noise_freedom)
    return CrossedSpread(spread, noise, freedom, noise_freedom, p, low, high)


def _freedom(outcomes: Sequence[CrossedOutcome]) -> float:
    groups, first = outcomes[0].by_first.shape
    if len(outcomes) == 1:
        return float(groups - 1)
    pictures = [
        np.stack([getattr(o, "by_first" if first > 1 else "by_second")[:, level] for o in outcomes], axis=1)
        for level in range(first if first > 1 else outcomes[0].by_second.shape[1])
    ]
    # X X' and X' X have the same sum of squares, so use the smaller one
    wide = len(outcomes) > groups
    grams = [picture @ picture.T if wide else picture.T @ picture for picture in pictures]
    if wide:  # the sum over pairs of levels of <C_t, C_u> is |X_t X_u'|^2, computed from the matrices X
        stacked = np.concatenate(pictures, axis=0)
        squares = np.square(stacked @ stacked.T).sum()
        own = sum(np.square(gram).sum() for gram in grams)
        alike = float(squares - own)
    else:
        alike = float(np.square(sum(grams)).sum() - sum(np.square(gram).sum() for gram in grams))
    traces = np.array([np.square(picture).sum() for picture in pictures])
    apart = float(traces.sum() ** 2 - np.square(traces).sum())
    if apart <= 0 or alike <= 0:
        return float(groups - 1)
    return float((groups - 1) * max(apart / alike, 1.0))


def _noise(
    parts: tuple[float, float, float], levels: tuple[int, int], freedom: float, left: float
) -> tuple[float, float]:
    of_first, of_second, residual = parts
    first, second = levels
    if second == 1:
        return of_first, (first - 1) * freedom
    if first == 1:
        return of_second, (second - 1) * freedom
    # Both components contain the residual, so it is subtracted once. The interactions cannot be negative.
    noise = of_first + of_second - residual
    if noise <= residual:
        return residual, left
    # Satterthwaite 1946
    doubt = (
        of_first**2 / ((first - 1) * freedom) + of_second**2 / ((second - 1) * freedom) + residual**2 / left
    )
    return noise, noise**2 / doubt


def sliding_interval(
    spread: float, noise: float, freedom: float, noise_freedom: float
) -> tuple[float, float, float]:
    """Return p and a 95% CI of a true variance, from an observed variance that includes noise.

    Parameters
    ----------
    spread, freedom : float
        Observed variance and its degrees of freedom. Its expectation is the true variance plus the noise.
    noise, noise_freedom : float
        Estimate of the noise variance and its degrees of freedom.

    Returns
    -------
    p, low, high : float
        p-value of a true variance of 0, and the CI. The CI excludes 0 exactly if p is at most 0.05. It is one-sided
        near 0 and two-sided far from it.

    >>> p, low, high = sliding_interval(5.0, 1.0, 9.0, 40.0)
    >>> bool(p < 0.05), bool(0 < low < 4 < high)
    (True, True)
    """
    if spread <= 0:
        return 1.0, 0.0, 0.0
    nothing = noise <= _ROUNDING + 1e-13 * spread
    p = 0.0 if nothing else float(fdtrc(freedom, noise_freedom, spread / noise))

    def tail(v: float, upper: bool) -> float:
        # as v grows, noise is a smaller part of the sum, so its uncertainty matters less
        total = noise + v
        known = 1e9 if nothing else min(noise_freedom * (total / noise) ** 2, 1e9)
        return float((fdtrc if upper else fdtr)(freedom, known, spread / total))

    def two_sided_share(v: float) -> float:
        return v / (v + 2.0 * noise / freedom**0.5) if v > 0 else 0.0

    def low_equation(v: float) -> float:
        return tail(v, True) - LEVEL * (1.0 - two_sided_share(v) / 2.0)

    def high_equation(v: float) -> float:
        return tail(v, False) - LEVEL / 2.0 * two_sided_share(v)

    top = spread
    while high_equation(top) > 0:
        top *= 4.0
    from scipy.optimize import brentq

    low, start = 0.0, 1e-12 * spread
    if p <= LEVEL:
        low = float(brentq(low_equation, start, top, rtol=1e-10)) if low_equation(start) < 0 else start
    high = float(brentq(high_equation, start, top, rtol=1e-10)) if high_equation(start) > 0 else 0.0
    return p, low, max(high, low)


def detectable_variance(noise: float, freedom: float, noise_freedom: float, level: float = LEVEL) -> float:
    """Return the true variance, in addition to noise, that an F test at this level detects with 80% power."""
    critical = float(fdtri(freedom, noise_freedom, 1.0 - level))
    return noise * max(critical / float(fdtri(freedom, noise_freedom, 1.0 - POWER)) - 1.0, 0.0)


@dataclass(frozen=True)
class PlannedCrossing:
    """Expected noise and degrees of freedom of a planned crossed design. Result of `planned_crossing`."""

    groups: int
    noise: float
    freedom: float
    noise_freedom: float

    def detectable(self, level: float = LEVEL) -> float:
        """Return the true variance between groups that is detected with 80% power at this level."""
        return detectable_variance(self.noise, self.freedom, self.noise_freedom, level)

    def difference(self, level: float = LEVEL) -> float:
        """Return the true difference of one group from the others that is detected with 80% power at this level."""
        error = float(np.sqrt(self.noise * self.groups / (self.groups - 1)))
        return detectable_crossed(error, self.noise_freedom, self.groups, level)


def planned_crossing(
    shape: tuple[int, int, int], *, cell: float, interaction: float, outcomes: float = 1.0
) -> PlannedCrossing:
    """Return the expected noise of a crossed design from assumed variances.

    Parameters
    ----------
    shape : tuple of int
        Numbers of groups, levels of the first sample and levels of the second. At least two groups, and two levels of
        one sample.
    cell, interaction : float
        Residual variance of one cell, and variance of the interaction of groups with the levels of either sample.
    outcomes : int
        Number of independent outcomes whose variances are summed.

    >>> plan = planned_crossing((12, 6, 6), cell=1.0, interaction=0.25)
    >>> round(plan.noise, 4), round(plan.detectable(), 2)
    (0.1111, 0.23)
    """
    groups, first, second = shape
    freedom = (groups - 1) * outcomes
    residual = cell / (first * second)
    parts = (interaction / first + residual, interaction / second + residual, residual)
    left = max((first - 1) * (second - 1), 1) * freedom
    noise, noise_freedom = _noise(parts, (first, second), freedom, left)
    return PlannedCrossing(groups, noise, freedom, noise_freedom)


@dataclass(frozen=True)
class CrossedGroups:
    """Difference of each group from the mean of the other groups, with two crossed samples (such as templates and
    nouns).

    ``axis`` tests all groups together. ``difference`` with 95% CI (``low``, ``high``) and ``p`` have the shape
    (groups,). An interval excludes 0 exactly if p is at most 0.05.
    """

    axis: CrossedSpread
    difference: Floats
    standard_error: float
    low: Floats
    high: Floats
    p: Floats

    def detectable(self, level: float = LEVEL) -> float:
        """Return the true difference of one group that is detected with 80% power at this level of the axis.

        With more than two groups, each group is tested at the level divided by their number.
        """
        groups = len(self.difference)
        return detectable_crossed(self.standard_error, self.axis.noise_freedom, groups, level)


def detectable_crossed(standard_error: float, freedom: float, groups: int, level: float = LEVEL) -> float:
    """Return the true difference of one of several groups that a Benjamini-Hochberg t test detects with 80% power."""
    tests = groups if groups > 2 else 1
    return float(stdtrit(freedom, 1.0 - level / (2 * tests)) + stdtrit(freedom, POWER)) * standard_error


def crossed_groups(values: npt.ArrayLike) -> CrossedGroups:
    """Compare each group with the others, if all groups occur in all cells of two samples.

    `values` has the shape (groups, first, second), as in `crossed_outcome`. All groups share one standard error.

    >>> result = crossed_groups([[[0.2, 0.4], [0.1, 0.3]], [[0.3, 0.3], [0.4, 0.2]], [[0.9, 0.5], [0.7, 0.6]]])
    >>> result.difference.round(4).tolist()
    [-0.2375, -0.1625, 0.4]
    """
    outcome = crossed_outcome(values)
    axis = crossed_spread([outcome])
    groups = len(outcome.means)
    scale = groups / (groups - 1)
    # standard error of a group minus the mean of the others, from that of its deviation: sqrt(n (G - 1) / G)
    error = float(np.sqrt(axis.noise / scale)) * scale
    difference = outcome.means * scale
    if error <= 1e-13 * float(np.abs(difference).max(initial=0.0)) or axis.noise <= _ROUNDING:
        p = np.where(np.abs(difference) > 1e-10, 0.0, 1.0)
        return CrossedGroups(axis, difference, 0.0, difference, difference, p)
    reach = float(stdtrit(axis.noise_freedom, 1.0 - LEVEL / 2)) * error
    p = np.minimum(1.0, 2.0 * stdtr(axis.noise_freedom, -np.abs(difference) / error))
    return CrossedGroups(axis, difference, error, difference - reach, difference + reach, p)
