"""Valid calls of public measures with one column or argument changed: a usable result, or an error of ours."""

import doctest
import inspect
import random
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np
import polars as pl
import pytest

from evenhand.schema import EvenhandError

FACE = import_module("evenhand.measures")
MEASURES = [
    name
    for name in sorted(FACE.__all__)
    if isinstance(function := getattr(FACE, name), FunctionType)
    and f"{name}(" in (text := function.__doc__ or "")
    and "Traceback" not in text  # its example shows an error
]
TRIED = 12
"""Changed calls of each measure, chosen by a seed: all of them would take minutes."""
LONG = "Z" * 1_000_000
NUMBERS = (1e308, -1e308, float("inf"), float("nan"), -1.0, 0.5, 2.0)
ARGUMENTS = (0, -1, 10**18, 1e308, float("nan"), True, None, "x", LONG, [], ["x"], {}, object())


def example_calls(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the arguments of each call of a measure in the examples of its docstring."""
    function = getattr(FACE, name)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def record(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return function(*args, **kwargs)

    names = vars(sys.modules[function.__module__]) | {name: record}
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(function) or ""):
        exec(compile(example.source, name, "exec"), names)
    return calls


def changed_columns(column: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """Yield what a column could be by mistake, with a name for each mistake."""
    values, kind = column.to_list(), column.dtype
    yield "null key", pl.Series(column.name, [None, *values[1:]], dtype=kind)
    yield "all null", pl.Series(column.name, [None] * len(values), dtype=kind)
    yield "list", pl.Series(column.name, [[value] for value in values])
    if kind == pl.String:
        yield "categorical", column.cast(pl.Categorical)
        yield "enum", column.cast(pl.Enum(column.drop_nulls().unique(maintain_order=True)))
        yield "whole numbers", pl.Series(column.name, range(len(values)))
        yield "unknown value", pl.Series(column.name, ["Odd Value", *values[1:]])
        yield "long value", pl.Series(column.name, [LONG, *values[1:]])
    elif kind.is_numeric() or kind == pl.Boolean:
        known = [None if value is None else float(value) for value in values]
        for number in NUMBERS:
            yield f"one {number}", pl.Series(column.name, [number, *known[1:]], dtype=pl.Float64)
        yield "all 1e308", pl.Series(column.name, [1e308] * len(values))
        yield "text", pl.Series(column.name, ["x"] * len(values))


def changed_calls(name: str) -> Iterator[tuple[str, str, tuple[Any, ...], dict[str, Any]]]:
    """Yield calls of a measure with one change: what was changed, how, and the arguments."""
    signature = inspect.signature(getattr(FACE, name))
    for args, kwargs in example_calls(name)[:1]:
        for argument, value in signature.bind(*args, **kwargs).arguments.items():
            changed: list[tuple[str, str, Any]] = []
            if isinstance(value, pl.DataFrame):
                for column in value.columns:
                    changed.append((column, "missing", value.drop(column)))
                    changed += [
                        (column, kind, value.with_columns(other))
                        for kind, other in changed_columns(value[column])
                    ]
            else:
                changed += [(argument, repr(other)[:20], other) for other in ARGUMENTS]
            for place, kind, other in changed:
                call = signature.bind(*args, **kwargs)
                call.arguments[argument] = other
                try:
                    yield place, kind, call.args, call.kwargs
                except TypeError:  # an argument of a variable number cannot be one object
                    continue


def tables_of(result: Any) -> Iterator[pl.DataFrame]:
    """Yield the tables in a result."""
    if isinstance(result, pl.DataFrame):
        yield result
    elif is_dataclass(result):
        for field in fields(result):
            yield from tables_of(getattr(result, field.name))
    elif isinstance(result, Mapping | list | tuple):
        for value in result.values() if isinstance(result, Mapping) else result:
            yield from tables_of(value)


@pytest.mark.parametrize("name", MEASURES)
def test_one_change_gives_a_result_or_an_error_of_ours(name: str) -> None:
    calls = list(changed_calls(name))
    random.seed(name)
    for place, kind, args, kwargs in random.sample(calls, min(TRIED, len(calls))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                result = getattr(FACE, name)(*args, **kwargs)
            except EvenhandError as error:
                message = str(error)
                assert len(message) < 5000, (place, kind)
                assert kind != "missing" or place in message, (place, kind, message)
                assert kind not in ("categorical", "enum"), (place, kind, message)
                continue
            except Exception as error:
                raise AssertionError(f"{name} with {place}: {kind}") from error
        for table in tables_of(result):
            numbers = table.select(pl.col(pl.Float64).is_infinite().any())
            assert not any(numbers.row(0) if numbers.height else ()), (place, kind, table)


def test_examples_of_measures_are_found() -> None:
    assert len(MEASURES) > 70 and "disparity" in MEASURES
    assert np.mean([bool(example_calls(name)) for name in MEASURES[:10]]) > 0.8


RATES = pl.DataFrame({"group": ["a", "b"] * 20, "negative": [0.0, 1.0, 1.0, 0.0] * 10})
CHANGED = pl.DataFrame(
    {
        "axis": "x",
        "group": ["a", "b"] * 20,
        "prompt_id": range(40),
        "before": [0.0] * 40,
        "after": [0.0, 1.0] * 20,
    }
)
NOUNS = pl.DataFrame(
    {
        "noun": list("abcd") * 5,
        "gender": ["male", "female"] * 10,
        "descriptor": "old",
        "negative": [0, 1] * 10,
    }
)
FLAGGED = pl.DataFrame(
    {"prompt_id": range(8), "prompt_toxic": [0, 1] * 4, "negative": [0, 1] * 4, "f": 1, "m": 0, "asian": 1}
)
AXES = {"gender": ["f", "m"], "race": ["asian"]}
TOTALS = pl.DataFrame({"corpus": "a", "fold": [0, 1, 2], "documents": 50, "words": 900})
FOUND = pl.DataFrame(
    {"corpus": "a", "fold": [0, 1, 2], "kind": "k", "axis": "x", "group": "g", "documents": 2, "hits": 4}
)


def with_first(frame: pl.DataFrame, name: str, value: object) -> pl.DataFrame:
    """Return a table with another value in the first row of a column."""
    return frame.with_columns(pl.Series(name, [value, *frame[name].to_list()[1:]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: FACE.disparity(with_first(RATES, "negative", 2.0)),
            "disparity found 2 in row 0 of the column negative",
        ),
        (lambda: FACE.bias_score(with_first(RATES, "negative", 0.5)), "0.5 in row 0 of the column negative"),
        (lambda: FACE.disparity(with_first(RATES, "negative", 1e308), numbers=True), "1e+308 in row 0"),
        (lambda: FACE.disparity(RATES.with_columns(negative=pl.lit(1e308)), numbers=True), "(40 such rows)"),
        (lambda: FACE.disparity(with_first(RATES, "group", None)), "group is empty in 1 of 40 rows"),
        (lambda: FACE.disparity_change(with_first(CHANGED, "after", 3.0)), "3 in row 0 of the column after"),
        (
            lambda: FACE.disparity_change(with_first(CHANGED, "prompt_id", None)),
            "prompt_id is empty in 1 of 40 rows",
        ),
        (
            lambda: FACE.noun_contrast(with_first(NOUNS, "gender", "Male")),
            "the column gender contains unknown values: 'Male'",
        ),
        (lambda: FACE.intersections(with_first(FLAGGED, "f", 7), AXES), "7 in row 0 of the column f"),
        (lambda: FACE.intersections(with_first(FLAGGED, "prompt_id", None), AXES), "prompt_id is empty in"),
        (
            lambda: FACE.intersections(FLAGGED.with_columns(prompt_toxic=pl.lit("yes")), AXES),
            "needs True or False (1 or 0) in the column prompt_toxic, which contains String",
        ),
        (lambda: FACE.group_shares(TOTALS, FOUND.drop("documents")), "needs the column documents"),
        (
            lambda: FACE.group_shares(TOTALS.with_columns(words=0.5), FOUND),
            "0.5 in row 0 of the column words",
        ),
        (lambda: FACE.group_shares(TOTALS, with_first(FOUND, "hits", -1)), "-1 in row 0 of the column hits"),
        (
            lambda: FACE.group_shares(TOTALS, FOUND.with_columns(corpus=1)),
            "needs a text in each row of the column corpus",
        ),
        (lambda: FACE.share_ratios(TOTALS.drop("fold"), FOUND, of="g", to="h"), "needs the column fold"),
        (
            lambda: FACE.bias_score_curves(audits=10**12),
            "audits must be a whole number from 1 to 100,000, got 1000000000000",
        ),
    ],
)
def test_the_error_names_the_column_and_the_row(call: Any, message: str) -> None:
    with pytest.raises(EvenhandError) as error:
        call()
    assert message in str(error.value)


def test_numbers_and_unknown_nouns_are_allowed_where_they_are_asked_for() -> None:
    assert FACE.disparity(with_first(RATES, "negative", 2.0), numbers=True).groups.height == 2
    assert FACE.disparity_change(with_first(CHANGED, "after", 3.0), numbers=True).table.height == 3
    neutral = with_first(NOUNS, "gender", "neutral")
    assert FACE.noun_contrast(neutral).contrasts["n"].item() <= 19
