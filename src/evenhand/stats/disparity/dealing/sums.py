"""Sample the sums of groups under random permutations of many units, without permuting each unit.

A thousand permutations of a million units would take a billion steps. Tests need only the groups' sums.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import Codes, Counts, Floats

MANY = 6_000
"""Number of units up to which each unit is permuted. With more, group sums are sampled."""
DISTINCT, CLASSES, EXTREME = 12, 8, 32
"""With up to DISTINCT different values, each value is a class. With more, there are CLASSES classes in the middle.

The EXTREME lowest and the EXTREME highest values are then permuted one by one.
"""
EQUAL = 1e-12
"""Values that differ by less count as equal."""
# cost of sampling the units of a class in a group, relative to permuting one unit
_PRICE = 6
_CELLS = 1 << 20
Sums = tuple[Floats, Floats | None]
"""Sums by group, and sums of squares or None, both (permutations, groups)."""


@dataclass(frozen=True)
class ManyUnits:
    """Approximation of the sums of randomly permuted units, for many units.

    The units of each stratum are divided into classes of nearly equal values.

    Attributes
    ----------
    cells : numpy.ndarray, shape (strata, groups)
        Number of units that each group receives.
    counts, means, squares : numpy.ndarray, shape (classes, strata)
        Number of units of each class, mean of their values and of their squared values.
    scatter : numpy.ndarray, shape (classes, strata, 2, 2)
        Root of the covariance matrix of value and squared value within a class.
    extremes : sequence of numpy.ndarray
        Most extreme values of each stratum, which are permuted individually.

    Notes
    -----
    The number of units of each class in each group is sampled exactly (multivariate hypergeometric). Differences within
    a class are sampled from a normal distribution with the exact covariance. Sums therefore have the exact mean and
    covariance. If a stratum has few distinct values (such as labels), the whole distribution is exact. The error in the
    tails is too small to be seen in thousands of permutations.

    References
    ----------
    - Hájek 1960: normal limit of sums without replacement. Classes and extremes were simulated for this use.
    """

    cells: Counts
    counts: Counts
    means: Floats
    squares: Floats
    scatter: Floats
    extremes: tuple[Floats, ...]

    @staticmethod
    def classify(pool: Floats, blocks: Counts, cells: Counts) -> "ManyUnits | None":
        """Return the classes of the values of all strata, or None if permuting single units is not slower.

        Parameters
        ----------
        pool : numpy.ndarray, shape (units,)
            Values, stratum by stratum, sorted within each.
        blocks : numpy.ndarray, shape (strata,)
            Number of units of each stratum.
        cells : numpy.ndarray, shape (groups, strata)
            Number of units of each group in each stratum.
        """
        groups, strata = cells.shape
        if len(pool) <= MANY or groups * strata * _PRICE > len(pool):
            return None
        parts = [_classes(part) for part in np.split(pool, np.cumsum(blocks)[:-1])]
        number = max(int(codes.max()) + 1 for codes in parts)
        if groups * strata * number * _PRICE > len(pool):
            return None
        counts = np.zeros((number, strata), dtype=np.int64)
        means, squares = np.zeros((number, strata)), np.zeros((number, strata))
        scatter = np.zeros((number, strata, 2, 2))
        extremes = []
        ends = np.cumsum(blocks)
        for place, codes in enumerate(parts):
            values = pool[ends[place] - blocks[place] : ends[place]]
            own = np.bincount(codes, minlength=number)
            least = np.maximum(own, 1)
            both = values, np.square(values)
            mean, square = (np.bincount(codes, weights=one, minlength=number) / least for one in both)
            left = both[0] - mean[codes], both[1] - square[codes]
            covered = {
                (i, k): np.bincount(codes, weights=left[i] * left[k], minlength=number)
                / np.maximum(own - 1, 1)
                for i, k in ((0, 0), (0, 1), (1, 1))
            }
            # Cholesky factor of the 2 by 2 covariance
            first = np.sqrt(covered[0, 0])
            across = np.divide(covered[0, 1], first, out=np.zeros(number), where=first > 0)
            if len(values) and np.ptp(values[codes == 0]) > EQUAL:  # otherwise each class is a single value
                scatter[:, place, 0, 0], scatter[:, place, 1, 0] = first, across
                scatter[:, place, 1, 1] = np.sqrt(np.maximum(covered[1, 1] - np.square(across), 0.0))
            counts[:, place], means[:, place], squares[:, place] = own, mean, square
            extremes.append(values[codes == 0])
        return ManyUnits(cells.T.copy(), counts, means, squares, scatter, tuple(extremes))

    def random_sums(
        self, deals: int, generator: np.random.Generator, *, squares: bool = False
    ) -> Iterator[Sums]:
        """Yield sums of this many random permutations, in blocks."""
        step = max(1, _CELLS // self.cells.size)
        for start in range(0, deals, step):
            yield self._random_block(min(step, deals - start), generator, squares)

    def _random_block(self, deals: int, generator: np.random.Generator, squares: bool) -> Sums:
        strata, groups = self.cells.shape
        free = np.broadcast_to(self.cells, (deals, strata, groups)).copy()
        first = np.zeros((deals, groups))
        second = np.zeros((deals, groups)) if squares else None
        for number in range(len(self.counts)):
            last = number == len(self.counts) - 1
            taken = free if last else _draw_class_sizes(free, self.counts[number], generator)
            if not last:
                free = free - taken
            if number == 0 and (dealt := np.flatnonzero(self.scatter[0].any(axis=(1, 2)))).size:
                self._deal_extremes(dealt, taken, first, second, generator)
                taken[:, dealt] = 0
            first += np.einsum("dsg,s->dg", taken, self.means[number])
            if second is not None:
                second += np.einsum("dsg,s->dg", taken, self.squares[number])
            if number > 0:
                self._add_scatter(number, taken, first, second, generator)
        return first, second

    def _deal_extremes(
        self,
        places: Codes,
        taken: Counts,
        first: Floats,
        second: Floats | None,
        generator: np.random.Generator,
    ) -> None:
        """Permute the extreme values of the strata at these places; `taken` is the number that each group receives."""
        deals = len(taken)
        for place in places:
            values = self.extremes[place]
            order = generator.permuted(np.broadcast_to(values, (deals, len(values))), axis=1)
            ends = np.cumsum(taken[:, place], axis=1)
            for power, total in ((1, first), (2, second)):
                if total is not None:
                    running = np.concatenate([np.zeros((deals, 1)), np.cumsum(order**power, axis=1)], axis=1)
                    total += np.diff(np.take_along_axis(running, ends, axis=1), axis=1, prepend=0.0)

    def _add_scatter(
        self, number: int, taken: Counts, first: Floats, second: Floats | None, generator: np.random.Generator
    ) -> None:
        root = self.scatter[number]
        places = np.flatnonzero(root.any(axis=(1, 2)))
        if not places.size:
            return
        mine = taken[:, places]
        share = mine / np.maximum(self.counts[number, places], 1)[None, :, None]
        noise = []
        for _ in range(1 if second is None else 2):
            each = np.sqrt(mine) * generator.normal(size=mine.shape)
            noise.append(each - share * each.sum(axis=2, keepdims=True))
        first += np.einsum("dsg,s->dg", noise[0], root[places, 0, 0])
        if second is not None:
            second += np.einsum("dsg,s->dg", noise[0], root[places, 1, 0])
            second += np.einsum("dsg,s->dg", noise[1], root[places, 1, 1])


def _classes(values: Floats) -> Codes:
    """Return the class of each sorted value: one per different value, or 0 for extremes and 1, 2, ... in between."""
    steps = np.concatenate([[0], np.cumsum(np.diff(values) > EQUAL)]) if len(values) else np.zeros(0)
    if len(steps) == 0 or steps[-1] < DISTINCT:
        return np.asarray(steps, dtype=np.int64)
    codes = np.zeros(len(values), dtype=np.int64)
    inner = values[EXTREME:-EXTREME]
    if len(inner):
        far = np.abs(inner - np.median(inner))
        reached = np.cumsum(far + far.mean() / 4)  # narrower classes far from the median
        codes[EXTREME:-EXTREME] = 1 + np.minimum(
            (CLASSES * reached / reached[-1]).astype(np.int64), CLASSES - 1
        )
    return codes


def _draw_class_sizes(free: Counts, wanted: Counts, generator: np.random.Generator) -> Counts:
    """Return how many units of a class each group receives (permutations, strata, groups).

    `free` is the number of free places, and `wanted` (strata,) the number of units of the class.
    """
    taken = np.empty_like(free)
    left = np.broadcast_to(wanted, free.shape[:2]).copy()
    rest = free.sum(axis=2)
    for group in range(free.shape[2]):
        mine = free[:, :, group]
        rest = rest - mine
        taken[:, :, group] = generator.hypergeometric(mine, rest, left)
        left = left - taken[:, :, group]
    return taken
