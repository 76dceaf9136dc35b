"""Units whose change is dealt: their order, and how much their change is expected to vary in each group."""

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.disparity.smallest import signal_found

LARGER = 0.1
"""Level of the test by which a group's own scatter is taken for larger than that of all groups."""
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


def own_errors(
    change: Floats, starts: Codes, units: Floats, usual: Floats, *, always: bool = False
) -> tuple[Floats, Floats, Floats] | None:
    """Standard errors of each group minus the others where groups' changes scatter otherwise than their rates allow.

    A mitigation that rewrites one group's answers and leaves all others' alone makes that group scatter by itself.
    change: (units,), group after group from `starts`. usual: (groups,) variance of a unit's change as learnt from all
    groups. A group whose own is larger beyond a test at 10 % is taken by its own; always: each group is. Returns
    errors, degrees of freedom and variances of groups' means (groups,), or None where no group is taken by its own.
    Source: Satterthwaite 1946.

    >>> own_errors(np.array([0.0, 2.0, 0.0, 2.0, 1.0, 1.0]), np.array([0, 4]), np.array([4.0, 2.0]), np.ones(2))
    >>> moved = np.array([-3.0, 3.0, 3.0, -3.0, 0.0, 0.0])
    >>> error, df, _ = own_errors(moved, np.array([0, 4]), np.array([4.0, 2.0]), np.full(2, 0.1))
    >>> error.round(3).tolist(), df.round(1).tolist()
    ([1.746, 1.746], [3.1, 3.1])
    """
    sizes = units.astype(int)
    left = change - np.repeat(np.add.reduceat(change, starts) / units, sizes)
    own = np.add.reduceat(left**2, starts) / (units - 1)
    freedom = float((units - 1).sum())
    taken = own > np.maximum(usual * fdtri(units - 1, freedom, 1 - LARGER), 1e-18)
    if always:
        taken = np.ones(len(units), dtype=bool)
    if not taken.any():
        return None
    noise = np.where(taken, own, usual) / units
    share = 1 / (len(noise) - 1) ** 2
    squares = noise + (noise.sum() - noise) * share
    fourth = noise**2 / np.where(taken, units - 1, freedom)
    below = fourth + (fourth.sum() - fourth) * share**2
    df = np.divide(squares**2, below, out=np.full(len(noise), freedom), where=below > 0)
    return np.sqrt(squares), df, noise


def reach_as_rates_grow(reach: Floats, error: Floats, noise: Floats, rates: Floats | None) -> Floats:
    """How far a group has to change to lie `reach` errors away (groups,), its own share of the error growing with it.

    error, noise: as of `own_errors`. rates: shares before; None for numbers, of which nothing of the kind is known.
    """
    found = reach * error
    if rates is None:
        return found
    near = np.clip(np.minimum(rates, 1 - rates), 0.01, 0.5)
    for _ in range(60):
        moved = np.minimum(near + found, 0.5)
        grown = 0.5 + 0.5 * moved * (1 - moved) / (near * (1 - near))
        found = reach * np.sqrt(error**2 + noise * (grown - 1))
    return found


def smallest_spread_by_groups(error: Floats, df: Floats, level: float) -> float:
    """Standard deviation between groups, one half up and one down, at which Simes' test of the groups finds some.

    error, df: (groups,) of each group minus the others. It rejects where as many groups as there are times the level
    lie beyond their critical values; 80 % power for each.
    """
    count = len(error)
    needed = []
    for rank in range(1, count + 1):
        far = [
            np.sqrt(signal_found(1.0, d, level * rank / count)) * e for d, e in zip(df, error, strict=True)
        ]
        needed.append(float(np.sort(far)[rank - 1]))
    return float(min(needed) * np.sqrt((count - 1) / count))


def are_shares(first: Floats, second: Floats) -> bool:
    """Whether all numbers of both models lie between 0 and 1."""
    return bool(min(first.min(), second.min()) >= 0 and max(first.max(), second.max()) <= 1)


def unmoved_reach(units: Floats) -> Floats:
    """(groups,) how far a group's change may lie off the others' though no prompt moved, at 95 %.

    So many prompts without a change are likely up to a certain share of them that change by all they can
    (Clopper-Pearson at 0); limits of differences are recovered from those of groups (Zou and Donner 2008).

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
