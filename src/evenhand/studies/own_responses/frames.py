"""Convert tables in memory to Polars: Polars, pandas, Arrow, a dict of columns, a list of dicts."""

from collections import Counter
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.prompts.own_files import Source, TableInMemory
from evenhand.schema import DataError, UsageError

NAME = "The table"


def as_source(answers: Any) -> Source:
    """Return a path, or a table as a Polars frame.

    Raises UsageError for other types, and DataError for columns that cannot form a table.

    Parameters
    ----------
    answers
        A path, a Polars or pandas frame, an object with Arrow's interface, a dict of columns, or a list of dicts.

    Examples
    --------
    >>> as_source([{"a": 1}, {"a": 2, "b": "x"}]).frame.rows()
    [(1, None), (2, 'x')]
    """
    if isinstance(answers, str | PathLike):
        return Path(answers)
    if isinstance(answers, pl.LazyFrame):
        answers = answers.collect()
    if isinstance(answers, pl.DataFrame):
        return TableInMemory(answers, NAME)
    try:
        if hasattr(answers, "items") and hasattr(answers, "columns") and hasattr(answers, "iloc"):
            return TableInMemory(_of_pandas(answers), NAME)
        if isinstance(answers, Mapping):
            columns = {str(name): list(values) for name, values in answers.items()}
            return TableInMemory(pl.DataFrame(columns, strict=False), NAME)
        if isinstance(answers, list | tuple) and all(isinstance(row, Mapping) for row in answers):
            return TableInMemory(pl.DataFrame(list(answers), strict=False, infer_schema_length=None), NAME)
        if hasattr(answers, "__arrow_c_stream__"):
            return TableInMemory(pl.DataFrame(answers), NAME)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"Cannot convert this {type(answers).__name__} to {NAME}: {str(error).splitlines()[0]}.",
            "Give columns of equal length, each of texts, numbers or truth values.",
        ) from error
    raise UsageError(
        f"measure: unsupported type {type(answers).__name__}.",
        "Give a path, a Polars or pandas data frame, a dict of columns, or a list of dicts.",
    )


def _of_pandas(frame: Any) -> pl.DataFrame:
    """Convert a pandas frame column by column, which needs no further package; missing values become null."""
    names = [str(name) for name in frame.columns]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise DataError(
            f"{NAME} contains the column {twice[0]!r} {names.count(twice[0])} times.",
            "Rename or remove all but one.",
        )
    columns = {}
    for name, (_, values) in zip(names, frame.items(), strict=True):
        missing = values.isna().tolist()
        columns[name] = [
            None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)
        ]
    return pl.DataFrame(columns, strict=False)
