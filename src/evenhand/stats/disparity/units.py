"""Sampling units (prompts, templates, nouns): one mean per unit, with the group to which it belongs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import gammaln

from evenhand.schema import UsageError
from evenhand.stats.arrays import Codes, Counts, Floats


@dataclass(frozen=True)
class Units:
    """Sampling units (such as prompts), one value per unit, sorted by group.

    Attributes
    ----------
    values : numpy.ndarray, shape (units,)
        Mean of the responses of each unit, without NaN.
    groups : numpy.ndarray of int, shape (units,)
        Group codes 0, 1, ... in increasing order.
    n_groups : int
        Number of groups. It may exceed the largest code + 1, if a group has no units.
    strata : numpy.ndarray of int, shape (units,), or None
        Stratum of each unit, such as a template. Units are only permuted within strata.
    samples : numpy.ndarray, shape (units,)
        Number of responses that each value averages.
    shares : bool
        True if values are rates between 0 and 1, so that intervals are bounded.
    """

    values: Floats
    groups: Codes
    n_groups: int
    strata: Codes | None
    samples: Floats
    shares: bool

    @staticmethod
    def from_arrays(
        values: Floats,
        groups: Codes,
        *,
        n_groups: int | None = None,
        strata: Codes | None = None,
        samples: Floats | None = None,
        shares: bool | None = None,
    ) -> "Units":
        """Create units from arrays in any order, after sorting and checking them.

        The parameters are the attributes of `Units`, in any order of units. By default, `n_groups` is the largest code
        plus 1, `samples` is 1, and `shares` is True if all values are between 0 and 1. Raises a UsageError if lengths
        differ, a value is NaN or a code is negative.

        >>> Units.from_arrays(np.array([0.5, 1.0, 0.0]), np.array([1, 0, 1])).sizes.tolist()
        [1, 2]
        """
        lengths = {len(part) for part in (values, groups, strata, samples) if part is not None}
        if len(lengths) != 1 or np.isnan(values).any() or (len(groups) and groups.min() < 0):
            raise UsageError(
                "values, groups, strata and samples must have the same length, values must not contain NaN, and "
                "groups must be 0 or more.",
                "Leave out units without a classified sample, and number the groups 0, 1, ...",
            )
        order = np.lexsort((values, groups)) if strata is None else np.lexsort((values, strata, groups))
        within = bool(np.all((values >= 0) & (values <= 1))) if shares is None else shares
        return Units(
            np.asarray(values, dtype=np.float64)[order],
            np.asarray(groups, dtype=np.int64)[order],
            n_groups if n_groups is not None else (int(groups.max()) + 1 if len(groups) else 0),
            None if strata is None else np.unique(strata, return_inverse=True)[1].astype(np.int64)[order],
            np.ones(len(values)) if samples is None else np.asarray(samples, dtype=np.float64)[order],
            within,
        )

    @cached_property
    def sizes(self) -> Counts:
        """Return the number of units of each group (groups,)."""
        return np.bincount(self.groups, minlength=self.n_groups).astype(np.int64)

    @cached_property
    def means(self) -> Floats:
        """Return the mean over the units of each group (groups,); NaN without units.

        If groups are distributed unequally over strata, means are adjusted for strata by a fit of group + stratum.
        """
        plain = self.group_means(self.values)
        return plain if self.strata is None or self.is_balanced else self._adjust_for_strata(plain)

    @property
    def freedom(self) -> int:
        """Return the degrees of freedom of the variance within groups: units minus groups with units (and minus
        strata).
        """
        known = int(np.count_nonzero(self.sizes))
        further = 0 if self.strata is None else int(self.strata.max()) if len(self.strata) else 0
        return max(len(self.values) - known - further, 0)

    @cached_property
    def stratum_deviations(self) -> Floats:
        """Return the values minus the mean of their stratum, or the values without strata (units,)."""
        if self.strata is None:
            return self.values
        totals = np.bincount(self.strata, weights=self.values) / np.bincount(self.strata)
        return np.asarray(self.values - totals[self.strata])

    @cached_property
    def is_balanced(self) -> bool:
        """Return True if all groups with units have equally many in each stratum."""
        if self.strata is None:
            return True
        cells = self.cells()
        known = cells[cells.sum(axis=1) > 0]
        return bool(np.all(known == known[:1]))

    def cells(self) -> Counts:
        """Return the number of units of each group in each stratum (groups, strata)."""
        strata = np.zeros(len(self.groups), dtype=np.int64) if self.strata is None else self.strata
        width = int(strata.max()) + 1 if len(strata) else 1
        flat = np.bincount(self.groups * width + strata, minlength=self.n_groups * width)
        return flat.reshape(self.n_groups, width).astype(np.int64)

    @cached_property
    def log_deals(self) -> float:
        """Return the logarithm of the number of different permutations of units between groups, within strata."""
        cells = self.cells()
        return float(np.sum(gammaln(cells.sum(axis=0) + 1) - gammaln(cells + 1).sum(axis=0)))

    def log_choices(self) -> Floats:
        """Return the logarithm of the number of different selections of each group's units, within strata (groups,)."""
        cells = self.cells().astype(np.float64)
        whole = cells.sum(axis=0)
        ways = gammaln(whole + 1) - gammaln(cells + 1) - gammaln(whole - cells + 1)
        return np.asarray(ways.sum(axis=1))

    def group_means(self, values: Floats) -> Floats:
        """Return the means of other values (units,) over the units of each group (groups,); NaN without units."""
        sums = np.bincount(self.groups, weights=values, minlength=self.n_groups)
        sizes = self.sizes
        return np.asarray(np.divide(sums, sizes, out=np.full(self.n_groups, np.nan), where=sizes > 0))

    def residuals(self) -> Floats:
        """Return the values minus the effects of group and stratum (units,)."""
        if self.strata is None:
            return np.asarray(self.values - self.group_means(self.values)[self.groups])
        if self.is_balanced:
            centred = self.stratum_deviations
            return np.asarray(centred - self.group_means(centred)[self.groups])
        left = self.values - self.means[self.groups]
        return np.asarray(
            left - (np.bincount(self.strata, weights=left) / np.bincount(self.strata))[self.strata]
        )

    def _adjust_for_strata(self, plain: Floats) -> Floats:
        """Return group means of the additive fit of group + stratum, shifted so that they average to the mean of all
        units.
        """
        assert self.strata is not None
        counts = np.maximum(np.bincount(self.strata), 1)
        means = np.nan_to_num(plain)
        for _ in range(200):
            stratum = np.bincount(self.strata, weights=self.values - means[self.groups]) / counts
            new = np.nan_to_num(self.group_means(self.values - stratum[self.strata]))
            change = float(np.abs(new - means).max())
            means = new
            if change < 1e-10:
                break
        means = means + (self.values.mean() - means[self.groups].mean())
        return np.where(np.isnan(plain), np.nan, means)


