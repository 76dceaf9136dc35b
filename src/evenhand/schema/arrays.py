"""Check arrays, and convert categories in tables to text."""

import types
from collections.abc import Mapping
from numbers import Number
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.schema.errors import UsageError

INFINITE = ("degrees_of_freedom", "log_likelihood")
"""Arrays in which infinity has a meaning."""
SCALED = ("krippendorff_alpha.ratings",)
"""Arrays, by the function and the argument, of any finite numbers: the function scales them itself."""
LARGEST = 1e100
"""Largest accepted absolute value in an array or table. Sums of its square are finite."""
Data = TypeVar("Data", pl.DataFrame, pl.Series)


def takes_array(hint: Any) -> bool:
    """Return True for ArrayLike and for a union with it, which has the members of ArrayLike among its own."""
    if get_origin(hint) not in (Union, types.UnionType):
        return False
    return all(member in get_args(hint) for member in get_args(npt.ArrayLike))


def check_labels(owner: str, name: str, value: Any) -> None:
    """Raise a UsageError if a label is None, or if labels cannot be sorted. NaN is left to the function."""
    array = np.asarray(value)
    # numpy converts mixed lists to text
    was_merged = array.dtype.kind in "US" and isinstance(value, list | tuple)
    if array.dtype != object and not was_merged:
        return
    labels = list(value) if was_merged else array.ravel().tolist()
    places = [place for place, label in enumerate(labels) if label is None]
    if places:
        raise UsageError(
            f"{owner}: {name} contains None at position {places[0]} ({len(places):,} of {len(labels):,}).",
            "Give a label for each row, or leave these rows out.",
        )
    kinds: dict[Any, int] = {}
    for place, label in enumerate(labels):
        kinds.setdefault(_kind_of_label(label), place)
    if len(kinds) > 1:
        first, second = list(kinds.values())[:2]
        raise UsageError(
            f"{owner}: {name} mixes labels of different types: {labels[first]!r} at position {first} and "
            f"{labels[second]!r} at position {second}.",
            "Give either texts or numbers, for example [str(label) for label in labels].",
        )
    try:
        sorted(labels[:1] * 2)
    except TypeError:
        raise UsageError(
            f"{owner}: {name} contains {labels[0]!r} at position 0, which cannot be sorted.",
            "Give texts or whole numbers as labels.",
        ) from None


def _kind_of_label(label: Any) -> Any:
    return next((kind for kind in (str, Number) if isinstance(label, kind)), type(label))


def convert_numbers(owner: str, name: str, value: Any, kind: Any = None) -> Any:
    """Return an array with 64-bit numbers in place of others that calculations would round, overflow or refuse.

    kind: type of the numbers that the function expects, such as numpy.float64. None: only unsigned and long numbers are
    converted. Raises UsageError for a masked array, and for whole numbers that are too large.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise UsageError(
            f"{owner}: {name} is a masked array, whose mask would be ignored.",
            f"Give {name}.astype(float).filled(numpy.nan).",
        )
    if not is_array(value, "biuf"):
        return value
    array = np.asarray(value)
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise UsageError(
            f"{owner}: whole numbers must be less than 2**63, but {name} contains {int(array.max())}.",
            "Use a smaller unit, or convert the numbers to float.",
        )
    if kind is None:
        kind = {"u": np.int64, "g": np.float64}.get(
            array.dtype.char if array.dtype.char == "g" else array.dtype.kind
        )
    if kind is None or array.dtype == kind:
        return value
    with np.errstate(over="ignore"):  # infinity, which is reported
        return array.astype(kind)


def check_size(owner: str, name: str, value: Any) -> None:
    """Raise a UsageError if an array has an absolute value over LARGEST; sums of squares could be infinite."""
    array = np.asarray(value)
    if array.dtype.kind != "f" or not array.size:
        return
    # compare as Python floats, because the limit would be infinite in 32 bits
    if (
        float(np.fmax.reduce(array, axis=None)) <= LARGEST
        and float(np.fmin.reduce(array, axis=None)) >= -LARGEST
    ):
        return
    array = array.astype(np.float64)
    if f"{owner}.{name}" in SCALED:
        return
    places = np.argwhere((np.abs(array) > LARGEST) & (np.isfinite(array) | (name not in INFINITE)))
    if len(places):
        place = tuple(int(one) for one in places[0])
        where = f" at position {place[0] if len(place) == 1 else place}" if place else ""
        raise UsageError(
            f"{owner}: {name} contains {array[place]:g}{where}.",
            f"Numbers must be between -{LARGEST:g} and {LARGEST:g}; mark missing values as NaN.",
        )


def is_array(value: Any, kinds: str) -> bool:
    """Return True if a value can be an array of one of some kinds of numpy, such as "f" for floats."""
    if isinstance(value, str | bytes | Mapping | pl.DataFrame):
        return False
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # rows of different lengths
        return False
    return array.dtype.kind in kinds and (array.dtype != object or array.ndim > 0)


def categories_as_text(data: Data) -> Data:
    """Return a table or column with Categorical and Enum columns as texts; without any, the same object.

    >>> categories_as_text(pl.Series(["a"], dtype=pl.Categorical)).dtype
    String
    """
    if isinstance(data, pl.Series):
        kind = _with_text(data.dtype)
        return data if kind is None else data.cast(kind)
    kinds = {name: _with_text(kind) for name, kind in data.schema.items()}
    return (
        data.cast({name: kind for name, kind in kinds.items() if kind is not None})
        if any(kinds.values())
        else data
    )


def _with_text(kind: Any) -> Any:
    """Return the type with texts in place of categories, or None if it has no categories."""
    if isinstance(kind, pl.Categorical | pl.Enum):
        return pl.String
    inner = _with_text(kind.inner) if isinstance(kind, pl.List) else None
    return None if inner is None else pl.List(inner)
