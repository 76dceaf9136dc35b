"""Units whose change is dealt: their order, and how much their change is expected to vary in each group."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, fdtri

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.disparity.smallest import signal_found
from evenhand.stats.multiplicity import simes

LARGER = 0.02
"""Level, over all groups together, at which a group's own scatter is taken for larger than that of all."""
MODERATION = 20.0
"""Prompts for which the axis' own spread counts in a group's spread of numbers that are no shares."""


def change_scales(first: Floats, second: Floats, starts: Codes, units: Floats) -> Floats:
    """(groups,) expected spread of one unit's change: of shares from both rates, else of both models' numbers."""
    sizes = units.astype(int)
    if are_shares(first, second):
        shares = [(np.add.reduceat(values, starts) + 0.5) / (units + 1) for values in (first, second)]
        return np.asarray(np.sqrt(sum(share * (1 - share) for share in shares)))
    squares = np.zeros(len(units))
    for values in (first, second):
        means = np.add.reduceat(values, starts) / units
        squares += np.add.reduceat((values - np.repeat(means, sizes)) ** 2, starts)
    usual = squares.sum() / (units - 1).sum()
    return np.asarray(np.sqrt((squares + MODERATION * usual) / (units - 1 + MODERATION)))


class OwnScatter(NamedTuple):
    """Of each group minus the others: standard error and degrees of freedom; of each group's mean: variance (noise) and
    its degrees of freedom (own). All (groups,)."""

    error: Floats
    df: Floats
    noise: Floats
    own: Floats

    def axis_p(self, means: Floats, p: Floats) -> float:
        """p that no group differs: twice the smaller of Welch's analysis of variance and of Simes' over the groups."""
        count = len(means)
        weight = 1 / np.maximum(self.noise, 1e-300)
        centre = float((weight * means).sum() / weight.sum())
        off = float((np.square(1 - weight / weight.sum()) / self.own).sum())
        between = float((weight * np.square(means - centre)).sum()) / (count - 1)
        between /= 1 + 2 * (count - 2) / (count**2 - 1) * off
        welch = float(fdtrc(count - 1, (count**2 - 1) / (3 * off), between))
        return min(1.0, 2 * min(welch, simes(p)))

    def smallest_spread(self, level: float) -> float:
        """Standard deviation between groups, one half up and one down, that Welch's test finds in 80 % at half of this
        level."""
        count = len(self.error)
        weight = 1 / np.maximum(self.noise, 1e-300)
        off = float((np.square(1 - weight / weight.sum()) / self.own).sum())
        signal = signal_found(count - 1.0, (count**2 - 1) / (3 * off), level / 2)
        sides = np.where(np.argsort(np.argsort(weight)) % 2 == 0, 1.0, -1.0)
        centre = (weight * sides).sum() / weight.sum()
        shift = np.sqrt(signal / float((weight * (sides - centre) ** 2).sum()))
        return float(shift * sides.std(ddof=1))


def own_errors(
    change: Floats, starts: Codes, units: Floats, usual: Floats, *, shares: bool = True
) -> OwnScatter | None:
    """Standard errors of each group minus the others where groups' changes scatter otherwise than their rates allow.

    A mitigation that rewrites one group's answers and leaves all others' alone makes that group scatter by itself.

    A group whose own is larger beyond chance is taken by its own. So is a group with fewer units than another, whose
    scatter the others do not show, with a weight that grows from 0 for equal groups to 1 for half as many units; with
    numbers that are no shares (shares False), all groups have the largest of these weights. None where no group is
    taken by its own.

    Parameters
    ----------
    change
        (units,), group after group from `starts`.
    usual
        (groups,) variance of a unit's change as learnt from all groups.

    References
    ----------
    - Satterthwaite 1946.

    Examples
    --------
    >>> alike = np.array([0.0, 2.0, 0.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    >>> own_errors(alike, np.array([0, 4]), np.array([4.0, 4.0]), np.ones(2))
    >>> moved = np.array([-3.0, 3.0, 3.0, -3.0, 0.0, 0.0, 0.0, 0.0])
    >>> found = own_errors(moved, np.array([0, 4]), np.array([4.0, 4.0]), np.full(2, 0.1))
    >>> found.error.round(3).tolist(), found.df.round(1).tolist()
    ([1.739, 1.739], [3.1, 3.1])
    """
    sizes = units.astype(int)
    left = change - np.repeat(np.add.reduceat(change, starts) / units, sizes)
    own = np.add.reduceat(left**2, starts) / (units - 1)
    freedom = float((units - 1).sum())
    taken = own > np.maximum(usual * fdtri(units - 1, freedom, 1 - LARGER / len(units)), 1e-18)
    smaller = np.clip(units.max() / units - 1, 0, 1)
    weight = np.maximum(taken, smaller if shares else smaller.max())
    if not weight.any():
        return None
    noise = (weight * own + (1 - weight) * usual) / units
    share = 1 / (len(noise) - 1) ** 2
    squares = noise + (noise.sum() - noise) * share
    parts = np.square(weight * own / units) / (units - 1) + np.square((1 - weight) * usual / units) / freedom
    spare = np.divide(noise**2, parts, out=np.full(len(noise), freedom), where=parts > 0)
    fourth = noise**2 / spare
    below = fourth + (fourth.sum() - fourth) * share**2
    df = np.divide(squares**2, below, out=np.full(len(noise), freedom), where=below > 0)
    return OwnScatter(np.sqrt(squares), df, noise, spare)


