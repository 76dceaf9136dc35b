"""Permutation test of group means: units are exchanged between groups within strata, and statistics are recomputed.

The test is exact for the hypothesis that the distributions of all groups are equal, whatever their sizes, clusters and
rates. Each statistic is divided by the standard deviation within groups *of its own permutation*, which increases power
if many groups differ.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from scipy.special import gammaln, ndtri

from evenhand.stats.arrays import Codes, Flags, Floats
from evenhand.stats.disparity.dealing import Layout
from evenhand.stats.disparity.tails import (
    ClosedForm,
    SquaresTail,
    closed_form,
    critical_value,
    least_p,
    two_tails,
)
from evenhand.stats.disparity.units import Units, exchangeable

FIRST, MOST = 199, 9_999
"""First and largest number of permutations. With many axes, each is tested at a level far below 1 / 200."""
ENOUGH = 20
"""Number of permutations as extreme as the observed one that ends the test, because p is then precise enough."""
_CELLS = 1 << 22


@dataclass(frozen=True)
class Deals:
    """Permutation distribution of contrasts of group means. Result of `deal`.

    A deal is one random assignment of all units to the groups. The first row of each array is the observed one.

    Attributes
    ----------
    z : numpy.ndarray, shape (deals + 1, contrasts)
        Difference divided by its standard error, rounded so that equal values are ties.
    spread : numpy.ndarray, shape (deals + 1,)
        Sum of squares between groups divided by the variance within.
    variance : numpy.ndarray, shape (deals + 1,), or None
        Inequality of the variances within groups. None if it was not requested.
    classes : numpy.ndarray of int, shape (contrasts,)
        Equal codes for contrasts that are exchangeable (equal numbers of units).
    exact : bool
        True if these are all possible deals, so that p is exact.
    units : Units
        The units.
    form : ClosedForm
        Moments from which tails beyond all deals are computed.
    least : numpy.ndarray, shape (contrasts,)
        Smallest p that these tails may have.
    """

    z: Floats
    spread: Floats
    variance: Floats | None
    classes: Codes
    exact: bool
    units: Units
    form: ClosedForm
    least: Floats

    @cached_property
    def _squares(self) -> SquaresTail:
        return SquaresTail.from_units(self.units)

    @property
    def count(self) -> int:
        """Return the number of deals."""
        return len(self.spread) - 1

    @property
    def difference(self) -> Floats:
        """Return the observed differences (contrasts,)."""
        return self.form.difference

    @cached_property
    def p(self) -> Floats:
        """Return the two-sided p-value of each contrast.

        It is the share of absolute z values that are as large, across all deals and exchangeable contrasts. If no deal
        has such a value, it is that share or the closed-form tail, whichever is smaller.
        """
        size = np.abs(self.z)
        result = np.full(size.shape[1], np.nan)
        pool = size[1:] if self.exact else size
        for number in np.unique(self.classes):
            members = self.classes == number
            drawn = np.sort(pool[:, members], axis=None)
            below = np.searchsorted(drawn, size[0, members], side="left")
            result[members] = (drawn.size - below) / drawn.size
            unreached = members & (size[0] > size[1:, members].max()) & (self.least < 1) & (not self.exact)
            if unreached.any():
                result[unreached] = np.minimum(result[unreached], self._beyond(members, unreached))
        return result

    def _beyond(self, members: Flags, unreached: Flags) -> Floats:
        """Return p of contrasts that no permutation reached: closed-form tails, scaled to those of the permutations."""
        drawn = np.abs(self.z[1:, members])
        seen, freedom = min(ENOUGH / drawn.size, 0.5), max(self.units.freedom, 1)
        dealt = float(np.quantile(drawn, 1 - seen, method="higher"))
        if not 0 < dealt < np.inf:
            return np.ones(np.count_nonzero(unreached))
        skewness = self.form.skewness[unreached]
        stretch = np.minimum(critical_value(seen, skewness, freedom) / dealt, 1.0)
        tails = two_tails(np.abs(self.z[0, unreached]) * stretch, skewness, freedom)
        return np.maximum(tails, self.least[unreached])

    @property
    def normal(self) -> Floats:
        """Return the normal quantile that corresponds to half of p (contrasts,)."""
        return np.asarray(-ndtri(self.p / 2))

    @cached_property
    def _ranks(self) -> tuple[Floats, Floats, Floats]:
        """Return for every row the p of the sum of squares, the p of the largest |z|, and the smaller of both."""
        largest = np.abs(self.z).max(axis=1)
        spread_p, largest_p = (self._shares(values) for values in (self.spread, largest))
        return spread_p, largest_p, np.minimum(spread_p, largest_p)

    def _shares(self, values: Floats, *, largest: bool = True) -> Floats:
        pool = np.sort(values[1:] if self.exact else values)
        if largest:
            return np.asarray((pool.size - np.searchsorted(pool, values, side="left")) / pool.size)
        return np.asarray(np.searchsorted(pool, values, side="right") / pool.size)

    @property
    def spread_p(self) -> float:
        """Return the p-value of the sum of squares between groups."""
        return float(self._ranks[0][0])

    @property
    def largest_p(self) -> float:
        """Return the p-value of the largest absolute z of all contrasts."""
        return float(self._ranks[1][0])

    @property
    def axis_p(self) -> float:
        """Return the p-value of "no group differs": the smaller of `spread_p` and `largest_p`, corrected by min-p.

        If no deal is as extreme, it is computed in closed form.
        """
        ranked = float(self._shares(self._ranks[2], largest=False)[0])
        common = self.common_level()
        if self.exact or common <= 0 or self._ranks[2][1:].min() <= self._ranks[2][0]:
            return ranked
        contrasts = 1 if len(self.form.z) == 2 else len(self.form.z)
        largest = min(self.largest_p, contrasts * float(self.p.min()))
        return min(ranked, min(self._spread_beyond, largest) * 0.05 / common)

    @property
    def _spread_beyond(self) -> float:
        """Return p of the sum of squares (``spread``), in closed form if no permutation reached it.

        The closed form is too small if rare events lengthen the tail, so p then stays that of the permutations.
        """
        largest, seen = float(self.spread[1:].max()), min(ENOUGH / self.count, 0.5)
        if not largest < min(self.spread[0], np.inf) or self.least.min() == 1 or self._squares.uneven:
            return self.spread_p
        dealt = self._squares.distance(float(np.quantile(self.spread[1:], 1 - seen, method="higher")))
        if not dealt > 0:
            return self.spread_p
        stretch = min(self._squares.quantile(seen) / dealt, 1.0)
        beyond = self._squares.p(float(self.spread[0]), stretch=stretch)
        return min(self.spread_p, max(beyond, float(self.least.min())))

    @property
    def variance_p(self) -> float:
        """Return the p-value of "all groups have the same variance within"; 1 if it was not requested."""
        return 1.0 if self.variance is None else float(self._shares(self.variance)[0])

    def common_level(self, level: float = 0.05) -> float:
        """Return the p that the sum of squares or the largest z must reach, so that the test of both has this
        `level`.
        """
        ordered = np.sort(self._ranks[2][1:] if self.exact else self._ranks[2])
        place = int(np.floor(level * ordered.size + 1e-9))
        if place == 0:
            return 0.0
        # the largest value for which the share of smaller or equal values is at most the level
        allowed = ordered[:place]
        if place < ordered.size and ordered[place] == allowed[-1]:
            allowed = allowed[allowed < ordered[place]]
        return float(allowed[-1]) if allowed.size else 0.0

    def quantile(self, share: float) -> Floats:
        """Return the absolute z that the share 1 - `share` of deals exceeds, for each contrast (contrasts,)."""
        size = np.abs(self.z)
        result = np.full(size.shape[1], np.nan)
        for number in np.unique(self.classes):
            members = self.classes == number
            result[members] = np.quantile(size[1:, members], share, method="higher")
        return result

    def largest_quantile(self, share: float = 0.95) -> float:
        """Return the quantile over deals of the largest absolute z of all contrasts."""
        return float(np.quantile(np.abs(self.z[1:]).max(axis=1), share, method="higher"))


def leave_one_out(groups: int) -> Floats:
    """Return the contrasts "each group minus the mean of the other groups", shape (groups, groups).

    >>> leave_one_out(3)[0].tolist()
    [1.0, -0.5, -0.5]
    """
    others = -np.ones((groups, groups)) / max(groups - 1, 1)
    np.fill_diagonal(others, 1.0)
    return others


def all_pair_contrasts(groups: int) -> Floats:
    """Return the contrasts "first minus second" of all pairs of groups, (0, 1), (0, 2), ..., shape (pairs, groups)."""
    first, second = np.triu_indices(groups, 1)
    rows = np.zeros((len(first), groups))
    rows[np.arange(len(first)), first], rows[np.arange(len(first)), second] = 1.0, -1.0
    return rows


def deal(
    units: Units,
    contrasts: Floats | None = None,
    *,
    variances: bool = False,
    first: int = FIRST,
    most: int = MOST,
    seed: int = 0,
) -> Deals:
    """Test contrasts of group means by permuting sampling units between the groups.

    Parameters
    ----------
    units : Units
        Units of all groups, at least one per group and more units than groups. They are permuted within strata.
    contrasts : numpy.ndarray, shape (contrasts, groups), optional
        Rows that sum to 0. Default: each group minus the mean of the others.
    variances : bool
        Also test whether the variances within groups are equal.
    first, most : int
        Number of permutations at first and at most. After `first`, no more are made if 20 are as extreme as the
        observed one. If there are at most `most` different permutations, each is used once and p is exact.
    seed : int
        Random seed.

    Returns
    -------
    Deals
        Permutation distribution with p-values.

    Notes
    -----
    With many units, sums of groups are sampled from the same distribution, instead of single units.

    References
    ----------
    - Edgington & Onghena 2007: permutation tests. Besag & Clifford 1991: stopping.
    - Westfall & Young 1993: smallest of several p.

    >>> units = Units.from_arrays(np.array([.25, .5, 0, 0, .25, 0, 1, .75, .5]), np.repeat([0, 1, 2], 3))
    >>> test = deal(units)
    >>> test.count, test.p.round(5).tolist(), round(test.axis_p, 4)
    (1680, [0.36548, 0.05357, 0.01905], 0.05)
    """
    table = Layout.arrange(units)
    rows = leave_one_out(units.n_groups) if contrasts is None else contrasts
    classes = exchangeable(units, contrasts)
    known = (units, closed_form(units, rows), least_p(units, rows))
    ordered = None if contrasts is None else rows[:, table.order]
    observed = table.statistics(table.sums(table.observed[None, :], squares=variances), ordered)
    parts = [observed]
    exact = units.log_deals <= np.log(most + 0.5)
    generator = np.random.default_rng(seed)
    if exact:
        every = (table.sums(chunk, squares=variances) for chunk in table.every_deal())
        parts += [table.statistics(sums, ordered) for sums in every]
    else:
        drawn = table.random_sums(first, generator, squares=variances)
        parts += [table.statistics(sums, ordered) for sums in drawn]
        for target in sorted({min(999, most), most}):
            result = Deals(*_join_statistics(parts, table, contrasts is None), classes, False, *known)
            extreme = np.count_nonzero(result._ranks[2][1:] <= result._ranks[2][0])
            if extreme >= ENOUGH or target <= result.count:
                break
            more = table.random_sums(target - result.count, generator)
            parts += [table.statistics(sums, ordered) for sums in more]
    return Deals(*_join_statistics(parts, table, contrasts is None), classes, exact, *known)


def largest_means(units: Units, *, draws: int = FIRST, seed: int = 0) -> Floats:
    """Return the largest group mean in each of `draws` permutations: its distribution if all groups are equal.

    Units are permuted within strata, so effects of strata remain. With many units, fewer permutations are used.
    """
    table = Layout.arrange(units)
    count = int(np.clip(4 * _CELLS // max(len(table.pool), 1), 19, draws))
    means = [sums / table.sizes for sums, _ in table.random_sums(count, np.random.default_rng(seed))]
    return np.asarray(np.concatenate(means).max(axis=1) + table.level)


def smallest_p(units: Units) -> float:
    """Return the smallest p-value that a permutation test of these units can give.

    Permutations that only exchange whole groups give the same value of the statistic.

    >>> round(smallest_p(Units.from_arrays(np.arange(6.0), np.repeat([0, 1], 3))), 3)
    0.1
    """
    _, sizes = np.unique(units.cells(), axis=0, return_counts=True)
    alike = float(np.sum(gammaln(sizes + 1.0)))
    return float(min(1.0, np.exp(alike - units.log_deals)))


def least_units_of_two(level: float) -> int:
    """Return the number of units that each of two equal groups needs for a permutation to reach `level`.

    >>> least_units_of_two(0.05), least_units_of_two(0.05 / 13)
    (4, 6)
    """
    each = 2
    while 2 / comb(2 * each, each) > level:
        each += 1
    return each


def _join_statistics(
    parts: list[tuple[Floats, Floats, Floats | None]],
    table: Layout,
    default: bool,
) -> tuple[Floats, Floats, Floats | None]:
    z, spread = (np.concatenate([part[i] for part in parts]) for i in range(2))
    known = [part[2] for part in parts if part[2] is not None]
    if default:  # the layout sorts groups; restore the order of their codes
        z = z[:, table.back]
    return z, spread, np.concatenate(known) if known else None
