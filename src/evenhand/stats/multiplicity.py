"""Adjust p-values for multiple testing: Benjamini-Hochberg, Holm, and Simes' global test."""

import numpy as np
import numpy.typing as npt

from evenhand.schema import UsageError, checked_kinds
from evenhand.stats.arrays import Floats, Indices


@checked_kinds
def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """Return p-values adjusted by Benjamini and Hochberg (q-values).

    Use it if you test many hypotheses and accept a share of false discoveries, such as 5%. To avoid any false
    discovery, use `holm`.

    Parameters
    ----------
    p : array_like, any shape
        p-values. The last axis is the family of tests. NaN stays NaN and does not count as a test.

    Returns
    -------
    numpy.ndarray
        q-values, same shape as `p` (a single number becomes an array of one). q is the smallest false discovery
        rate at which a test is a discovery.

    Raises
    ------
    UsageError
        A p-value is outside [0, 1].

    Notes
    -----
    The procedure controls the false discovery rate for independent and positively dependent tests.

    References
    ----------
    - Benjamini & Hochberg 1995.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, float("nan")]).round(6).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    values = _probabilities(p)
    if values.shape[-1] == 0:
        return values.copy()
    order = np.argsort(values, axis=-1)  # NaN last
    ascending = np.take_along_axis(values, order, axis=-1)
    tests = np.count_nonzero(~np.isnan(values), axis=-1, keepdims=True)
    ranks = np.arange(1, values.shape[-1] + 1)
    scaled = np.where(np.isnan(ascending), np.inf, ascending * tests / ranks)
    steps = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    return _put_back(np.minimum(steps, 1.0), order, values)


@checked_kinds
def holm(p: npt.ArrayLike) -> Floats:
    """Return p-values adjusted by Holm.

    Use it if no false discovery is acceptable, for a small number of tests. With many tests, `benjamini_hochberg` has
    more power.

    Parameters
    ----------
    p : array_like, any shape
        p-values. The last axis is the family of tests. NaN stays NaN and does not count as a test.

    Returns
    -------
    numpy.ndarray
        Adjusted p-values, same shape as `p`.

    Raises
    ------
    UsageError
        A p-value is outside [0, 1].

    Notes
    -----
    The procedure controls the probability of any false discovery, under any dependence.

    References
    ----------
    - Holm 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    values = _probabilities(p)
    if values.shape[-1] == 0:
        return values.copy()
    order = np.argsort(values, axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    tests = np.count_nonzero(~np.isnan(values), axis=-1, keepdims=True)
    scaled = np.where(np.isnan(ascending), -np.inf, ascending * (tests - np.arange(values.shape[-1])))
    return _put_back(np.minimum(np.maximum.accumulate(scaled, axis=-1), 1.0), order, values)


@checked_kinds
def simes(p: npt.ArrayLike) -> float:
    """Return Simes' p-value for the hypothesis that no test in the family has an effect.

    Use it to combine the tests of a family into one. It does not show which of them has an effect.

    Parameters
    ----------
    p : array_like, any shape
        p-values of one family. NaN does not count as a test.

    Returns
    -------
    float
        p-value: the smallest Benjamini-Hochberg q. NaN if the family is empty.

    Raises
    ------
    UsageError
        A p-value is outside [0, 1].

    Notes
    -----
    The test is valid for independent and positively dependent tests.

    References
    ----------
    - Simes 1986.

    Examples
    --------
    >>> simes([0.01, 0.04, 0.03])
    0.03
    """
    values = _probabilities(p).ravel()
    ascending = np.sort(values[~np.isnan(values)])
    if ascending.size == 0:
        return float("nan")
    return float(min(1.0, (ascending * ascending.size / np.arange(1, ascending.size + 1)).min()))


def _put_back(adjusted: Floats, order: Indices, original: Floats) -> Floats:
    result = np.empty_like(adjusted)
    np.put_along_axis(result, order, adjusted, axis=-1)
    result[np.isnan(original)] = np.nan
    return result


def _probabilities(p: npt.ArrayLike) -> Floats:
    values = np.atleast_1d(np.asarray(p, dtype=np.float64))
    if np.any((values < 0) | (values > 1)):
        worst = values[(values < 0) | (values > 1)].flat[0]
        raise UsageError(
            f"p-values must be from 0 to 1, got {worst}.", "Use NaN for a test that could not be done."
        )
    return values
