"""Exact one-sided tests of many groups at once: against a known rate, and against all other groups together.

Groups of equal size share one table of tail probabilities, so that hundreds of groups cost as much as a few, and
thousands of simulated audits as much as one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrc, betaincinv

from evenhand.stats.arrays import Counts, Flags, Floats, Indices, log_choose
from evenhand.stats.power import POWER


@dataclass(frozen=True)
class Tails:
    """Tail probabilities of a group's count of negatives if the group is like the background.

    `above` is the chance of at least `negatives`, `below` of at most, and `offsets` where each group's
    part of these flat tables begins.
    """

    above: Floats
    below: Floats
    offsets: Indices

    def p_above(self, negatives: Counts) -> Floats:
        """p of "the rate is no higher than the background"; `negatives` (..., groups)."""
        return np.asarray(self.above[self.offsets + negatives])

    def p_below(self, negatives: Counts) -> Floats:
        """p of "the rate is no lower than the background"; `negatives` (..., groups)."""
        return np.asarray(self.below[self.offsets + negatives])


def tails_of_others(totals: Counts, negatives: int) -> Tails:
    """Fisher's exact test of each group against all others, whose pooled rate is itself uncertain.

    Arguments: `totals` (groups,), outcomes; `negatives`, the sum over groups. If no group differs, each
    group's count is hypergeometric. Returns Tails. Source: Fisher 1935, section 21.01.

    >>> tails_of_others(np.array([8, 8]), 8).p_above(np.array([6, 2])).round(4).tolist()
    [0.066, 0.9949]
    """
    population = int(totals.sum())
    return _tabulate(totals, lambda size: _hypergeometric(population, negatives, size))


def tails_of_rate(totals: Counts, rate: float) -> Tails:
    """Exact binomial test of each group against a known rate, 0 to 1.

    >>> tails_of_rate(np.array([10]), 0.5).p_above(np.array([9])).round(4).tolist()
    [0.0107]
    """
    return _tabulate(totals, lambda size: _binomial(size, rate))


def detectable_above(
    totals: npt.ArrayLike,
    background: npt.ArrayLike,
    level: float,
    *,
    others: npt.ArrayLike | None = None,
    power: float = POWER,
) -> Floats:
    """The smallest rate above the background that an exact one-sided test would reveal.

    totals: (groups,), outcomes of each group. background: (groups,), rates of the others, 0 to 1. level: p that a
    group must reach. others: (groups,), outcomes behind the background; None where it is known. power: chance of
    revealing it. Returns rates, (groups,); NaN where not even a rate of 1 would do. A rate near 0 needs more
    than a normal approximation: among 43 groups of five outcomes without any negative, a group is found from two
    negatives on, that is, in 80 % of cases from a rate of 49 %.

    >>> detectable_above([5], [0.0], 0.05 / 43, others=[210]).round(2).tolist()
    [0.49]
    """
    n, rate = np.asarray(totals, dtype=np.int64), np.asarray(background, dtype=np.float64)

    def reached(count: Counts) -> Flags:
        null = rate if others is None else (rate * np.asarray(others) + count) / (np.asarray(others) + n)
        return np.asarray(bdtrc(count - 1, n, np.minimum(null, 1.0)) <= level)

    low, high = np.zeros_like(n), n.copy()  # the fewest negatives that are enough lie in (low, high]
    possible = (n > 0) & reached(np.maximum(n, 1))
    while np.any(high - low > 1):
        middle = (low + high + 1) // 2
        enough = reached(np.maximum(middle, 1))
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    return np.asarray(np.where(possible, betaincinv(np.maximum(high, 1), n - high + 1, power), np.nan))


def _tabulate(totals: Counts, tails_of_size: Callable[[int], tuple[Floats, Floats]]) -> Tails:
    sizes, place = np.unique(totals, return_inverse=True)
    tables = [tails_of_size(int(size)) for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]]).astype(np.intp)
    above = np.concatenate([table[0] for table in tables])
    below = np.concatenate([table[1] for table in tables])
    return Tails(np.minimum(above, 1.0), np.minimum(below, 1.0), starts[place])


def _hypergeometric(population: int, negatives: int, size: int) -> tuple[Floats, Floats]:
    counts = np.arange(size + 1)
    others = population - size
    possible = (counts <= negatives) & (negatives - counts <= others)
    inside = np.where(possible, counts, min(size, negatives))
    logarithm = np.where(possible, log_choose(size, inside) + log_choose(others, negatives - inside), -np.inf)
    chance = np.exp(logarithm - logarithm.max())
    chance /= chance.sum()
    return np.cumsum(chance[::-1])[::-1], np.cumsum(chance)


def _binomial(size: int, rate: float) -> tuple[Floats, Floats]:
    counts = np.arange(size + 1)
    if size == 0:
        return np.ones(1), np.ones(1)
    at_least = np.where(counts > 0, bdtrc(np.maximum(counts - 1, 0), size, rate), 1.0)
    return at_least, np.asarray(bdtr(counts, size, rate))
