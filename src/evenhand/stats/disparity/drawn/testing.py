"""Test simulated data sets with the procedure of the comparison: permutations, intervals, and p of the axis."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc, ndtr, ndtri

from evenhand.stats.arrays import Codes, Floats
from evenhand.stats.disparity.deals import leave_one_out
from evenhand.stats.disparity.differences import attainable_p
from evenhand.stats.disparity.drawn.design import SimulationDesign, simulated_values
from evenhand.stats.disparity.limits import COINS, GroupLimits, learnt_clustering
from evenhand.stats.disparity.supports import GRID, Supports, axis_caution, cautious_axis_p

_Z_GRID = np.concatenate([np.linspace(0, 4.5, 28), [6.0, 8.0, 12.0, 25.0]])
_GRID_PLACES = np.unique(np.append(np.arange(0, len(GRID), 6), len(GRID) - 1))
_RATES = np.sin(np.linspace(0.001, np.pi / 2 - 0.001, 101)) ** 2
_LEAST_P = 1e-4  # smallest p of the largest number of permutations


@dataclass(frozen=True)
class SimulatedTests:
    """Tests of simulated data sets.

    Attributes
    ----------
    drawn : SimulationDesign
        Design of the data sets.
    values, left : numpy.ndarray, shape (data sets, units)
        Values with and without the effects of strata.
    means, p : numpy.ndarray, shape (data sets, groups)
        Means of the groups, and their permutation p.
    codes : numpy.ndarray of int, shape (units,)
        Group of each unit.
    freedom : int
        Degrees of freedom within groups.
    axis_p : numpy.ndarray, shape (data sets,)
        Permutation p of the axis.
    deals : int
        Number of permutations.
    """

    drawn: SimulationDesign
    values: Floats
    left: Floats
    means: Floats
    codes: Codes
    freedom: int
    p: Floats
    axis_p: Floats
    deals: int

    @staticmethod
    def simulate(drawn: SimulationDesign, of_groups: Floats, sets: int, deals: int) -> "SimulatedTests":
        """Simulate data sets in which groups have these rates, and test them by permutation."""
        sizes = np.array(drawn.sizes)
        groups, total = len(sizes), int(sizes.sum())
        generator = np.random.default_rng(total)
        codes = np.repeat(np.arange(groups), sizes)
        values = simulated_values(drawn, of_groups, (sets, total), generator)
        means = np.add.reduceat(values, np.cumsum(sizes) - sizes, axis=1) / sizes
        left = values
        strata = np.concatenate([np.arange(size) for size in sizes])
        if drawn.crossed:
            left = (
                values - np.stack([values[:, strata == s].mean(axis=1) for s in range(sizes.max())])[strata].T
            )
        freedom = total - groups - (int(sizes.max()) - 1 if drawn.crossed else 0)
        within = strata if drawn.crossed else np.zeros(total, dtype=np.int64)
        p, axis_p = _deal_p(left, codes, within, freedom, deals, generator)
        return SimulatedTests(drawn, values, left, means, codes, freedom, p, axis_p, deals)

    @property
    def sizes(self) -> Floats:
        """Return the number of units of each group (groups,)."""
        return np.array(self.drawn.sizes, dtype=np.float64)

    @property
    def middle_p(self) -> Floats:
        """Return the permutation p of axes, corrected for the small number of permutations, shape (data sets,).

        p is a multiple of 1 / (deals + 1) and is rounded upwards. The middle of each step is what more permutations
        would give on average.
        """
        return np.asarray(self.axis_p - 0.5 / (self.deals + 1))

    @property
    def difference(self) -> Floats:
        """Return each group minus the mean of the others (data sets, groups)."""
        groups = self.means.shape[1]
        return np.asarray((self.means - self.means.mean(axis=1, keepdims=True)) * groups / (groups - 1))

    @property
    def squares(self) -> Floats:
        """Return the sums of squares within groups (data sets, groups)."""
        parts = [self.values[:, self.codes == g].var(axis=1) * size for g, size in enumerate(self.sizes)]
        return np.stack(parts, axis=1)

    @property
    def mover_p(self) -> Floats:
        """Return the p of the MOVER intervals (data sets, groups)."""
        reached = _crossing(self.facing(_Z_GRID), np.abs(self.difference), _Z_GRID)
        return np.asarray(np.where(np.abs(self.difference) < 1e-9, 1.0, 2 * ndtr(-reached)))

    def facing(self, grid: Floats) -> Floats:
        """Return the distance from each difference to the MOVER bound that faces 0, at normal quantiles.

        The shape is (quantiles, data sets, groups).
        """
        drawn, left, means, codes, freedom = self.drawn, self.left, self.means, self.codes, self.freedom
        sets, groups = means.shape
        sizes, squares = self.sizes, self.squares
        pooled = squares.sum(axis=1) / max(len(codes) - groups, 1)
        if drawn.crossed:
            centre = np.stack([left[:, codes == g].mean(axis=1) for g in range(groups)], axis=1)
            pooled = np.square(left - centre[:, codes]).sum(axis=1) / max(freedom, 1)
        own = np.divide(squares, sizes - 1, out=np.zeros_like(squares), where=sizes > 1)
        worth = np.broadcast_to(sizes, means.shape)
        if drawn.samples:
            coin = ((sizes - 1) * (means * (1 - means) + own / sizes)).sum(axis=1)
            raw = np.divide(pooled * (len(codes) - groups), coin, out=np.ones(sets), where=coin > 1e-12)
            phi = learnt_clustering(raw, 1 / drawn.samples, drawn.crossed)
            coins = 0.0 if drawn.crossed else COINS
            worth = sizes * ((freedom + coins) / (freedom * phi + coins))[:, None]
        limits = GroupLimits(
            means.ravel(),
            np.tile(sizes, sets),
            np.ones(sets * groups),
            np.ascontiguousarray(worth).ravel(),
            np.repeat(pooled, groups),
            own.ravel(),
            freedom,
            drawn.samples > 0,
            drawn.guarded,
        )
        low, high = limits.bounds_at(grid)
        shape = (len(grid), sets, groups)
        below = np.minimum(np.square(means - low.reshape(shape)), 1e6)
        above = np.minimum(np.square(high.reshape(shape) - means), 1e6)
        share = 1 / (groups - 1) ** 2
        down = np.sqrt(below + share * (above.sum(axis=2, keepdims=True) - above))
        up = np.sqrt(above + share * (below.sum(axis=2, keepdims=True) - below))
        return np.asarray(np.where(self.difference > 0, down, up))

    def supported_p(self) -> Floats:
        """Return the p of axes whose prompts may have unequal variances (data sets,), as the comparison computes it."""
        grid, (sets, groups), sizes = GRID[_GRID_PLACES], self.means.shape, self.sizes
        squares = self.squares
        between = (sizes * np.square(self.means - self.values.mean(axis=1, keepdims=True))).sum(axis=1)
        ratio = between / np.maximum(squares.sum(axis=1) / self.freedom, 1e-12) / (groups - 1)
        beyond = np.maximum(fdtrc(groups - 1, self.freedom, ratio), _LEAST_P)
        # where no permutation is as extreme, p is that of the F test
        dealt = np.where(
            self.axis_p < 1.5 / (self.deals + 1), np.minimum(self.middle_p, beyond), self.middle_p
        )
        supports = Supports.from_moments(
            self.means.ravel(),
            (squares / np.maximum(sizes - 1, 1)).ravel(),
            np.tile(sizes, sets),
            np.full(sets * groups, 1 / self.drawn.samples),
            sets=sets,
        )
        caution = supports.caution.reshape(sets, groups)
        theirs = self._guarded_widths(supports)
        size = np.abs(self.difference)
        single = _reached_p(theirs, size, grid)
        ours = self.facing(grid)
        stretch = np.maximum(1.0, _crossing(ours, size, grid) / np.maximum(-ndtri(self.p / 2), 1e-6))
        moved = np.empty_like(ours)
        for place in np.ndindex(sets, groups):
            moved[:, *place] = np.interp(grid * stretch[place], grid, ours[:, *place])
        others = np.sort(caution, axis=1)
        rest = np.where(caution == others[:, [-1]], others[:, [-2]], others[:, [-1]])
        weight = np.maximum(caution, rest / (groups - 1))
        mixed = _reached_p((1 - weight) * moved + weight * theirs, size, grid)
        p = np.maximum(mixed, attainable_p(sizes, leave_one_out(groups)))
        shape = (sets * groups, len(_RATES))
        total = supports.log_supports(np.broadcast_to(_RATES, shape))[1].reshape(sets, groups, -1).sum(axis=1)
        equal = chdtrc(groups - 1, -2 * total.max(axis=1))
        return cautious_axis_p(
            axis_caution(self.means, sizes, caution), dealt, simes_of_rows(p), simes_of_rows(single), equal
        )

    def _guarded_widths(self, supports: Supports) -> Floats:
        """Return the distances that face 0 of intervals for unequal variances (see `Supports.widths`)."""
        sets, groups = self.means.shape
        learnt, guarded = (
            np.square(part[:, :, _GRID_PLACES] - supports.means[:, None, None]).reshape(sets, groups, 2, -1)
            for part in (supports.learnt, supports.guarded)
        )
        excess = np.maximum(guarded - learnt, 0)
        ordered = np.sort(excess, axis=1)
        largest = np.where(excess == ordered[:, [-1]], ordered[:, [-2]], ordered[:, [-1]])
        rest = (learnt.sum(axis=1, keepdims=True) - learnt + largest) / (groups - 1) ** 2
        above = (self.difference > 0)[:, :, None]
        squares = np.where(above, guarded[:, :, 0] + rest[:, :, 1], guarded[:, :, 1] + rest[:, :, 0])
        return np.moveaxis(np.sqrt(squares), 2, 0)


def _crossing(widths: Floats, target: Floats, grid: Floats) -> Floats:
    """Return the quantile at which each width reaches its target, in the shape of `target`."""
    place = np.clip((widths < target).sum(axis=0), 1, len(grid) - 1)
    before = np.take_along_axis(widths, place[None] - 1, axis=0)[0]
    after = np.take_along_axis(widths, place[None], axis=0)[0]
    part = np.clip((target - before) / np.maximum(after - before, 1e-12), 0, 1)
    return np.asarray(grid[place - 1] + part * (grid[place] - grid[place - 1]))


def simes_of_rows(p: Floats) -> Floats:
    """Return Simes' p of each row."""
    groups = p.shape[-1]
    return np.asarray((np.sort(p, axis=-1) * groups / np.arange(1, groups + 1)).min(axis=-1))


