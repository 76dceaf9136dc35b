"""Read a user's table from text, JSON Lines, Parquet or a workbook; errors name file and row."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.prompts.own_files.delimited import read_delimited
from evenhand.schema import (
    UNREADABLE,
    DataError,
    is_file,
    is_folder,
    missing_columns,
    missing_file,
    parse_json,
    read_parquet,
)
from evenhand.weights import check_table_fits

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
READERS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", *WORKBOOKS)
MISSING_WORDS = ("", "na", "n/a", "nan", "none", "null")
"""Words that mean "no number", in lower or upper case. They are not used for group columns."""
MOST_LEVELS = 64
"""Maximum depth of nesting in a row of JSON Lines, because polars' time grows faster than its square."""
NAMES = ("axis", "group", "descriptor", "template", "noun", "gender")
"""Columns that name what a row is about, if they exist."""


@dataclass(frozen=True)
class TableInMemory:
    """A table in memory, in place of a file. ``name`` is used in error messages."""

    frame: pl.DataFrame
    name: str = "The table"

    def __str__(self) -> str:
        return self.name


Source = Path | TableInMemory
"""Origin of a user's table: a path, or a table in memory."""


def as_source(source: Path | str | TableInMemory) -> Source:
    """Return a path of any type as Path, and a table unchanged."""
    return source if isinstance(source, TableInMemory) else Path(source)


def read_table(
    path: Source,
    expected: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    guesses: list[str] | None = None,
) -> pl.DataFrame:
    """Read a table from a file, whose format is given by its suffix. Columns of CSV and TSV are text.

    `path` is a file (see READERS), or a table in memory. `expected` is the documented format, for error messages.
    `delimiter`, `encoding` and `guesses` are as in `read_delimited`, and `sheet` is that of a workbook. Raises a
    DataError for a missing, empty, unreadable or unknown file.
    """
    if isinstance(path, TableInMemory):
        if path.frame.is_empty():
            raise DataError(f"{path} contains no rows.", expected)
        return path.frame
    if is_folder(path):
        raise DataError(f"{path} is a folder; expected a file.", expected)
    if not is_file(path) and path.exists():
        raise DataError(f"{path} is a device or a pipe; expected a file.", expected)
    if not is_file(path):
        raise missing_file(path, expected)
    kind = path.suffix.lower()
    if kind not in READERS:
        raise DataError(f"{path}: unsupported file type '{kind}'.", expected)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.", expected)
    check_table_fits(path)
    try:
        if kind in (".csv", ".tsv"):
            frame = read_delimited(path, expected, delimiter=delimiter, encoding=encoding, guesses=guesses)
        elif kind in WORKBOOKS:
            from evenhand.prompts.own_files.workbooks import read_workbook

            frame = read_workbook(path, expected, sheet=sheet)
        elif kind == ".parquet":
            frame = read_parquet(path)
        else:
            frame = _read_json_lines(path, expected)
    except UNREADABLE as error:
        raise DataError(
            f"{path} cannot be read as {kind[1:]}: {str(error).splitlines()[0]}.", expected
        ) from error
    if frame.is_empty():
        raise DataError(f"{path} contains no rows.", expected)
    return frame


def _read_json_lines(path: Path, expected: str) -> pl.DataFrame:
    rows = []
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            if b"\0" in line:
                raise DataError(
                    f"{path} is not a text file: it contains zero bytes (the first in line {number}).",
                    expected,
                )
            try:
                row = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}, line {number}: byte {line[error.start]:#04x} is not UTF-8.",
                    "Save the file as UTF-8 and try again.",
                ) from error
            except ValueError as error:  # also raised for a number with too many digits
                raise DataError(f"{path}, line {number}: not valid JSON: {error}.", expected) from error
            if not isinstance(row, dict):
                raise DataError(f"{path}, line {number}: expected an object, found {line[:40]!r}.", expected)
            if line.count(b"{") + line.count(b"[") > MOST_LEVELS and _count_levels(row) > MOST_LEVELS:
                raise DataError(
                    f"{path}, line {number}: values are nested more than {MOST_LEVELS} levels deep.", expected
                )
            if b"\\ud" in line.lower():  # a lone surrogate, which no table can store
                _refuse_surrogates(row, f"{path}, line {number}", expected)
            if len(row) < line.count(b":") and (twice := _named_twice(line)):
                raise DataError(f"{path}, line {number}: the key {twice!r} occurs twice.", expected)
            rows.append(row)
    from evenhand.prompts.own_files.lm_eval_samples import are_samples, rows_of_samples

    if are_samples(rows):
        try:
            rows = rows_of_samples(rows)
        except ValueError as error:
            raise DataError(f"{path} contains samples of lm_eval, but {error}.", expected) from error
    try:
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: a column contains values of different types: {error}.",
            "Write only numbers, or only texts, in a column.",
        ) from error


