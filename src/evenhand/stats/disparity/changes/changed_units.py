"""Prepare the changes of units for a permutation test: their order, and their expected spread in each group."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, fdtri

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.disparity.smallest import signal_found
from evenhand.stats.multiplicity import simes

LARGER = 0.02
"""Level of the test that a group's own variance exceeds the common one, for all groups together."""
MODERATION = 20.0
"""Weight, in prompts, of the axis' common variance in the variance of a group's numbers (not shares)."""


def change_scales(first: Floats, second: Floats, starts: Codes, units: Floats) -> Floats:
    """Return the expected spread (SD) of one unit's change in each group (groups,).

    For shares, it follows from both rates. For other numbers, it is estimated from the variances of both models.
    """
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
    """Standard errors based on each group's own variance; arrays of shape (groups,).

    ``error`` and ``df`` are the standard error and degrees of freedom of each group minus the others. ``noise`` and
    ``own`` are the variance and degrees of freedom of each group's mean.
    """

    error: Floats
    df: Floats
    noise: Floats
    own: Floats

    def axis_p(self, means: Floats, p: Floats) -> float:
        """Return p of "no group differs": twice the smaller p of Welch's analysis of variance and of Simes over the
        groups.
        """
        count = len(means)
        weight = 1 / np.maximum(self.noise, 1e-300)
        centre = float((weight * means).sum() / weight.sum())
        off = float((np.square(1 - weight / weight.sum()) / self.own).sum())
        between = float((weight * np.square(means - centre)).sum()) / (count - 1)
        between /= 1 + 2 * (count - 2) / (count**2 - 1) * off
        welch = float(fdtrc(count - 1, (count**2 - 1) / (3 * off), between))
        return min(1.0, 2 * min(welch, simes(p)))

    def smallest_spread(self, level: float) -> float:
        """Return the SD between groups that Welch's test detects with 80% power at half of this level.

        Half of the groups are above the mean and half below.
        """
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
    """Return standard errors of each group minus the others that use the groups' own variances; None if not needed.

    Own variances are needed if a mitigation changes the responses of one group only, because that group's changes then
    vary more than its rates suggest. They are used in two cases. A group whose own variance is significantly larger
    gets its own variance. A group with fewer units than another gets a weighted mean of its own and the common
    variance, because the common variance mostly describes the larger groups. The weight of its own variance increases
    from 0 for equal groups to 1 for half as many units. For numbers that are not shares, all groups have the largest of
    these weights.

    Parameters
    ----------
    change : numpy.ndarray, shape (units,)
        Changes of units, sorted by group.
    starts : numpy.ndarray of int, shape (groups,)
        Position of the first unit of each group.
    units : numpy.ndarray, shape (groups,)
        Number of units of each group.
    usual : numpy.ndarray, shape (groups,)
        Variance of a unit's change, as estimated from all groups.
    shares : bool
        True if the outcomes are shares.

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

    The group's own part of the standard error grows as its mean moves to the middle of the scale, because the variance
    of a rate p is p (1 - p). The other model's variance does not change, so half of the variance grows.

    Parameters
    ----------
    reach : numpy.ndarray, shape (groups,)
        Required distance, in standard errors.
    own : OwnScatter
        Standard errors of the groups.
    means : numpy.ndarray, shape (groups,)
        Means of the first model.
    ends : tuple of float
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
    """Return True if all numbers of both models are from 0 to 1."""
    return bool(min(first.min(), second.min()) >= 0 and max(first.max(), second.max()) <= 1)


def one_response(first: Floats, second: Floats, samples: Floats) -> float:
    """Return by how much the mean of a unit (such as a prompt) can change if one of its responses changes.

    A share changes by 1 / samples. If all means are 0 or 1 although units differ, the samples of a unit repeat each
    other (temperature 0), and one change moves the whole unit. A number changes by the range that was observed.

    Parameters
    ----------
    first, second : numpy.ndarray, shape (units,)
        Means of the units with each model.
    samples : numpy.ndarray, shape (units,)
        Number of responses behind each mean.

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
    """Return a 95% bound on the difference of each group from the others if no prompt changed, shape (groups,).

    The unit is the share of prompts that changed. In each group, up to the share 1 - 0.025^(1/n) of all prompts may
    change although none of n observed ones did (Clopper-Pearson at 0). The bounds of differences combine those of
    groups (Zou and Donner 2008).

    >>> unmoved_reach(np.array([100.0, 100.0])).round(3).tolist()
    [0.051, 0.051]
    """
    squares = (1 - 0.025 ** (1 / units)) ** 2
    return np.asarray(np.sqrt(squares + (squares.sum() - squares) / (len(units) - 1) ** 2))