def _reached_p(widths: Floats, difference: Floats, grid: Floats) -> Floats:
    """Return the p at which intervals of these widths (quantiles, data sets, groups) reach 0 (data sets, groups)."""
    p = 2 * ndtr(-_crossing(widths, difference, grid))
    return np.asarray(np.where(difference < 1e-12, 1.0, p))


def _deal_p(
    values: Floats, codes: Codes, strata: Codes, freedom: int, deals: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return p of each group (data sets, groups) and of the axis (data sets,), with the same permutations for all data
    sets.
    """
    groups = int(codes.max()) + 1
    sizes = np.bincount(codes).astype(np.float64)
    total = len(codes)
    by_stratum = np.lexsort((codes, strata))
    keys = np.sort(strata) + generator.random((deals, total)) * 0.999
    labels = np.empty((deals + 1, total), dtype=np.int64)
    labels[0] = codes
    labels[1:, by_stratum] = codes[by_stratum][np.argsort(keys, axis=1)]
    places = (np.arange(deals + 1)[:, None] * groups + labels).ravel()
    assigned = np.zeros((total, (deals + 1) * groups), dtype=np.float32)
    assigned[np.tile(np.arange(total), deals + 1), places] = 1 / np.tile(sizes, deals + 1)[places]
    centred = values - values.mean(axis=1, keepdims=True)
    means = (centred.astype(np.float32) @ assigned).reshape(len(values), deals + 1, groups)
    between = np.square(means) @ sizes.astype(np.float32)
    within = np.maximum(np.square(centred).sum(axis=1, keepdims=True) - between, 1e-7) / max(freedom, 1)
    inverse = 1 / sizes
    error = (inverse + (inverse.sum() - inverse) / (groups - 1) ** 2).astype(np.float32)
    z = np.abs(means - means.mean(axis=2, keepdims=True)) * (groups / (groups - 1))
    z = np.round(z / np.sqrt(within.astype(np.float32)[:, :, None] * error), 4)
    spread = np.round(between / within, 4)
    p = np.empty((len(values), groups))
    for kind in np.unique(sizes):
        members = np.flatnonzero(sizes == kind)
        for number, drawn in enumerate(np.sort(z[:, :, members].reshape(len(values), -1), axis=1)):
            below = np.searchsorted(drawn, z[number, 0, members], side="left")
            p[number, members] = (drawn.size - below) / drawn.size
    smaller = np.minimum(_ranks(spread), _ranks(z.max(axis=2)))
    return p, np.mean(smaller <= smaller[:, [0]] + 1e-9, axis=1)


def _ranks(values: Floats) -> Floats:
    """Return for each value the share of its row that is at least as large."""
    ordered = np.sort(values, axis=1)
    below = [np.searchsorted(row, own, side="left") for row, own in zip(ordered, values, strict=True)]
    return np.asarray(1 - np.array(below) / values.shape[1], dtype=np.float64)