def _count_levels(value: object) -> int:
    """Return how deeply objects and lists are nested, counted up to one more than is allowed.

    >>> _count_levels({"a": [1, {"b": 2}]}), _count_levels("text")
    (3, 0)
    """
    level, values = 0, [value]
    while level <= MOST_LEVELS:
        containers = [each for each in values if isinstance(each, dict | list)]
        if not containers:
            break
        values = [part for each in containers for part in (each.values() if isinstance(each, dict) else each)]
        level += 1
    return level


def _named_twice(line: bytes) -> str | None:
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = Counter(name for name, _ in pairs)
        found.extend(name for name, times in names.items() if times > 1)
        return dict(pairs)

    json.loads(line.decode("utf-8-sig"), object_pairs_hook=look)
    return found[0] if found else None


def _refuse_surrogates(row: dict[str, Any], where: str, expected: str) -> None:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: it contains half a character (the lone surrogate {error.object[error.start]!a}).",
            expected,
        ) from error


def require_columns(frame: pl.DataFrame, needed: Sequence[str], path: Source, expected: str) -> None:
    """Raise DataError, with similar names, if a user's table lacks a column.

    Parameters
    ----------
    expected
        The documented format, for the error message.
    """
    if lacking := missing_columns(path, needed, frame.columns, expected):
        raise lacking


def with_names(frame: pl.DataFrame, path: Source) -> pl.DataFrame:
    """Return a user's table in which naming columns are text, because codes, years and times can be names, too.

    Raises DataError for a column that cannot be text and, with the row, for an axis or group that is only spaces.
    """
    for column in NAMES:
        if column in frame.columns:
            frame = frame.with_columns(text_column(frame, column, path))
    for column in ("axis", "group", "descriptor"):
        if column in frame.columns:
            names = frame[column]
            blank = (names.str.strip_chars() == "").arg_true()
            if len(blank):
                row = int(blank[0])
                raise DataError(
                    f"{path}, row {row + 1}: '{column}' must be a name, got {names[row]!r}.",
                    "Write a name, or remove the row.",
                )
    return frame


def number_column(
    frame: pl.DataFrame, column: str, path: Source, hint: Callable[[str], str] | None = None
) -> pl.Series:
    """Convert a column of a user's table to Float64, with null for missing values (MISSING_WORDS).

    `hint` returns how a word that is not a number can be corrected. Raises a DataError that names the row.
    """
    values = frame[column]
    if values.dtype != pl.String:
        if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
            raise DataError(
                f"{path}: the column '{column}' contains {values.dtype}, not numbers.",
                "Write one number in each row, or leave the row empty.",
            )
        return values.cast(pl.Float64)
    words = values.str.strip_chars()
    # the word nan means that a model returned NaN; other words mean that there is no value
    nan = words.str.to_lowercase() == "nan"
    missing = words.str.to_lowercase().is_in(MISSING_WORDS) & ~nan
    numbers = words.set(missing, None).cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & ~missing & words.is_not_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{path}, row {row + 1}: '{column}' is {values[row]!r}, which is not a number.",
            hint and hint(words[row]),
        )
    return numbers


def text_column(frame: pl.DataFrame, column: str, path: Source) -> pl.Series:
    """Convert a column of a user's table to String. Raise a DataError with its type for lists, objects and bytes."""
    values = frame[column]
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise DataError(
            f"{path}: the column '{column}' contains {values.dtype}, not text.", "Write one text in each row."
        )
    return values.cast(pl.String)
