"""Array types that the statistics take and return, and means and medians that ignore missing values."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from evenhand.schema import UsageError, checked_kinds

Floats = NDArray[np.float64]
"""Array of numbers (float64); NaN marks a missing number."""
Counts = NDArray[np.int64]
"""Array of counts: integers, 0 or more."""
Codes = NDArray[np.int64]
"""Array of group codes: integers from 0; equal labels have equal codes."""
Indices = NDArray[np.intp]
"""Array of positions in another array."""
Flags = NDArray[np.bool_]
"""Array of booleans."""


def require_same_shape(owner: str, **arrays: ArrayLike | None) -> None:
    """Raise an error unless the shapes of all arrays broadcast.

    Call it first in your own function, so that users get a clear error.

    Parameters
    ----------
    owner : str
        Name of the calling function, for the error message.
    **arrays : array_like or None
        Arguments to check, by name. None is ignored.

    Raises
    ------
    UsageError
        The shapes do not broadcast. The message names the arguments and their shapes.

    Examples
    --------
    >>> require_same_shape("f", first=[1, 2], second=5)
    """
    shapes = {name: np.shape(array) for name, array in arrays.items() if array is not None}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise UsageError(
            f"{owner}: shapes do not match: {', '.join(f'{name} of shape {shape}' for name, shape in shapes.items())}.",
            "Give arrays of the same shape. A single number is used for all rows.",
        ) from None


def require_same_length(owner: str, **arrays: ArrayLike | None) -> None:
    """Raise a UsageError unless all arrays have one dimension and the same length; None is ignored.

    >>> require_same_length("f", first=[1, 2], second=[5, 6])
    """
    shapes = {name: np.shape(array) for name, array in arrays.items() if array is not None}
    if len({*shapes.values()}) > 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise UsageError(
            f"{owner}: shapes do not match: {', '.join(f'{name} of shape {shape}' for name, shape in shapes.items())}.",
            "Give one-dimensional arrays of the same length, with one value per row.",
        )


def require_codes(owner: str, name: str, codes: NDArray[Any], most: int) -> None:
    """Raise a UsageError unless all codes of groups are from 0 to `most` - 1.

    >>> require_codes("f", "groups", np.array([0, 1]), 2)
    """
    if codes.size and not 0 <= codes.min() <= codes.max() < most:
        raise UsageError(
            f"{owner}: {name} must contain codes from 0 to {most - 1:,}, got {codes.min()} to {codes.max()}.",
            f"Number the groups 0, 1, ..., for example by numpy.unique({name}, return_inverse=True).",
        )


def call_statistic(
    owner: str, name: str, function: Callable[..., Any], *given: Any, shape: tuple[int, ...] | None = None
) -> Floats:
    """Call a function that the user passed as an argument, and return its result, which must be an array of numbers.

    `owner` is the name of our function and `name` that of its argument; both are for error messages. `given` are the
    positional arguments of the call. `shape` is the required shape of the result; None allows any one-dimensional one.
    Raises UsageError if the function does not accept these arguments, or returns anything else.

    >>> call_statistic("f", "statistic", np.cumsum, [1, 2]).tolist()
    [1.0, 3.0]
    """
    expected = "one dimension" if shape is None else f"shape {shape}"
    returned = call_back(owner, name, function, *given)
    try:
        array = np.asarray(returned)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        described = "None" if returned is None else f"{type(returned).__name__} without real numbers"
        raise UsageError(f"{owner}: {name} returned {described}.", f"It must return an array of {expected}.")
    if (array.ndim != 1) if shape is None else (array.shape != shape):
        raise UsageError(
            f"{owner}: {name} returned an array of shape {array.shape}.", f"It must return {expected}."
        )
    return array.astype(np.float64)


def call_back(owner: str, name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function that the user passed as an argument, with the positional arguments `given`.

    `owner` and `name` are as in `call_statistic`. Raises UsageError if the function does not accept the arguments.

    >>> call_back("f", "count", len, [1, 2])
    2
    """
    try:
        inspect.signature(function).bind(*given)
    except TypeError as error:
        raise UsageError(
            f"{owner}: {name} cannot be called: {error}.",
            f"Give a function of {len(given)} positional argument(s).",
        ) from None
    except ValueError:  # a function without a known signature
        pass
    return function(*given)


