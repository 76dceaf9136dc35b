"""Checks of the arguments of public functions by their annotations; an error names the argument."""

import ast
import inspect
import sys
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cache, wraps
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.schema.arrays import (
    categories_as_text,
    check_labels,
    check_size,
    convert_numbers,
    is_array,
    takes_array,
)
from evenhand.schema.errors import DataError, EvenhandError, UsageError, did_you_mean
from evenhand.schema.files import without_surrogates

P = ParamSpec("P")
R = TypeVar("R")
BETWEEN = ("alpha", "level")
"""Arguments that are probabilities: above 0 and below 1."""
LABELS = ("clusters", "second_clusters", "labels", "groups", "blocks")
"""Arguments that are arrays of labels: numbers or texts."""
FROM_ZERO = ("margin", "contrast_margin", "valence_margin")
"""Arguments that are distances: 0 or more."""
COUNTS = {
    "resamples": (1, 100_000),
    "dawid_skene.resamples": (0, 100_000),  # 0: no intervals
    "draws": (1, 1_000_000),
    "audits": (1, 100_000),
    "bias_score_curves.groups": (2, 10_000),
    "n_axes": (1, 1_000_000),
    **dict.fromkeys(("top", "shown", "most", "keep"), (1, 1_000_000)),
}
"""Minimum and maximum of whole numbers, by argument, or by function and argument. Larger values would run for days or
exceed the memory of any machine.
"""
MISSING = object()
MOST = 2**63 - 1
"""Largest seed that all random number generators accept."""
IN_WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
    pl.DataFrame: "a polars DataFrame",
    pl.Series: "a polars Series",
    np.ndarray: "a numpy array",
    type(None): "None",
}
SEVERAL = (Sequence, Collection, Iterable, list, tuple, set, frozenset)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function check its arguments against its annotations before it runs.

    Use it as a decorator of public functions, so that a wrong argument gives a readable error. Seeds must be
    usable by all random number generators. Levels must be probabilities, margins at least 0, and numbers not
    NaN.

    Parameters
    ----------
    function : callable
        The function. It checks itself what the annotations do not state.

    Returns
    -------
    callable
        The function with checks. It raises UsageError for an invalid argument, and DataError for a table that
        is not from Polars.

    Examples
    --------
    >>> @checked
    ... def draw(n: int, seed: int = 0) -> int:
    ...     return n + seed
    >>> draw(2, seed=1)
    3
    >>> draw("two")
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: draw: invalid n='two'; expected a whole number.
    """
    return _wrap_with_checks(function, numbers=True)


def checked_kinds(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function check its arguments as `checked` does, but allow NaN as a number.

    Use it instead of `checked` if NaN has a meaning, or if the function reports it in the words of its users.
    """
    return _wrap_with_checks(function, numbers=False)


def _wrap_with_checks(function: Callable[P, R], *, numbers: bool) -> Callable[P, R]:
    signature = inspect.signature(function)
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names_flags = function.__module__.startswith("evenhand.studies.")  # in errors about numbers
    kinds = function.__annotations__.items()
    quoted = {name for name, kind in kinds if isinstance(kind, str) or "ForwardRef(" in repr(kind)}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs)
        for name, value in given.arguments.items():
            if signature.parameters[name].kind not in several:
                owner, hint = function.__name__, _hints(function, imports=False).get(name, Any)
                if name in quoted and not _fits(value, hint):
                    hint = _hints(function).get(name, Any)
                _check(owner, name, value, hint, numbers, not names_flags)
                if takes_array(hint) or get_origin(hint) is np.ndarray:
                    value = given.arguments[name] = convert_numbers(owner, name, value, _find_dtype(hint))
                elif isinstance(value, np.longdouble):
                    given.arguments[name] = float(value)
                elif isinstance(value, pl.Series | np.ndarray) and _takes_sequence(hint):
                    value = given.arguments[name] = list(value)  # arrays have no truth value
                if isinstance(value, pl.DataFrame | pl.Series):
                    # mypy does not try each alternative of a union
                    given.arguments[name] = categories_as_text(value)  # type: ignore[type-var]
        return function(*given.args, **given.kwargs)

    return call


def check_fields(value: Any, *names: str) -> None:
    """Check the fields of a dataclass object as `checked` checks arguments; call it in `__post_init__`.

    `names` are the fields to check; default: all. Raises a UsageError or DataError if a field has an invalid value.
    """
    kind: Any = type(value)
    for name, hint in _hints(kind).items():
        if name in (names or kind.__dataclass_fields__):
            _check(kind.__name__, name, getattr(value, name), hint, numbers=False, ranges=False)


