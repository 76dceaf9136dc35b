"""Read values that a user declares to be missing (`--missing "k.A."`) as missing, in all columns of a table."""

from collections.abc import Sequence

import polars as pl

from evenhand.schema import UsageError

_LISTED = 8


def without_declared(table: pl.DataFrame, missing: Sequence[str], notes: list[str]) -> pl.DataFrame:
    """Return the table with the declared values as nulls.

    Parameters
    ----------
    table
        As read.
    missing
        Texts. A cell is missing if it is one of them, without the blanks around it and in any case of letters; a
        number is missing if its value is that of a text which is a number ("-99").
    notes
        Takes a sentence with how many cells of which columns are missing by each value, also if there are none.

    Raises
    ------
    UsageError
        A declared value that is empty (an empty cell is missing anyway). A value that is in no cell is no error:
        the same command must work for a file in which nothing is missing.

    >>> notes = []
    >>> without_declared(pl.DataFrame({"pay": ["3", "k.A."]}), ["k.A."], notes)["pay"].to_list(), notes
    (['3', None], ["1 cell is read as missing, 'k.A.' (pay 1)."])
    """
    for value in missing:
        if not value.strip():
            raise UsageError(
                "`--missing` got an empty value. Empty cells always count as missing.", "Remove it."
            )
        is_value = [_cells(table[name], value.strip()).alias(name) for name in table.columns]
        found = {cells.name: int(cells.sum()) for cells in is_value if cells.any()}
        if not found:
            notes.append(
                f"No cell has the missing value {value.strip()!r}. Whole cells are compared, in upper or lower case."
            )
            continue
        table = table.with_columns(
            pl.when(~cells).then(pl.col(cells.name)).alias(cells.name)
            for cells in is_value
            if cells.name in found
        )
        cells = sum(found.values())
        listed = ", ".join(f"{name} {count:,}" for name, count in list(found.items())[:_LISTED])
        more = f" and {len(found) - _LISTED} more columns" if len(found) > _LISTED else ""
        notes.append(
            f"{cells:,} {'cell is' if cells == 1 else 'cells are'} read as missing, {value.strip()!r} "
            f"({listed}{more})."
        )
    return table


def _cells(values: pl.Series, value: str) -> pl.Series:
    """Return whether each value of a column is the declared one."""
    if values.dtype == pl.String:
        return (values.str.strip_chars().str.to_lowercase() == value.lower()).fill_null(False)
    number = _number(value)
    if number is not None and values.dtype.is_numeric():
        return (values.cast(pl.Float64) == number).fill_null(False)
    return pl.Series([False]).new_from_index(0, len(values))


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