def canonical_order(first: Floats, second: Floats, codes: Codes) -> Codes:
    """Return an order of units that depends only on values, so that row order and group codes do not affect p."""
    count = int(codes.max()) + 1
    keys = [np.bincount(codes, minlength=count).astype(np.float64)]
    keys += [
        round_ties(np.bincount(codes, weights=values, minlength=count))
        for values in (first, second, first * second, first**2)
    ]
    rank = np.empty(count, dtype=np.int64)
    rank[np.lexsort(keys[::-1])] = np.arange(count)
    return np.asarray(np.lexsort((round_ties(second), round_ties(first), rank[codes])))


def round_ties(values: npt.ArrayLike) -> Floats:
    """Return values rounded to nine digits, so that equal statistics are equal whatever the order of summation."""
    return np.asarray(np.round(np.asarray(values, dtype=np.float64), 9))


def spread_of_means(values: Floats, starts: Codes, units: Floats) -> float:
    """Return the SD of the groups' true means, without the noise of units; groups begin at `starts`."""
    means = np.add.reduceat(values, starts) / units
    squares = np.add.reduceat((values - np.repeat(means, units.astype(int))) ** 2, starts)
    noise = (squares / (units - 1) / units).mean()
    return float(np.sqrt(max(float(means.var(ddof=1)) - float(noise), 0.0)))


def smaller_rank(squares: Floats, largest: Floats, q: Floats, z: Floats) -> float:
    """Return p of the smaller of two permutation p-values, calibrated on the same permutations (min-p).

    `squares` and `largest` are the observed sum of squares and the observed largest |z|. `q` and `z` (permutations,)
    are the same statistics in each permutation.
    """
    deals = len(q)

    def ranks(pool: Floats, values: Floats) -> Floats:
        ordered = np.sort(pool)
        return np.asarray((1 + deals - np.searchsorted(ordered, values, side="left")) / (deals + 1))

    q_p, z_p = float(ranks(q, squares)), float(ranks(z, largest))
    smaller = np.minimum(ranks(q, q), ranks(z, z))
    return float((1 + np.count_nonzero(smaller <= min(q_p, z_p) + 1e-12)) / (deals + 1))


def means_of_groups(values: Floats, codes: Codes, units: Codes) -> Floats:
    """Return the mean of each group (groups,); NaN for groups without units."""
    sums = np.bincount(codes, weights=values, minlength=len(units))
    return np.asarray(np.divide(sums, units, out=np.full(len(units), np.nan), where=units > 0))


def check_changes(
    before: npt.ArrayLike, after: npt.ArrayLike, groups: npt.ArrayLike
) -> tuple[Floats, Floats, Codes]:
    """Return the arguments of `group_changes` as arrays; UsageError if lengths differ or a number is not finite."""
    first, second = (np.asarray(values, dtype=np.float64) for values in (before, after))
    codes = np.asarray(groups, dtype=np.int64)
    if not first.shape == second.shape == codes.shape or first.ndim != 1:
        raise UsageError(
            f"before, after and groups must be one-dimensional and of the same length, got shapes {first.shape}, "
            f"{second.shape} and {codes.shape}."
        )
    if not np.isfinite(first).all() or not np.isfinite(second).all():
        raise UsageError(
            "before or after contains NaN or infinity.",
            "Leave these units out, and report how many there are.",
        )
    return first, second, codes
