"""Describe the tables of a folder in one line a column, and compare them with stored rows or descriptions."""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tests.same_rows.compare import compare_folders, compare_tables

RECORDED = ("prompts/", "responses/", "labels/", "replications/", "counts.parquet", "judgements.parquet")
"""Parts of the paths of tables that store what was asked, answered or counted. No later version changes their rows."""
TOLERANCE = 1e-4
"""Largest absolute difference of recorded numbers: a model's 32-bit sums depend on processor and batch."""
RELATIVE = 1e-4
"""Largest relative difference of the numbers of a description, for the same reason."""
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def is_recorded(name: str) -> bool:
    """Return True for a table that stores what was asked, answered or counted."""
    return name.endswith(".parquet") and any(part in f"/{name}" for part in RECORDED)


def changed_records(stored: Path, now: Path) -> list[str]:
    """Return a line for each recorded table whose stored rows differ now; new tables and columns are allowed."""
    lines = []
    for one in compare_folders(stored, now, tolerance=TOLERANCE):
        old, new = stored / one.name, now / one.name
        if not one.difference or not is_recorded(one.name) or not list(stored.glob(one.name)):
            continue
        if old.is_file() and new.is_file():
            rows, columns = pl.read_parquet(new), pl.read_parquet(old).columns
            if set(columns) < set(rows.columns):
                one = compare_tables(one.name, pl.read_parquet(old), rows.select(columns), TOLERANCE)
        lines += [one.line] if one.difference else []
    return lines


def describe_tables(folder: Path) -> str:
    """Return a description of each computed table: its columns, their types and what summarises their values."""
    names = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.parquet")))
    lines = []
    for name in names:
        if not is_recorded(name):
            table = pl.read_parquet(folder / name)
            lines += [f"{name}: {table.height} rows", *describe_columns(table)]
    return "".join(f"{line}\n" for line in lines)


def describe_columns(table: pl.DataFrame) -> Iterator[str]:
    """Return a line for each column: of numbers the missing ones, mean, smallest and largest, of others a digest."""
    for name, kind in table.schema.items():
        column = table[name]
        if kind.is_numeric() and column.len():
            finite = column.cast(pl.Float64).drop_nulls().drop_nans()
            values = (finite.mean(), finite.min(), finite.max()) if finite.len() else ()
            shown = " ".join(f"{value:.7g}" for value in values)
            yield f"  {name} {kind}: {column.len() - finite.len()} missing; {shown}"
        elif kind.is_nested():
            yield f"  {name} {kind}: {column.null_count()} missing"
        else:
            text = json.dumps(column.cast(pl.String).to_list())
            yield f"  {name} {kind}: {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def changed_lines(stored: str, now: str) -> list[str]:
    """Return the lines of two descriptions that differ by more than the rounding of another processor."""
    old, new = stored.splitlines(), now.splitlines()
    if len(old) != len(new):
        return [line for line in (*old, *new) if (line in old) != (line in new)]
    return [f"{one}  ->  {other}" for one, other in zip(old, new, strict=True) if not is_near(one, other)]


def is_near(one: str, other: str) -> bool:
    """Return True if two lines have the same words, and numbers that differ by rounding only."""
    if one == other:
        return True
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=TOLERANCE) for a, b in pairs)
