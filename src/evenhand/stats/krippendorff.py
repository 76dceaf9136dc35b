"""Compute Krippendorff's alpha: agreement of any number of raters beyond chance, with missing ratings.

The disagreement of a unit is a mean over its pairs of ratings. Alpha of many resamples of units is therefore a
product of matrices. One row per unit, with the count of each value, is all that is needed.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import stdtrit

from evenhand.schema import checked_kinds
from evenhand.stats.arrays import Floats, Indices
from evenhand.stats.intervals import Interval

MeasurementLevel = Literal["nominal", "ordinal", "interval"]
"""Level of measurement of ratings, which determines the distance between two ratings."""
RESAMPLES = 2000
LEAST_AGREEING = 3
"""Minimum number of items on which raters agree on a value other than the most common one.

With fewer, a bootstrap over items underestimates the error of alpha.
"""
Counts = Any
"""A sparse array (units, values), because most values occur in few units."""
CELLS = 1 << 21
"""Largest number of floats in memory at a time while resampling (16 MB)."""


@checked_kinds
def krippendorff_alpha(
    ratings: ArrayLike,
    measurement: MeasurementLevel = "nominal",
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return Krippendorff's alpha with a bootstrap confidence interval.

    Use it to measure the agreement of any number of raters beyond chance, with missing ratings. For two raters and 0/1
    verdicts, `kappa` is simpler.

    Parameters
    ----------
    ratings : array_like, shape (raters, units)
        Ratings, one row per rater and one column per unit (what is rated, such as a text); NaN marks a missing one.
    measurement : {"nominal", "ordinal", "interval"}, default "nominal"
        How the difference of two ratings is measured: equal or not ("nominal"), by the number of ratings between them
        ("ordinal"), or by their squared distance ("interval").
    level : float, default 0.95
        Confidence level.
    resamples : int, default 2000
        Number of bootstrap resamples of units. Resamples in which all ratings are equal have no alpha and are left out.
    seed : int, default 0
        Random seed.

    Returns
    -------
    Interval
        - ``estimate``: alpha. 1 is perfect agreement, 0 is agreement by chance, and less than 0 is systematic
          disagreement. NaN if no unit has two ratings or all ratings are equal.
        - ``low``, ``high``: NaN in these cases, with fewer than two units, and if the rarer values are too rare (see
          Notes).
        - ``clusters``: number of units with two or more ratings. Other units carry no information and are left out.
        - ``n``: number of their ratings.

    Raises
    ------
    UsageError
        The measurement is unknown.

    Notes
    -----
    The interval consists of percentiles of the resampled alphas, with two corrections:

    - If no unit disagrees, no resample disagrees either. The lower bound then assumes that some disagreeing units were
      missed: as many as Clopper-Pearson allows, each with one dissenting rater.
    - For nominal values, or for any two values, the interval is at least as wide as the jackknife interval of log(1 -
      alpha). Its Student's t uses the number of units with a value other than the most common one. There is no interval
      if fewer than three units (`LEAST_AGREEING`) have two equal ratings of such a value, because it would cover only
      70 to 90%.

    In simulations of 20 to 200 units, including values with a share of 2 to 10%, the 95% intervals that are reported
    cover the true value in 91% of cases or more (tests/stats/test_krippendorff.py).

    References
    ----------
    - Krippendorff 2019, Content Analysis, chapter 12.
    - Zapf et al. 2016: bootstrap over units.

    Examples
    --------
    >>> ratings = [[1, 0, 1, 1, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 1, 0, 0, np.nan]]
    >>> round(krippendorff_alpha(ratings).estimate, 4)
    0.5556
    >>> krippendorff_alpha(ratings).low, round(krippendorff_alpha(np.repeat(ratings, 9, axis=1)).low, 1)
    (nan, 0.3)
    """
    table = np.atleast_2d(np.asarray(ratings, dtype=np.float64))
    values, counts = _counts(table)
    units, n = counts.shape[0], int(counts.sum())
    alphas = _alphas(values, counts, measurement)
    estimate = float(alphas(np.ones((1, units)))[0]) if units else float("nan")
    coarse = measurement == "nominal" or len(values) == 2
    too_rare = coarse and _agreeing(counts) < LEAST_AGREEING
    if units < 2 or np.isnan(estimate) or too_rare:
        return Interval(estimate, float("nan"), float("nan"), float("nan"), units, n)
    generator = np.random.default_rng(seed)
    block = max(1, CELLS // max(units, len(values) * (1 if measurement == "nominal" else 2)))
    drawn = np.concatenate(
        [
            alphas(generator.multinomial(units, np.full(units, 1 / units), min(block, resamples - start)))
            for start in range(0, resamples, block)
        ]
    )
    known = drawn[~np.isnan(drawn)]
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else (np.nan, np.nan)
    if estimate == 1.0:
        low = _lowest_of_perfect(counts, level)
    elif coarse:
        lowest, highest = _by_jackknife(counts, alphas, estimate, level, block)
        low, high = min(low, lowest), max(high, highest)
    return Interval(estimate, float(low), float(high), float(known.std()), units, n)


def alpha_estimate(ratings: ArrayLike, measurement: MeasurementLevel = "nominal") -> float:
    """Return alpha without an interval (see `krippendorff_alpha`); NaN if no unit has two ratings or all are equal.

    >>> round(alpha_estimate([[1, 0, 1, 1, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 1, 0, 0, np.nan]]), 4)
    0.5556
    """
    values, counts = _counts(np.atleast_2d(np.asarray(ratings, dtype=np.float64)))
    units = counts.shape[0]
    return float(_alphas(values, counts, measurement)(np.ones((1, units)))[0]) if units else float("nan")


def _agreeing(counts: Counts) -> int:
    """Return the number of units in which two or more ratings are equal and not the most common value."""
    if not counts.nnz:
        return 0
    units, values = counts.nonzero()
    several = (counts.data > 1) & (values != counts.sum(axis=0).argmax())
    return len(np.unique(units[several]))


def _by_jackknife(
    counts: Counts, alphas: Callable[[ArrayLike], Floats], estimate: float, level: float, block: int
) -> tuple[float, float]:
    """Return the bounds of alpha from a jackknife of log(1 - alpha) over units.

    Units with the same ratings are computed only once. `block` is the number of units that are left out at a time.
    """
    n = counts.shape[0]
    first, same = _distinct(counts)
    left = []
    for start in range(0, len(first), block):
        part = first[start : start + block]
        weights = np.ones((len(part), n))
        weights[np.arange(len(part)), part] = 0.0
        left.append(alphas(weights))
    without = np.log(np.maximum(1 - np.concatenate(left), 1e-9))
    known = ~np.isnan(without)
    without, same = without[known], same[known]
    away = without - np.average(without, weights=same)
    error = float(np.sqrt((n - 1) / n * (same * away**2).sum()))
    commonest = counts[:, [int(counts.sum(axis=0).argmax())]].sum(axis=1)
    rare = int((commonest < counts.sum(axis=1)).sum())
    half = float(stdtrit(max(rare - 1, 1), (1 + level) / 2)) * error
    middle = float(np.log(1 - estimate))
    return max(-1.0, 1 - float(np.exp(middle + half))), 1 - float(np.exp(middle - half))


def _distinct(counts: Counts) -> tuple[Indices, Indices]:
    """Return the first unit with each set of ratings, and the number of units with this set."""
    counts.sort_indices()
    kinds: dict[tuple[bytes, bytes], list[int]] = {}
    for unit, (start, end) in enumerate(pairwise(counts.indptr.tolist())):
        kind = counts.indices[start:end].tobytes(), counts.data[start:end].tobytes()
        kinds.setdefault(kind, []).append(unit)
    return np.array([units[0] for units in kinds.values()]), np.array(
        [len(units) for units in kinds.values()]
    )


def _lowest_of_perfect(counts: Counts, level: float) -> float:
    """Return the lower bound if all units agree, assuming that some disagreeing units were missed (Clopper-Pearson).

    In a unit of m ratings with one dissenter, the share 2/m of pairs is unequal. The expected distance of unequal
    values is the same within and between units, so the level of measurement has no effect.
    """
    units, n = counts.shape[0], counts.sum()
    share = 1 - ((1 - level) / 2) ** (1 / units)
    totals = counts.sum(axis=0)
    unequal = 1 - (totals * (totals - 1)).sum() / (n * (n - 1))
    return max(-1.0, float(1 - share * 2 * units / n / unequal))


def _counts(table: Floats) -> tuple[Floats, Counts]:
    """Return the distinct values in ascending order, and their counts in each unit with two or more ratings (units,
    values).
    """
    rated = ~np.isnan(table)
    table = table[:, rated.sum(axis=0) > 1]
    values, codes = np.unique(table[~np.isnan(table)], return_inverse=True)
    _, units = np.nonzero(~np.isnan(table))
    shape = (table.shape[1], len(values))
    return values, sparse.coo_array((np.ones(len(codes)), (units, codes)), shape).tocsr()


def _alphas(values: Floats, counts: Counts, measurement: MeasurementLevel) -> Callable[[ArrayLike], Floats]:
    """Return a function from weights of units (resamples, units) to alpha (resamples,)."""
    size = counts.sum(axis=1)
    shares = 1 / (size - 1)

    def nominal(weights: Floats, totals: Floats) -> tuple[Floats, Floats]:
        within = (size**2 - counts.power(2).sum(axis=1)) * shares
        return weights @ within, totals.sum(axis=1) ** 2 - (totals**2).sum(axis=1)

    def interval(weights: Floats, totals: Floats) -> tuple[Floats, Floats]:
        # scaled, because squares could overflow
        scaled = values / max(np.abs(values).max(), np.finfo(np.float64).tiny)
        centred = scaled - scaled.mean()
        within = 2 * (size * (counts @ centred**2) - (counts @ centred) ** 2) * shares
        among = 2 * (totals.sum(axis=1) * (totals @ centred**2) - (totals @ centred) ** 2)
        return weights @ within, among

    def ordinal(weights: Floats, totals: Floats) -> tuple[Floats, Floats]:
        # the distance of two values is that of their middle ranks, which depend on the resample
        ranks = np.cumsum(totals, axis=1) - totals / 2
        ranks -= ranks.mean(axis=1, keepdims=True)
        squares, sums = counts @ (ranks**2).T, counts @ ranks.T
        within = 2 * (size[:, None] * squares - sums**2) * shares[:, None]
        among = 2 * (totals.sum(axis=1) * (totals * ranks**2).sum(axis=1) - (totals * ranks).sum(axis=1) ** 2)
        return (weights * within.T).sum(axis=1), among

    of = {"nominal": nominal, "ordinal": ordinal, "interval": interval}[measurement]

    def alphas(weights: ArrayLike) -> Floats:
        weighted = np.asarray(weights, dtype=np.float64)
        totals = weighted @ counts
        observed, expected = of(weighted, totals)
        several = (totals > 0).sum(axis=1) > 1
        ratio = np.divide(observed, expected, out=np.full(len(totals), np.nan), where=several)
        return np.asarray(1 - (totals.sum(axis=1) - 1) * ratio)

    return alphas