def _check(owner: str, name: str, value: Any, hint: Any, numbers: bool, ranges: bool = True) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if name in LABELS and takes_array(hint) and is_array(value, "biufOUS"):
        check_labels(owner, name, value)
        return
    if not _fits(value, hint) or (numbers and number and value != value):  # NaN differs from itself
        raise _wrong_kind(owner, name, value, hint)
    if value is not None and (takes_array(hint) or isinstance(value, np.ndarray)):
        check_size(owner, name, value)
    least, most = COUNTS.get(f"{owner}.{name}") or COUNTS.get(name) or (None, None)
    if least is not None and number and not least <= value <= most:
        raise UsageError(f"{owner}: {name} must be a whole number from {least:,} to {most:,}, got {value}.")
    if not (ranges and number):
        return
    if name in BETWEEN and not 0 < value < 1:
        raise UsageError(f"{owner}: {name} must be between 0 and 1, got {value}.")
    if name in FROM_ZERO and not 0 <= value < float("inf"):
        raise UsageError(f"{owner}: {name} must be 0 or more, got {value}.")
    if name == "seed" and not 0 <= value <= MOST:
        raise UsageError(f"{owner}: seed must be a whole number from 0 to 2**63 - 1, got {value}.")


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint == npt.ArrayLike:
        return is_array(value, "biuf")
    if hint is Any or isinstance(hint, str | TypeVar):
        return True
    if origin is Annotated:
        return _fits(value, inner[0])
    if origin in (Union, types.UnionType):
        arrays = get_args(npt.ArrayLike) if takes_array(hint) else ()
        return (bool(arrays) and is_array(value, "biuf")) or any(
            _fits(value, one) for one in inner if one not in arrays
        )
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if hint is None or hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    if hint is float:
        return isinstance(value, float | np.floating) or (_fits(value, int) and abs(int(value)) < 2**1023)
    if hint is str:
        return isinstance(value, str) and without_surrogates(value) == value
    if hint is Path:
        return isinstance(value, PathLike)
    if origin is Callable or hint is Callable:
        return callable(value)
    if (origin or hint) is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in _find_allowed_kinds(inner)
    if (origin or hint) is Mapping or (origin or hint) is dict:
        return isinstance(value, Mapping) and all(
            _fits(one, _loosen_literal(kind))
            for pair in value.items()
            for one, kind in zip(pair, inner, strict=False)
        )
    if origin is tuple and inner[-1:] != (Ellipsis,):
        kinds = [] if inner == ((),) else inner
        return isinstance(value, tuple | list) and len(value) == len(kinds) and all(map(_fits, value, kinds))
    if (origin or hint) in SEVERAL:
        ordered = (origin or hint) not in (Collection, Iterable)
        if ordered and (isinstance(value, Mapping | Set) or not isinstance(value, Collection)):
            return False
        return _is_collection_of(value, inner)
    if origin is not None or not isinstance(hint, type):
        return True
    if getattr(hint, "_is_protocol", False):  # if `isinstance` refuses it, too
        return not missing_members(value, hint)
    return isinstance(value, hint)


def is_a(value: Any, kind: type[Any]) -> bool:
    """Return whether an object is of a class or implements a protocol, without reading its properties.

    Before Python 3.12, `isinstance` reads every property of a protocol. Some are costly: a served model
    contacts its server for its fingerprint. Raises TypeError for a protocol that is only for type checkers.

    Examples
    --------
    >>> is_a(Path("a"), Iterable), is_a([], Iterable)
    (False, True)
    """
    if not getattr(kind, "_is_runtime_protocol", False):
        return isinstance(value, kind)
    return not missing_members(value, kind)


def missing_members(value: Any, protocol: type[Any]) -> list[str]:
    """Return the members of a protocol that an object lacks, in alphabetical order.

    No member is read. A method that is None counts as missing, as for `isinstance`, because a class removes a
    method of its parent in this way.

    Examples
    --------
    >>> from typing import Protocol
    >>> class Named(Protocol):
    ...     name: str
    ...     def greet(self) -> str: ...
    >>> missing_members(Path("a"), Named)
    ['greet']
    """
    protocols = [base for base in protocol.__mro__ if getattr(base, "_is_protocol", False)]
    names = {name for base in protocols for name in (*vars(base), *vars(base).get("__annotations__", {}))}
    wanted = sorted(name for name in names if name == "__call__" or not name.startswith("_"))
    methods = {name for base in protocols for name, member in vars(base).items() if callable(member)}

    def is_lacking(name: str) -> bool:
        member = inspect.getattr_static(value, name, MISSING)
        return member is MISSING or (member is None and name in methods)

    return [name for name in wanted if is_lacking(name)]


def _is_collection_of(value: Any, inner: tuple[Any, ...]) -> bool:
    """Return whether a value is a collection of a kind, and not a single text."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable) or isinstance(value, pl.DataFrame):
        return False
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    if not isinstance(value, Collection) or not inner:  # iterators are left alone: they can be read only once
        return True
    return all(_fits(one, _loosen_literal(inner[0])) for one in value)


def _loosen_literal(hint: Any) -> Any:
    """Return str for a Literal, so that the function itself checks the word and suggests similar ones."""
    return str if get_origin(hint) is Literal else hint


def _takes_sequence(hint: Any) -> bool:
    """Return whether an annotation is Sequence, or Sequence or None."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return any(get_origin(kind) is Sequence for kind in kinds)