def arrangements(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all different orders of `counts[0]` zeros, `counts[1]` ones, and so on.

    >>> list(arrangements((2, 1)))
    [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    """
    length = sum(counts)
    if length == 0:
        yield ()
        return

    def place(group: int, free: tuple[int, ...], labels: list[int]) -> Iterator[tuple[int, ...]]:
        if group == len(counts) - 1:
            yield tuple(labels)
            return
        for chosen in combinations(free, counts[group]):
            for spot in chosen:
                labels[spot] = group
            rest = tuple(spot for spot in free if spot not in chosen)
            yield from place(group + 1, rest, labels)
            for spot in chosen:
                labels[spot] = len(counts) - 1

    yield from place(0, tuple(range(length)), [len(counts) - 1] * length)


def exchangeable(units: Units, contrasts: Floats | None) -> Codes:
    """Return codes (contrasts,) that are equal for exchangeable contrasts.

    Contrasts are exchangeable if their groups have the same numbers of units in each stratum. None: each group minus
    the others.
    """
    kind = np.asarray(np.unique(units.cells(), axis=0, return_inverse=True)[1]).ravel().astype(np.int64)
    if contrasts is None:
        return kind
    names: dict[tuple[tuple[float, float], ...], int] = {}
    codes = np.empty(len(contrasts), dtype=np.int64)
    for place, row in enumerate(contrasts):
        part = np.flatnonzero(row)
        # The sign of a contrast does not matter, because first minus second and second minus first have the same |z|.
        ways = [
            tuple(sorted(zip(sign * row[part], kind[part].astype(float), strict=True))) for sign in (1, -1)
        ]
        codes[place] = names.setdefault(min(ways), len(names))
    return codes
