"""Arrange units so that they can be permuted, and compute the statistics of each permutation."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from evenhand.stats.arrays import Codes, Counts, Floats
from evenhand.stats.disparity.dealing.sums import ManyUnits, Sums
from evenhand.stats.disparity.units import Units, arrangements

_DIGITS = 9
_CELLS = 1 << 22


@dataclass(frozen=True)
class Layout:
    """Arrangement of units for permutation, in which neither group names nor the order of rows affect the result.

    Groups are sorted by their numbers of units in each stratum, and then by their means. All arrays use this order.
    """

    pool: Floats  # values, stratum by stratum, sorted within each
    observed: Floats  # values, group by group
    to_groups: Codes  # position in the pool of each unit, group by group
    blocks: Counts  # number of units of each stratum
    starts: Codes  # position of the first unit of each group
    sizes: Floats
    order: Codes  # group codes in the order of this layout; `back` is the inverse
    back: Codes
    level: float  # mean of all values, which was subtracted with the means of strata (0 without strata)
    total: float  # sum of squared deviations from the mean
    freedom: int
    shares: bool
    cells: Counts

    @staticmethod
    def arrange(units: Units) -> "Layout":
        values = units.stratum_deviations
        cells = units.cells()
        means = np.nan_to_num(units.group_means(values))
        order = np.lexsort((np.round(means, 12), *cells.T[::-1]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        strata = np.zeros(len(values), dtype=np.int64) if units.strata is None else units.strata
        by_stratum = np.lexsort((values, strata))
        blocks = np.bincount(strata).astype(np.int64)
        cells = cells[order]
        labels = np.concatenate([np.repeat(np.arange(len(order)), column) for column in cells.T])
        sizes = cells.sum(axis=1)
        observed = values[np.lexsort((values, place[units.groups]))]
        centre = float(values.mean())
        return Layout(
            pool=values[by_stratum],
            observed=observed,
            to_groups=np.argsort(labels, kind="stable").astype(np.int64),
            blocks=blocks,
            starts=(np.cumsum(sizes) - sizes).astype(np.int64),
            sizes=sizes.astype(np.float64),
            order=order.astype(np.int64),
            back=place,
            level=float(units.values.mean()) - centre,
            total=float(np.square(values - centre).sum()),
            freedom=units.freedom,
            shares=units.shares,
            cells=cells,
        )

    @cached_property
    def many(self) -> ManyUnits | None:
        """Return the generator of random group sums that avoids permuting single units; None if it would not be
        faster.
        """
        return ManyUnits.classify(self.pool, self.blocks, self.cells)

    def random_sums(
        self, count: int, generator: np.random.Generator, *, squares: bool = False
    ) -> Iterator[Sums]:
        """Yield sums by group of random permutations, in blocks.

        With many units, they are sampled by `ManyUnits`. With `squares`, also sums of squares are yielded.
        """
        if self.many is not None:
            yield from self.many.random_sums(count, generator, squares=squares)
        else:
            yield from (self.sums(values, squares=squares) for values in self._random_deals(count, generator))

    def sums(self, values: Floats, *, squares: bool = False) -> Sums:
        """Return the sums (and sums of squares) by group, shape (deals, groups), of permuted values (deals, units)."""
        first = np.add.reduceat(values, self.starts, axis=1)
        second = np.add.reduceat(np.square(values), self.starts, axis=1) if squares else None
        return np.asarray(first), None if second is None else np.asarray(second)

    def _random_deals(self, count: int, generator: np.random.Generator) -> Iterator[Floats]:
        """Yield blocks of permuted values, sorted by group (permutations, units)."""
        step = max(1, _CELLS // len(self.pool))
        alike = bool(np.all(self.blocks == self.blocks[0]))
        for start in range(0, count, step):
            rows = min(step, count - start)
            if alike:
                shape = (rows * len(self.blocks), int(self.blocks[0]))
                drawn = np.broadcast_to(self.pool, (rows, len(self.pool))).reshape(shape)
                yield generator.permuted(drawn, axis=1).reshape(rows, -1)[:, self.to_groups]
            else:
                block = np.repeat(np.arange(len(self.blocks)), self.blocks)
                shuffled = np.argsort(block + generator.random((rows, len(block))), axis=1)
                yield self.pool[shuffled][:, self.to_groups]

    def every_deal(self) -> Iterator[Floats]:
        """Yield all different permutations of the values, sorted by group."""
        parts = [[np.array(way) for way in arrangements(tuple(column.tolist()))] for column in self.cells.T]
        labels = np.array([np.concatenate(way) for way in product(*parts)])
        yield self.pool[np.argsort(labels, axis=1, kind="stable")]

    def statistics(self, sums: Sums, contrasts: Floats | None) -> tuple[Floats, Floats, Floats | None]:
        """Return three statistics of each row of group sums (a permutation).

        These are z of each contrast (rows, contrasts), the sum of squares between groups divided by the variance
        within (rows,), and the inequality of variances (rows,), which is None without sums of squares.
        """
        means = sums[0] / self.sizes
        weight = self.sizes / self.sizes.sum()
        between = (np.square(means - (means @ weight)[:, None]) * self.sizes).sum(axis=1)
        within = np.maximum(self.total - between, 0.0)
        within = np.where(within < 1e-11 * self.total, 0.0, within) / max(self.freedom, 1)
        if contrasts is None:
            groups = len(self.sizes)
            difference = (means - means.mean(axis=1, keepdims=True)) * (groups / (groups - 1))
            inverse = 1 / self.sizes
            error = inverse + (inverse.sum() - inverse) / (groups - 1) ** 2
        else:
            difference = means @ contrasts.T
            error = np.square(contrasts) @ (1 / self.sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(np.abs(difference) < 1e-12, 0.0, difference / np.sqrt(within[:, None] * error))
            spread = np.where(between < 1e-12, 0.0, between / within)
        uneven = None if sums[1] is None else self._unevenness(sums[1], means)
        z, spread = np.round(z, _DIGITS), np.round(spread, _DIGITS)
        return np.asarray(z, dtype=np.float64), np.asarray(spread, dtype=np.float64), uneven

    def _unevenness(self, sums_of_squares: Floats, means: Floats) -> Floats:
        """Return sum (n - 1) (own variance - phi × Bernoulli variance)² over groups, for each row.

        Rates of different size have different variances. Only deviations from the common ratio phi count.
        """
        squares = np.maximum(sums_of_squares - self.sizes * np.square(means), 0.0)
        weight = self.sizes - 1
        own = squares / np.maximum(weight, 1)
        coin = np.ones_like(own)
        if self.shares:
            rate = np.clip(means + self.level, 0, 1)
            coin = rate * (1 - rate) + own / self.sizes
            # If each stratum has one unit of each group, subtracting its mean mixes the variances of all groups.
            if len(self.blocks) > 1 and np.all(self.cells == 1):
                groups = len(self.sizes)
                coin = (1 - 2 / groups) * coin + coin.mean(axis=1, keepdims=True) / groups
        coins = (weight * coin).sum(axis=1)
        scale = np.divide((weight * own).sum(axis=1), coins, out=np.zeros(len(coins)), where=coins > 1e-12)
        return np.asarray(
            np.round((weight * np.square(own - scale[:, None] * coin)).sum(axis=1), _DIGITS + 3)
        )