def _find_dtype(hint: Any) -> Any:
    """Return the type of the numbers of an annotated array, or None if it allows several."""
    kinds = get_args(get_args(hint)[-1]) if get_origin(hint) is np.ndarray else ()
    return next((kind for kind in kinds if kind is not Any and kind in (np.float64, np.int64)), None)


def _find_allowed_kinds(inner: tuple[Any, ...]) -> str:
    """Return the kinds of NumPy data types that an array annotation allows; integers are allowed for floats."""
    kind = next((np.dtype(one).kind for one in get_args(inner[-1]) if one is not Any), "") if inner else ""
    return {"f": "fiub", "i": "iu", "b": "b"}.get(kind, "biufcOSUVMm")


def _wrong_kind(owner: str, name: str, value: Any, hint: Any) -> EvenhandError:
    if hint is pl.DataFrame:
        kind = f"{type(value).__module__.split('.')[0]}.{type(value).__name__}".removeprefix("builtins.")
        made = "pl.DataFrame(...)"
        if isinstance(value, pl.LazyFrame):
            made = f"{name}.collect()"
        elif hasattr(value, "iloc"):
            made = f"pl.from_pandas({name})"
        return DataError(f"{owner}: {name} must be a polars DataFrame, got {kind}.", f"Give {made}.")
    if isinstance(value, str) and without_surrogates(value) != value:
        return UsageError(
            f"{owner}: {name}={value[:80]!a} contains half a character (a lone surrogate).",
            "Replace it by the complete character, or remove it.",
        )
    shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:80]}..."
    guess = did_you_mean(value, _choices(hint)) if isinstance(value, str) else ""
    return UsageError(f"{owner}: invalid {name}={' '.join(shown.split())}; expected {_words(hint)}.{guess}")


def _choices(hint: Any) -> list[str]:
    """Return the words that a Literal allows, also if None is allowed in addition."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    words = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    return words if all(isinstance(word, str) for word in words) and str not in kinds else []


def _words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if hint == npt.ArrayLike:
        return "an array of numbers"
    if origin is Annotated:
        return _words(inner[0])
    if takes_array(hint):
        return "an array of numbers or None"
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_words(one) for one in inner))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if (origin or hint) in (Mapping, dict):
        return "a mapping"
    if (origin or hint) in SEVERAL:
        named = {str: "texts", int: "whole numbers", float: "numbers"}
        each = named.get(inner[0], "values") if inner else "values"
        return f"{'a tuple of' if origin is tuple else 'several'} {each}"
    return IN_WORDS.get(origin or hint, getattr(hint, "__name__", str(hint)))


@cache
def _hints(target: Any, *, imports: bool = True) -> dict[str, Any]:
    """Return the annotations of a function or class as types; those that cannot be resolved are left out.

    Without `imports`, no module is imported; `_MissingType` replaces names that are imported for type checkers only.
    """
    with suppress(NameError):  # a name that is imported only for type checkers
        return get_type_hints(target, include_extras=True)
    module = sys.modules[target.__module__]
    names = vars(module) | _type_checking_names(module, imports)
    hints: dict[str, Any] = {}
    for name, hint in target.__annotations__.items():
        one = types.SimpleNamespace(__annotations__={name: hint})
        with suppress(NameError):
            hints |= get_type_hints(one, names, include_extras=True)
    return hints


class _MissingType:
    """Replaces a class whose module was not imported. No value is an instance of it."""


def _type_checking_names(module: types.ModuleType, imports: bool) -> dict[str, Any]:
    """Return what a module imports under `if TYPE_CHECKING`; of other packages only what is loaded already.

    An object of a class can only have been passed if the module of the class is loaded.
    """
    found: dict[str, Any] = {}
    blocks = [block for block in ast.parse(inspect.getsource(module)).body if isinstance(block, ast.If)]
    for line in (
        line for block in blocks if "TYPE_CHECKING" in ast.unparse(block.test) for line in block.body
    ):
        if isinstance(line, ast.Import):
            for one in line.names:
                name = one.asname or one.name.partition(".")[0]
                found[name] = sys.modules.get(one.name if one.asname else name, MISSING)
        elif isinstance(line, ast.ImportFrom) and line.module and not line.level:
            names = {one.asname or one.name: one.name for one in line.names}
            is_ours = line.module.partition(".")[0] == "evenhand"
            if is_ours and not imports:
                found |= dict.fromkeys(names, _MissingType)
                continue
            source = import_module(line.module) if is_ours else sys.modules.get(line.module)
            found |= {name: getattr(source, original, MISSING) for name, original in names.items()}
    return {name: value for name, value in found.items() if value is not MISSING}