@checked_kinds
def mean_of_known(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Return the mean along an axis, ignoring NaN.

    Unlike `numpy.nanmean`, it gives no warning if all values are missing.

    Parameters
    ----------
    values : numpy.ndarray
        Numbers of any shape; NaN marks a missing one.
    axis : int or tuple of int
        Axis or axes along which to average.

    Returns
    -------
    numpy.ndarray
        Means. NaN, without a warning, if all values are missing.

    Examples
    --------
    >>> mean_of_known(np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]]), 1)
    array([ 2., nan])
    """
    _require_axis("mean_of_known", values, axis)
    known = np.count_nonzero(~np.isnan(values), axis=axis)
    return np.asarray(np.nansum(values, axis=axis) / np.where(known > 0, known, np.nan))


@checked_kinds
def median_of_known(values: Floats, axis: int) -> Floats:
    """Return the median along an axis, ignoring NaN.

    It is faster than `numpy.nanmedian`, which is slow if there are NaN.

    Parameters
    ----------
    values : numpy.ndarray
        Numbers of any shape; NaN marks a missing one.
    axis : int
        Axis along which to take the median.

    Returns
    -------
    numpy.ndarray
        Medians; NaN if all values are missing.

    Examples
    --------
    >>> median_of_known(np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]]), 1)
    array([ 2., nan])
    """
    _require_axis("median_of_known", values, axis)
    if not np.isnan(values).any():
        return np.asarray(np.median(values, axis=axis))
    ordered = np.moveaxis(np.sort(values, axis=axis), axis, -1)  # NaN sorts last
    known = np.count_nonzero(~np.isnan(ordered), axis=-1)
    low = np.take_along_axis(ordered, np.maximum((known - 1) // 2, 0)[..., None], axis=-1)[..., 0]
    upper = np.minimum(known // 2, ordered.shape[-1] - 1)[..., None]
    high = np.take_along_axis(ordered, upper, axis=-1)[..., 0]
    return np.where(known > 0, (low + high) / 2, np.nan)


def _require_axis(owner: str, values: Floats, axis: int | tuple[int, ...]) -> None:
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(np.ndim(one) or not -values.ndim <= one < values.ndim for one in axes):
        raise UsageError(
            f"{owner}: invalid axis={axis}: values has {values.ndim} dimension{'s' if values.ndim != 1 else ''}.",
            f"Use an axis from 0 to {values.ndim - 1}." if values.ndim else "Give an array as values.",
        )
    if len({one % values.ndim for one in axes}) < len(axes):
        raise UsageError(f"{owner}: axis={axis} contains the same axis twice.", "Give each axis once.")


def middle_ranks(values: Floats) -> Floats:
    """Return the ranks (from 1) of n numbers; tied numbers get the mean of their ranks.

    >>> middle_ranks(np.array([5.0, 1.0, 5.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    ordered = np.sort(values)
    below, not_above = np.searchsorted(ordered, values), np.searchsorted(ordered, values, side="right")
    return np.asarray((below + not_above + 1) / 2)


@checked_kinds
def log_choose(total: ArrayLike, chosen: ArrayLike) -> Floats:
    """Return the natural logarithm of the binomial coefficient, ln(total choose chosen).

    Use it for large numbers, for which the coefficient itself overflows.

    Parameters
    ----------
    total : array_like
        Number of items.
    chosen : array_like
        Number of chosen items, 0 to `total`; its shape must broadcast with that of `total`.

    Returns
    -------
    numpy.ndarray
        Logarithms, of the broadcast shape.

    Examples
    --------
    >>> float(np.exp(log_choose(5, 2)).round(6))
    10.0
    """
    n, k = np.asarray(total, dtype=np.float64), np.asarray(chosen, dtype=np.float64)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
