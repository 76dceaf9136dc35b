"""Effect sizes: probability of superiority, Cohen's d_z, risk difference, risk ratio and odds ratio."""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from evenhand.schema import UsageError, checked_kinds
from evenhand.stats.arrays import Floats
from evenhand.stats.intervals import Interval, wilson_interval


@checked_kinds
def superiority_paired(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the share of pairs in which the first value is larger; ties count half.

    Use it as an effect size of a paired comparison that does not depend on the unit or on outliers.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Paired values. Pairs with a missing value (NaN) are left out.

    Returns
    -------
    float
        Share of pairs; 0.5 means no difference. NaN if no pair is complete.

    Raises
    ------
    UsageError
        The shapes differ.

    References
    ----------
    - Grissom & Kim 2012: dependent groups.

    Examples
    --------
    >>> superiority_paired([3.0, 2.0, 1.0, 5.0], [1.0, 2.0, 2.0, 1.0])
    0.625
    """
    difference = _paired_differences(first, second)
    return float((difference > 0).mean() + (difference == 0).mean() / 2) if difference.size else float("nan")


@checked_kinds
def superiority_unpaired(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the probability that a random first value exceeds a random second one; ties count half.

    Use it as an effect size of two independent groups that does not depend on the unit or on outliers.

    Parameters
    ----------
    first : array_like, shape (n,)
        Values of the first group; NaN is left out.
    second : array_like, shape (m,)
        Values of the second group; NaN is left out.

    Returns
    -------
    float
        Probability; 0.5 means no difference. NaN if either group is empty.

    Notes
    -----
    This is Mann-Whitney's U divided by the number of pairs, and the area under the ROC curve.

    References
    ----------
    - McGraw & Wong 1992.
    - Vargha & Delaney 2000, eq. 1.

    Examples
    --------
    >>> superiority_unpaired([1.0, 3.0], [0.0, 1.0, 2.0])
    0.75
    """
    one, other = _without_nan(first), np.sort(_without_nan(second))
    if not one.size or not other.size:
        return float("nan")
    below = np.searchsorted(other, one, side="left")
    not_above = np.searchsorted(other, one, side="right")
    return float((below + not_above).sum() / (2 * one.size * other.size))


@checked_kinds
def cohens_dz(first: npt.ArrayLike, second: npt.ArrayLike | float = 0.0) -> float:
    """Return Cohen's d_z: the mean paired difference divided by the standard deviation of the differences.

    Use it as an effect size of a paired comparison. Unlike t, it does not grow with the number of pairs.

    Parameters
    ----------
    first : array_like, shape (n,)
        Values, or differences if `second` is 0. NaN is left out.
    second : array_like, shape (n,), or 0, default 0
        Paired values.

    Returns
    -------
    float
        d_z of first minus second; positive if the first values are larger. NaN with fewer than two pairs, or if
        all differences are equal.

    Raises
    ------
    UsageError
        The shapes differ.

    Notes
    -----
    With n pairs, t = d_z √n.

    References
    ----------
    - Cohen 1988, section 2.3.5.
    - Lakens 2013.

    Examples
    --------
    >>> round(cohens_dz([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]), 3)
    2.0
    """
    difference = _paired_differences(first, second)
    if difference.size < 2:
        return float("nan")
    spread = float(difference.std(ddof=1))
    # sums of equal numbers can differ from their multiple by rounding: that is no spread
    noise = 1e-14 * float(np.abs(difference).max())
    return float(difference.mean()) / spread if spread > noise else float("nan")


@checked_kinds
def median_log_ratio(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the median of ln(first / second) over pairs.

    Use it to compare positive values such as perplexities, without influence of extreme pairs.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Paired positive values. Pairs with a missing value (NaN) are left out.

    Returns
    -------
    float
        Median in natural-log units: 0.1 means that the first value is typically about 10% larger. NaN if no
        pair is complete.

    Raises
    ------
    UsageError
        A value is 0 or less, or the shapes differ.

    Examples
    --------
    >>> round(median_log_ratio([2.0, 4.0, 8.0], [1.0, 1.0, 1.0]), 4)
    1.3863
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if np.any(one <= 0) or np.any(other <= 0):
        raise UsageError(
            "A log ratio needs values above 0, but first or second contains 0 or a negative value.",
            "Remove these values, or compare differences.",
        )
    difference = _paired_differences(np.log(one), np.log(other))
    return float(np.median(difference)) if difference.size else float("nan")


@checked_kinds
def risk_difference(
    successes: int, total: int, other_successes: int, other_total: int, level: float = 0.95
) -> Interval:
    """Return the difference of two independent proportions, first minus other, with Newcombe's interval.

    Use it to compare two groups with independent outcomes. For clustered outcomes, use `cluster_bootstrap`.

    Parameters
    ----------
    successes, total : int
        Number of successes and of outcomes in the first group.
    other_successes, other_total : int
        Number of successes and of outcomes in the other group.
    level : float, default 0.95
        Confidence level.

    Returns
    -------
    Interval
        Difference with its interval, as proportions; 0 means equal proportions, above 0 that the first is
        higher.

    Raises
    ------
    UsageError
        A count is negative or larger than its total, or a total is 0.

    References
    ----------
    - Newcombe 1998, method 10.

    Examples
    --------
    >>> result = risk_difference(56, 70, 48, 80)
    >>> round(result.estimate, 4), round(result.low, 4), round(result.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    table = _table(successes, total, other_successes, other_total)
    one, other = successes / total, other_successes / other_total
    low, high = wilson_interval([successes, other_successes], [total, other_total], level)
    estimate = one - other
    return Interval(
        estimate,
        estimate - float(np.hypot(one - low[0], high[1] - other)),
        estimate + float(np.hypot(high[0] - one, other - low[1])),
        float(np.sqrt(one * (1 - one) / total + other * (1 - other) / other_total)),
        total + other_total,
        int(table.sum()),
    )


@checked_kinds
def risk_ratio(
    successes: int, total: int, other_successes: int, other_total: int, level: float = 0.95
) -> Interval:
    """Return the ratio of two independent proportions, first over other, with Katz's log interval.

    Use it to compare two groups with small proportions. A ratio of 2 means that the first proportion is twice the
    other.

    Parameters
    ----------
    successes, total, other_successes, other_total, level
        Counts of both groups, and confidence level, as in `risk_difference`.

    Returns
    -------
    Interval
        Ratio with its interval; 1 means equal proportions. The standard error is that of the logarithm.

    Raises
    ------
    UsageError
        A count is negative or larger than its total, or a total is 0.

    Notes
    -----
    If a group has no success, 1/2 is added to both groups' successes and 1 to their totals, so that the ratio is
    finite.

    References
    ----------
    - Katz et al. 1978.
    - Walter 1975: the correction.

    Examples
    --------
    >>> result = risk_ratio(20, 100, 10, 100)
    >>> round(result.estimate, 3), round(result.low, 3), round(result.high, 3)
    (2.0, 0.987, 4.054)
    """
    table = _table(successes, total, other_successes, other_total)
    if not (successes and other_successes):
        table = table + 0.5
    hits, totals = table[:, 0], table.sum(axis=1)
    log_ratio = float(np.log(hits[0] / totals[0]) - np.log(hits[1] / totals[1]))
    error = float(np.sqrt((1 / hits - 1 / totals).sum()))
    return _from_log(log_ratio, error, level, total + other_total)


@checked_kinds
def odds_ratio(
    successes: int, total: int, other_successes: int, other_total: int, level: float = 0.95
) -> Interval:
    """Return the ratio of two independent odds, first over other, with Woolf's log interval.

    Use it to compare two groups if the result must not depend on which outcome counts as success.

    Parameters
    ----------
    successes, total, other_successes, other_total, level
        Counts of both groups, and confidence level, as in `risk_difference`.

    Returns
    -------
    Interval
        Ratio with its interval; 1 means equal odds. The standard error is that of the logarithm.

    Raises
    ------
    UsageError
        A count is negative or larger than its total, or a total is 0.

    Notes
    -----
    If any of the four counts of successes and failures is 0, 1/2 is added to all four (the Haldane-Anscombe
    correction).

    References
    ----------
    - Woolf 1955.
    - Haldane 1956.

    Examples
    --------
    >>> result = odds_ratio(20, 100, 10, 100)
    >>> round(result.estimate, 3), round(result.low, 3), round(result.high, 3)
    (2.25, 0.994, 5.092)
    """
    table = _table(successes, total, other_successes, other_total)
    if np.any(table == 0):
        table = table + 0.5
    log_ratio = float(np.log(table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])))
    return _from_log(log_ratio, float(np.sqrt((1 / table).sum())), level, total + other_total)


def _from_log(log_ratio: float, error: float, level: float, n: int) -> Interval:
    half = float(ndtri(0.5 + level / 2)) * error
    limits = np.exp([log_ratio, log_ratio - half, log_ratio + half])
    return Interval(float(limits[0]), float(limits[1]), float(limits[2]), error, n, n)


def _table(successes: int, total: int, other_successes: int, other_total: int) -> Floats:
    if not (0 <= successes <= total and 0 <= other_successes <= other_total and total and other_total):
        raise UsageError(
            f"Cannot compare the counts {successes}/{total} and {other_successes}/{other_total}.",
            "Each needs 0 <= successes <= total, and a total above 0.",
        )
    return np.array(
        [[successes, total - successes], [other_successes, other_total - other_successes]], dtype=np.float64
    )


def _paired_differences(first: npt.ArrayLike, second: npt.ArrayLike | float) -> Floats:
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if other.ndim and one.shape != other.shape:
        raise UsageError(
            f"Paired values must have the same shape, got {one.shape} and {other.shape}.",
            "Give two values for every pair, one in each array.",
        )
    return _without_nan(one - other)


def _without_nan(values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[~np.isnan(array)]