def reach_as_rates_grow(reach: Floats, own: OwnScatter, means: Floats, ends: tuple[float, float]) -> Floats:
    """Return the change at which each group is `reach` standard errors from the others (groups,).

    The group's own part of the standard error grows as its mean moves to the middle of the scale.

    Parameters
    ----------
    means
        (groups,) means of the first model.
    ends
        Smallest and largest number that responses can have: 0 and 1 for shares. For other numbers, those that were
        observed.
    """
    found = reach * own.error
    span = max(ends[1] - ends[0], 1e-300)
    rates = (means - ends[0]) / span
    near = np.clip(np.minimum(rates, 1 - rates), 0.01, 0.5)
    for _ in range(60):
        moved = np.minimum(near + found / span, 0.5)
        grown = 0.5 + 0.5 * moved * (1 - moved) / (near * (1 - near))
        found = reach * np.sqrt(own.error**2 + own.noise * (grown - 1))
    return found


def are_shares(first: Floats, second: Floats) -> bool:
    """Whether all numbers of both models lie between 0 and 1."""
    return bool(min(first.min(), second.min()) >= 0 and max(first.max(), second.max()) <= 1)


def one_response(first: Floats, second: Floats, samples: Floats) -> float:
    """Return by how much the mean of a unit can change if one of its responses does.

    A share changes by 1 / samples. If all means are 0 or 1 although units differ, the samples of a unit repeat each
    other (temperature 0), and one change moves the whole unit. A number changes by the range that was observed.

    Parameters
    ----------
    first, second
        Means of the units in each model.
    samples
        (units,) responses behind each mean.

    Examples
    --------
    >>> half, certain = np.array([0.5, 0.0]), np.array([1.0, 0.0])
    >>> [one_response(means, means, np.array([10.0, 10.0])) for means in (half, certain, half * 0)]
    [0.1, 1.0, 0.1]
    """
    numbers = np.concatenate([first, second])
    if not are_shares(first, second):
        return float(np.ptp(numbers))
    repeats = np.isin(numbers, (0.0, 1.0)).all() and np.ptp(numbers) > 0
    return 1.0 if repeats else float((1 / samples).max())


def unmoved_reach(units: Floats) -> Floats:
    """(groups,) what share of a group may have changed otherwise than the others though no prompt moved, at 95 %.

    So many prompts without a change are likely up to a certain share of them that change (Clopper-Pearson at 0);
    limits of differences are recovered from those of groups (Zou and Donner 2008).

    >>> unmoved_reach(np.array([100.0, 100.0])).round(3).tolist()
    [0.051, 0.051]
    """
    squares = (1 - 0.025 ** (1 / units)) ** 2
    return np.asarray(np.sqrt(squares + (squares.sum() - squares) / (len(units) - 1) ** 2))


def canonical_order(first: Floats, second: Floats, codes: Codes) -> Codes:
    """Units sorted so that neither the order of rows nor the numbers of groups decide what is dealt where."""
    count = int(codes.max()) + 1
    keys = [np.bincount(codes, minlength=count).astype(np.float64)]
    keys += [
        rounded(np.bincount(codes, weights=values, minlength=count))
        for values in (first, second, first * second, first**2)
    ]
    rank = np.empty(count, dtype=np.int64)
    rank[np.lexsort(keys[::-1])] = np.arange(count)
    return np.asarray(np.lexsort((rounded(second), rounded(first), rank[codes])))


def rounded(values: npt.ArrayLike) -> Floats:
    """Nine digits, so that equal statistics are equal whatever order they were summed in."""
    return np.asarray(np.round(np.asarray(values, dtype=np.float64), 9))


def spread_of_means(values: Floats, starts: Codes, units: Floats) -> float:
    """Standard deviation of the groups' true means, what units scatter by removed; groups from `starts`."""
    means = np.add.reduceat(values, starts) / units
    squares = np.add.reduceat((values - np.repeat(means, units.astype(int))) ** 2, starts)
    noise = (squares / (units - 1) / units).mean()
    return float(np.sqrt(max(float(means.var(ddof=1)) - float(noise), 0.0)))


def smaller_rank(squares: Floats, largest: Floats, q: Floats, z: Floats) -> float:
    """The smaller of two rank p, calibrated on the deals."""
    deals = len(q)

    def ranks(pool: Floats, values: Floats) -> Floats:
        ordered = np.sort(pool)
        return np.asarray((1 + deals - np.searchsorted(ordered, values, side="left")) / (deals + 1))

    q_p, z_p = float(ranks(q, squares)), float(ranks(z, largest))
    smaller = np.minimum(ranks(q, q), ranks(z, z))
    return float((1 + np.count_nonzero(smaller <= min(q_p, z_p) + 1e-12)) / (deals + 1))


def means_of_groups(values: Floats, codes: Codes, units: Codes) -> Floats:
    """Mean of each group (groups,); NaN where it has no unit."""
    sums = np.bincount(codes, weights=values, minlength=len(units))
    return np.asarray(np.divide(sums, units, out=np.full(len(units), np.nan), where=units > 0))


def checked_changes(
    before: npt.ArrayLike, after: npt.ArrayLike, groups: npt.ArrayLike
) -> tuple[Floats, Floats, Codes]:
    """The arguments of `group_changes` as arrays. Raises UsageError for lengths that differ and for NaN."""
    first, second = (np.asarray(values, dtype=np.float64) for values in (before, after))
    codes = np.asarray(groups, dtype=np.int64)
    if not first.shape == second.shape == codes.shape or first.ndim != 1:
        raise UsageError(
            f"before {first.shape}, after {second.shape} and groups {codes.shape} must be one axis each."
        )
    if not np.isfinite(first).all() or not np.isfinite(second).all():
        raise UsageError(
            "before and after hold numbers that are not finite.", "Leave such units out, and count them."
        )
    return first, second, codes
