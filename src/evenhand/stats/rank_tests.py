"""Wilcoxon's signed-rank test for many rows of paired differences at once, exact where it can be.

scipy.stats.wilcoxon(axis=1) gives the same p, if it is told row by row which are exact; but it takes 4 to 13 times as
long for the 26,290 pairs of one axis, and 500 times where numbers are missing, because it then goes row by row.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from evenhand.schema import UsageError
from evenhand.stats.arrays import Flags, Floats, Indices

Keys = npt.NDArray[np.uint64]

EXACT_UP_TO = 60
"""Largest number of differences for which the exact null distribution is used."""
_CHUNK = 1 << 21  # differences held at once: about 100 MB with all intermediates
_ABSENT = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # sorts after every finite difference


def signed_rank(differences: npt.ArrayLike, *, margin: float = 0.0) -> tuple[Floats, Floats]:
    """Two-sided signed-rank test of every row of paired differences.

    A row without zeros or ties and with at most 60 differences gets the exact p; any other the
    normal approximation with zeros dropped and ties corrected (what scipy calls
    zero_method="wilcox", method="asymptotic", no continuity correction).

    With `margin` > 0 the null is that the location lies within [-margin, margin]. Two one-sided
    tests are made, of x - margin > 0 and of x + margin < 0, and p = min(1, 2 min(p_up, p_down)).
    Differences are taken to be symmetric around their location. If the null is true, that is neither
    above margin nor below -margin, so each of the two p is at least uniformly distributed, and
    doubling the smaller keeps the level (Bonferroni for two). At margin = 0 this is the ordinary
    two-sided test.

    Arguments: `differences` (m, n) or (n,), NaN for missing pairs, which are ignored; `margin` in
    the unit of the differences. Returns (statistic, p), each (m,): the smaller of the two rank sums
    that speak against a shift up and down. A row whose differences are all zero gives 0 and p = 1;
    a row of NaN gives NaN. Raises UsageError for a negative margin or infinite differences.
    Memory stays below about 300 MB whatever m is. Source: Wilcoxon 1945.

    >>> statistic, p = signed_rank([[1.0, 2.0, 3.0, 4.0, -0.5], [0.3, -0.2, 0.1, -0.4, 0.0]])
    >>> statistic.tolist(), p.round(4).tolist()
    ([1.0, 4.0], [0.125, 0.715])
    """
    rows = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    if rows.ndim != 2:
        raise UsageError(
            f"signed_rank was given an array of {rows.ndim} dimensions; it needs (rows, differences)."
        )
    if not margin >= 0.0 or np.isinf(margin):
        raise UsageError(f"margin is {margin}; it needs a number of 0 or more, in the differences' unit.")
    count, width = rows.shape
    statistic, p = np.full(count, np.nan), np.full(count, np.nan)
    step = max(1, _CHUNK // max(1, width))
    for start in range(0, count, step):
        block = rows[start : start + step]
        if np.isinf(block).any():
            raise UsageError(
                f"signed_rank was given infinite differences (rows {start} to {start + len(block) - 1}).",
                "Mark what could not be measured as NaN.",
            )
        places = slice(start, start + len(block))
        statistic[places], p[places] = _two_sided(block, margin)
    return statistic, p


def _two_sided(block: Floats, margin: float) -> tuple[Floats, Floats]:
    if margin == 0.0:
        against_up, against_down, total, spread, exact = _rank_sums(block)
        statistic = np.minimum(against_up, against_down)
        p = _lower_tail(statistic, total, spread, exact)
    else:
        _, against_up, total, spread, exact = _rank_sums(block - margin)
        p_up = _lower_tail(against_up, total, spread, exact)
        against_down, _, total, spread, exact = _rank_sums(block + margin)
        p_down = _lower_tail(against_down, total, spread, exact)
        statistic, p = np.minimum(against_up, against_down), np.minimum(p_up, p_down)
    nothing = np.isnan(block).all(axis=1)
    p = np.minimum(2.0 * p, 1.0)
    statistic[nothing], p[nothing] = np.nan, np.nan
    return statistic, p


def _rank_sums(block: Floats) -> tuple[Floats, Floats, Indices, Floats, Flags]:
    """Rank sums of the positive and the negative differences, their number without zeros, their
    null standard deviation, and whether the exact distribution applies."""
    width = block.shape[1]
    # Rotating a float's bits left by one puts the magnitude above the sign, so that sorting plain
    # integers ranks |x| and carries the sign along: several times faster than an argsort.
    bits = np.ascontiguousarray(block).view(np.uint64)
    keys: Keys = (bits << np.uint64(1)) | (bits >> np.uint64(63))
    keys[np.isnan(block)] = _ABSENT
    keys.sort(axis=1)
    present = np.count_nonzero(keys != _ABSENT, axis=1)
    zeros = np.count_nonzero(keys <= 1, axis=1)  # +0.0 and -0.0
    negative = (keys & np.uint64(1)).astype(bool)
    keys >>= np.uint64(1)
    total = present - zeros
    tied = _has_ties(keys, present, zeros)
    positive_sum = _positive_rank_sum(negative, present, zeros, width)
    correction = np.zeros(len(block))
    if tied.any():
        positive_sum[tied], correction[tied] = _with_average_ranks(
            keys[tied], negative[tied], present[tied], zeros[tied]
        )
    n = total.astype(np.float64)
    rank_total = n * (n + 1.0) / 2.0
    spread = np.sqrt((n * (n + 1.0) * (2.0 * n + 1.0) - correction / 2.0) / 24.0)
    exact = ~tied & (zeros == 0) & (total <= EXACT_UP_TO)
    return positive_sum, rank_total - positive_sum, total, spread, exact


def _has_ties(magnitudes: Keys, present: Indices, zeros: Indices) -> Flags:
    equal = np.count_nonzero(magnitudes[:, 1:] == magnitudes[:, :-1], axis=1)
    missing = magnitudes.shape[1] - present
    # zeros are equal among themselves, and so are absent ones; neither are ties among ranked values
    expected = np.maximum(zeros - 1, 0) + np.maximum(missing - 1, 0)
    return np.asarray(equal > expected)


def _positive_rank_sum(negative: Flags, present: Indices, zeros: Indices, width: int) -> Floats:
    places = np.arange(1, width + 1, dtype=np.float64)
    if not zeros.any() and np.all(present == width):
        return np.asarray((~negative).astype(np.float64) @ places)
    ranks = places - zeros[:, None]
    ranked = (ranks > 0) & (places <= present[:, None])
    return np.asarray(np.where(ranked & ~negative, ranks, 0.0).sum(axis=1))


def _with_average_ranks(
    magnitudes: Keys,
    negative: Flags,
    present: Indices,
    zeros: Indices,
) -> tuple[Floats, Floats]:
    """Rank sum of the positive differences, equal ones sharing their mean rank, and the sum of t³ - t
    over runs of t equal ones."""
    rows, width = magnitudes.shape
    places = np.arange(width)
    starts = np.ones((rows, width), dtype=bool)
    starts[:, 1:] = magnitudes[:, 1:] != magnitudes[:, :-1]
    ends = np.ones((rows, width), dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, places, width)[:, ::-1], axis=1)[:, ::-1]
    ranked = (places >= zeros[:, None]) & (places < present[:, None])
    ranks = (first + last) / 2.0 + 1.0 - zeros[:, None]
    length = (last - first + 1).astype(np.float64)
    positive_sum = np.where(ranked & ~negative, ranks, 0.0).sum(axis=1)
    # every member of a run of t adds t² - 1, together t³ - t
    return positive_sum, np.where(ranked, length**2 - 1.0, 0.0).sum(axis=1)


def _lower_tail(rank_sum: Floats, total: Indices, spread: Floats, exact: Flags) -> Floats:
    """Chance of a rank sum this small or smaller if signs are random."""
    n = total.astype(np.float64)
    centred = rank_sum - n * (n + 1.0) / 4.0
    # no difference left: nothing speaks against the null, and 0/0 is to be read as 0
    p = ndtr(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0))
    p[total == 0] = 1.0
    if exact.any():
        table = _exact_cumulative()
        p[exact] = table[total[exact], rank_sum[exact].astype(np.intp)]
    return np.asarray(p)


@lru_cache(maxsize=1)
def _exact_cumulative() -> Floats:
    """Cumulative null distribution of the rank sum for each number of differences up to EXACT_UP_TO."""
    widest = EXACT_UP_TO * (EXACT_UP_TO + 1) // 2 + 1
    table = np.zeros((EXACT_UP_TO + 1, widest))
    table[0, 0] = 1.0
    for n in range(1, EXACT_UP_TO + 1):
        table[n] = table[n - 1] / 2.0
        table[n, n:] += table[n - 1, :-n] / 2.0  # rank n is positive or not, each with chance 1/2
    return np.minimum(np.cumsum(table, axis=1), 1.0)
