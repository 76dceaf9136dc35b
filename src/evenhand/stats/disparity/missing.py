"""Bound the differences that missing outcomes could explain, if one group lacks more outcomes than another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtr

from evenhand.stats.arrays import Flags, Floats
from evenhand.stats.disparity.supports import Z
from evenhand.stats.disparity.units import Units

ONE_SIDED = 1.645
"""Normal quantile of the limit that includes the sampling error of the missing shares: one-sided, 95 %."""


EQUAL = 0.2
"""The shares of missing responses count as equal if the p-value of the test of equality is at least this."""


@dataclass(frozen=True)
class MissingExcess:
    """Responses that each group lacks in excess of the group with the fewest missing. Arrays have the shape (groups,).

    If only the test of a single contrast finds an excess, `in_contrast` returns it relative to the reference groups.

    Attributes
    ----------
    share : numpy.ndarray
        Excess, divided by the share of present responses in the group with the fewest missing. 0 if shares differ no
        more than expected by chance.
    error : numpy.ndarray
        Standard error of each group's missing share, on the same scale. 0 for the groups with the fewest missing.
    common_error : float
        The same for the groups with the fewest missing.
    below, above : numpy.ndarray
        Largest assumed distance of the mean of the excess missing outcomes below and above the group's mean.
    absent : numpy.ndarray
        Missing share of each group.
    pooled_error : numpy.ndarray or None
        Standard error of `absent`, with the variance of units pooled within groups. None if single contrasts are not
        tested for an excess.
    elsewhere : float
        Share that is missing for other reasons in every group.

    References
    ----------
    - Manski 1990: nonparametric bounds, applied to the excess only. Simulated: docs/evidence/verdicts.md.
    """

    share: Floats
    error: Floats
    common_error: float
    below: Floats
    above: Floats
    absent: Floats
    pooled_error: Floats | None = None
    elsewhere: float = 0.0

    @staticmethod
    def from_shares(
        absent: Floats,
        error: Floats,
        below: Floats,
        above: Floats,
        *,
        is_chance: bool,
        units: Floats | None = None,
        base: float | None = None,
    ) -> "MissingExcess":
        """Return the excess from missing shares.

        Parameters
        ----------
        absent, error : numpy.ndarray, shape (groups,)
            Missing share of the outcomes of each group, and its standard error.
        below, above : numpy.ndarray, shape (groups,)
            Largest distance of these outcomes below and above the group's mean.
        is_chance : bool
            True if shares differ no more than by chance (`p_of_equal_shares` is at least EQUAL).
        units : numpy.ndarray, shape (groups,), optional
            Number of units behind each error. None: `in_contrast` does not test for an excess.
        base : float, optional
            Share that is missing in every group. Default: the smallest of `absent`.
        """
        least = float(absent.min())
        elsewhere = 0.0 if base is None else base - least
        left = max(1 - least - elsewhere, 1e-12)
        fewest = absent == least
        common = float(np.sqrt(np.square(error[fewest]).sum())) / int(fewest.sum())
        share = np.zeros(len(absent)) if is_chance else excess_missing(absent, base)
        pooled = None if units is None else np.sqrt(_variance_of_unit(error, units) / units)
        varied = np.where(fewest, 0.0, error) / left
        return MissingExcess(share, varied, common / left, below, above, absent, pooled, elsewhere)

    def in_contrast(self, weights: Floats) -> Floats:
        """Return the excess of missing outcomes on one side of a contrast, and 0 for the other side (groups,).

        The excess is relative to the other side. It is 0 for all groups if the shares of both sides do not differ
        significantly (p of at least EQUAL). This test can detect an excess of a single group, which a test of many
        groups together would miss.

        Parameters
        ----------
        weights : numpy.ndarray, shape (groups,)
            Weights of the groups' means, such as 1 for a group and -1/2 for each of two others.

        >>> absent, error = np.array([0.3, 0.1, 0.1]), np.full(3, 0.02)
        >>> excess = MissingExcess.from_shares(absent, error, absent, absent, is_chance=True, units=np.full(3, 50.0))
        >>> excess.in_contrast(np.array([1.0, -0.5, -0.5])).round(3).tolist()
        [0.222, 0.0, 0.0]
        """
        nothing = np.zeros(len(weights))
        difference = float(weights @ self.absent)
        if self.pooled_error is None or not abs(difference) > 1e-12:
            return nothing
        error = float(np.sqrt(np.square(weights) @ np.square(self.pooled_error)))
        if error > 0 and 2 * ndtr(-abs(difference) / error) >= EQUAL:
            return nothing
        lacking = weights * difference > 0
        sizes = np.abs(weights)
        other = float(sizes[~lacking] @ self.absent[~lacking]) / max(float(sizes[~lacking].sum()), 1e-12)
        left = max(1 - other - self.elsewhere, 1e-12)
        return np.where(lacking, abs(difference) / (left * float(sizes[lacking].sum())), 0.0)


def missing_shares(units: Units) -> tuple[Floats, Floats]:
    """Return the share of missing outcomes of each group, and its standard error (groups,).

    The values of `units` are the missing share of each unit, including units without any outcome. If groups are
    compared within strata, such as templates, their missing shares are too. Outcomes that are missing equally often for
    all groups of a stratum then do not count as sampling error.

    >>> lacking, group, template = np.array([0.1, 0.5, 0.2, 0.6]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> absent, error = missing_shares(Units.from_arrays(lacking, group, strata=template))
    >>> absent.round(3).tolist(), error.round(3).tolist()
    ([0.3, 0.4], [0.0, 0.0])
    """
    sizes = np.maximum(units.sizes, 1).astype(np.float64)
    squares = np.bincount(units.groups, weights=np.square(units.residuals()), minlength=units.n_groups)
    count = len(units.values)
    fitted = 0 if units.strata is None else int(units.strata.max(initial=-1)) + 1
    # corrects for the fitted means of strata, which make residuals too small
    lost = count / max(count - fitted, 1) if fitted > 1 else 1.0
    absent = np.clip(units.means, 0.0, 1.0)
    return absent, np.sqrt(lost * squares / np.maximum(sizes - 1, 1) / sizes)


def p_of_equal_shares(absent: Floats, error: Floats, units: Floats) -> float:
    """Return p of "missing shares are equal": chi-square, with the variance of a unit's share pooled within groups.

    Parameters
    ----------
    absent, error : numpy.ndarray, shape (..., groups)
        Missing share of the outcomes of each group, and its standard error. Several rows, such as those of two models,
        are tested together.
    units : numpy.ndarray, shape (groups,)
        Number of units behind each error.

    >>> error = np.sqrt([0.1 * 0.9 / 100, 0.2 * 0.8 / 100])
    >>> round(p_of_equal_shares(np.array([0.1, 0.2]), error, np.array([100.0, 100.0])), 3)
    0.046
    """
    squares, tested = 0.0, 0
    for share, deviation in zip(np.atleast_2d(absent), np.atleast_2d(error), strict=True):
        variance = _variance_of_unit(deviation, units)
        between = float((units * np.square(share - (units * share).sum() / units.sum())).sum())
        if between > 1e-12 and not variance > 0:
            return 0.0
        if variance > 0:
            squares, tested = squares + between / variance, tested + len(units) - 1
    return float(chdtrc(tested, squares)) if tested else 1.0


def _variance_of_unit(error: Floats, units: Floats) -> float:
    """Return the variance of a unit's missing share, pooled within groups. error, units: (groups,)."""
    freedom = np.maximum(units - 1, 0)
    return float((freedom * units * np.square(error)).sum()) / max(float(freedom.sum()), 1.0)


def excess_missing(absent: Floats, base: float | None = None) -> Floats:
    """Return the excess of each group's missing share over the smallest one, divided by 1 - the smallest one (groups,).

    `absent` (groups,) are the missing shares. With `base`, the divisor is 1 - `base`.

    >>> excess_missing(np.array([0.6, 0.5, 0.5])).round(3).tolist()
    [0.2, 0.0, 0.0]
    """
    left = 1 - (float(absent.min()) if base is None else base)
    return np.asarray((absent - absent.min()) / max(left, 1e-12))


def tail_mean(values: Floats, share: float) -> float:
    """Return the mean of the highest `share` (0 to 1) of values in ascending order, or of at least the highest one.

    >>> tail_mean(np.arange(10.0), 0.25), tail_mean(np.arange(10.0), 0.01)
    (8.2, 9.0)
    """
    count = max(share * len(values), 1.0)
    whole = min(int(count), len(values))
    total = float(values[len(values) - whole :].sum())
    if whole < len(values):
        total += (count - whole) * float(values[len(values) - whole - 1])
    return total / min(count, len(values))


def extremes_of_missing(
    means: Floats, deviations: Sequence[Floats], absent: Floats, base: float | None = None
) -> tuple[Floats, Floats]:
    """Return the assumed largest distances of the excess missing numbers below and above each group's mean (groups,).

    The missing numbers are assumed to be as extreme, on average, as an equal share of the observed numbers (the highest
    or the lowest). These are the group's own numbers, or those of the groups with the fewest missing, whichever are
    farther away.

    Parameters
    ----------
    means : numpy.ndarray, shape (groups,)
        Means of the groups.
    deviations : sequence of numpy.ndarray
        For each group, its observed numbers minus their mean, sorted.
    absent : numpy.ndarray, shape (groups,)
        Share of missing numbers of each group.
    base : float, optional
        As in `MissingExcess.from_shares`.

    References
    ----------
    - Lee 2009, Training, Wages, and Sample Selection: trimming such a share of the numbers.
    """
    excess = excess_missing(absent, base)
    fewest = np.flatnonzero(absent == absent.min())
    together = np.sort(np.concatenate([means[place] + deviations[place] for place in fewest.tolist()]))
    below, above = np.zeros(len(means)), np.zeros(len(means))
    for number in np.flatnonzero(excess > 0).tolist():
        for source in (means[number] + deviations[number], together):
            if len(source):
                above[number] = max(above[number], tail_mean(source, excess[number]) - means[number])
                below[number] = max(below[number], tail_mean(-source[::-1], excess[number]) + means[number])
    return below, above


def explained_by_excess(
    estimate: Floats, sure: Floats, contrasts: Floats, kinds: Sequence[MissingExcess]
) -> Flags:
    """Return True for contrasts of groups that may be 0 in the worst case for the excess missing outcomes (contrasts,).

    In the worst case, the excess moves the means of the groups towards each other. The bound that must then exclude 0
    is that of the contrast, or a one-sided 95% bound that includes the sampling error of the missing shares, whichever
    is farther out.

    Parameters
    ----------
    estimate : numpy.ndarray, shape (contrasts,)
        Such as the difference of each group from its reference.
    sure : numpy.ndarray, shape (contrasts,)
        Distance from 0 of the bound that faces 0; NaN if the interval includes 0.
    contrasts : numpy.ndarray, shape (contrasts, groups)
        Weights of the groups' means.
    kinds : sequence of MissingExcess
        Excess of missing outcomes. There are several if outcomes are missing for reasons that have different bounds,
        such as the first or the second response of a pair.
    """
    result = np.zeros(len(sure), dtype=bool)
    for number in np.flatnonzero(~np.isnan(sure)):
        shift = variance = 0.0
        weights = contrasts[number]
        is_lowered = weights * estimate[number] > 0
        for kind in kinds:
            moved = np.abs(weights) * np.where(is_lowered, kind.below, kind.above)
            shift += float(max(moved @ kind.share, moved @ kind.in_contrast(weights)))
            varied = np.where(kind.error > 0, moved, 0.0)
            variance += float(varied**2 @ kind.error**2) + (float(varied.sum()) * kind.common_error) ** 2
        size = abs(float(estimate[number]))
        half = size - float(sure[number])
        half = max(half, ONE_SIDED * float(np.hypot(half / Z, np.sqrt(variance))))
        result[number] = shift >= size - half
    return result


def spread_explained_by_excess(means: Floats, low: float, kinds: Sequence[MissingExcess]) -> bool:
    """Return True if the excess alone could cause a standard deviation of the groups' means as large as `low`.

    The excess of each group is assumed to move its mean away from the mean of all.

    Parameters
    ----------
    means : numpy.ndarray, shape (groups,)
        Means of the groups.
    low : float
        Lower bound of the standard deviation between groups.
    kinds : sequence of MissingExcess
        As in `explained_by_excess`.
    """
    above = means > means.mean()
    towards = sum(
        (np.where(above, -kind.below, kind.above) * kind.share for kind in kinds), np.zeros(len(means))
    )
    return bool(towards.any() and towards.std(ddof=1) >= low)
