"""Compute differences and ratios of two rates from their intervals, however these were computed."""

from dataclasses import dataclass

import numpy as np

from evenhand.schema import checked
from evenhand.stats.arrays import Floats


@dataclass(frozen=True)
class Limited:
    """Rates with their confidence intervals; also differences and ratios of rates.

    Argument and result of `difference_of_rates` and `ratio_of_rates`.

    Attributes
    ----------
    rate : numpy.ndarray, shape (n,)
        Rates as proportions (0 to 1), or their differences (-1 to 1) or ratios.
    low, high : numpy.ndarray, shape (n,)
        Lower and upper bounds, in the same unit.
    """

    rate: Floats
    low: Floats
    high: Floats


@checked
def difference_of_rates(first: Limited, second: Limited) -> Limited:
    """Return the difference of independent rates, first minus second, with its interval.

    Use it if you have two rates with intervals, however these were computed.

    Parameters
    ----------
    first, second : Limited, shape (n,)
        Rates with their intervals, however these were computed.

    Returns
    -------
    Limited
        Differences, first minus second, as proportions. Their intervals have the level of the intervals of both rates.

    Notes
    -----
    The interval is derived from the intervals of both rates (MOVER). With Wilson's intervals it is Newcombe's interval.

    References
    ----------
    - Newcombe 1998, method 10.
    - Zou & Donner 2008: MOVER.

    Examples
    --------
    >>> limits = Limited(np.array([0.8]), np.array([0.692]), np.array([0.877]))
    >>> other = Limited(np.array([0.6]), np.array([0.49]), np.array([0.7]))
    >>> difference_of_rates(limits, other).low.round(3).tolist()
    [0.053]
    """
    estimate = first.rate - second.rate
    below = np.hypot(first.rate - first.low, second.high - second.rate)
    above = np.hypot(first.high - first.rate, second.rate - second.low)
    return Limited(estimate, estimate - below, estimate + above)


@checked
def ratio_of_rates(first: Limited, second: Limited) -> Limited:
    """Return the ratio of independent rates, first over second, with its interval.

    Use it if you have two rates with intervals, however these were computed.

    Parameters
    ----------
    first, second : Limited, shape (n,)
        Rates with their intervals, however these were computed.

    Returns
    -------
    Limited
        Ratios. If the second rate is 0, the ratio and its upper bound are infinite (the ratio is NaN for 0 / 0). If the
        first is 0, the ratio and its lower bound are 0.

    Notes
    -----
    The interval is derived from the intervals of both rates on the log scale.

    References
    ----------
    - Zou & Donner 2008.
    - Donner & Zou 2012.

    Examples
    --------
    >>> ratio = ratio_of_rates(Limited(*np.array([[0.2], [0.1], [0.4]])), Limited(*np.array([[0.1], [0.05], [0.2]])))
    >>> [round(float(value[0]), 3) for value in (ratio.rate, ratio.low, ratio.high)]
    [2.0, 0.75, 5.33]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(value) for value in (first.rate, first.low, first.high)]
        other = [np.log(value) for value in (second.rate, second.low, second.high)]
        ratio = first.rate / second.rate
        center = logs[0] - other[0]
        low = np.exp(center - np.hypot(logs[0] - logs[1], other[2] - other[0]))
        high = np.exp(center + np.hypot(logs[2] - logs[0], other[0] - other[1]))
        # the log of a rate of 0 is undefined; the ratio of the outer bounds covers at least as often
        low = np.where(first.rate > 0, np.where(second.rate > 0, low, first.low / second.high), 0.0)
        high = np.where(second.rate > 0, np.where(first.rate > 0, high, first.high / second.low), np.inf)
    return Limited(ratio, low, high)
