"""Read one sheet of a workbook (Excel and similar programs), whose first row is the heading."""

from collections import Counter
from pathlib import Path

import polars as pl

from evenhand.prompts.own_files.workbook_sizes import check_workbook_fits
from evenhand.schema import DataError, UsageError, did_you_mean, list_names

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Formats that the extra `excel` reads."""


def read_workbook(path: Path, expected: str, *, sheet: str | None = None) -> pl.DataFrame:
    """Read a table from a sheet. Numbers stay numbers, formulas have their last result, and error cells are empty.

    sheet: name of the sheet; None: the only one with content. Raises DataError for a file that is not a workbook, an
    unknown sheet, several possible sheets, missing or repeated column names, a sheet that does not fit in memory, and
    if the extra is not installed.
    """
    try:
        import fastexcel
    except ImportError as error:
        raise DataError(
            f"{path} is a workbook, but the package that reads workbooks is not installed.",
            "Install it: pip install 'evenhand[excel]'. Or save the sheet as CSV UTF-8.",
        ) from error
    check_workbook_fits(path, expected, sheet=sheet)
    try:
        book = fastexcel.read_excel(path)
        names = book.sheet_names
        if sheet is None:
            filled = [name for name in names if book.load_sheet(name, header_row=None).height]
            if len(filled) > 1:
                raise DataError(
                    f"{path} has several sheets: {', '.join(filled[:20])}.",
                    f"Choose one: --sheet '{filled[0]}'",
                )
            sheet = filled[0] if filled else names[0]
        elif sheet not in names:
            guess = did_you_mean(sheet, names)
            raise UsageError(f"{path} has no sheet {sheet!r} (found: {list_names(names)}).{guess}")
        rows = pl.DataFrame(book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string"))
        heading = [] if rows.is_empty() else [value or "" for value in rows.row(0)]
        _check_heading(path, [name.strip() for name in heading])
        return pl.DataFrame(book.load_sheet(sheet, header_row=0, schema_sample_rows=None))
    except fastexcel.FastExcelError as error:
        raise DataError(f"{path} cannot be read: {str(error).splitlines()[0]}.", expected) from error


def _check_heading(path: Path, names: list[str]) -> None:
    if not any(names):
        raise DataError(
            f"{path} has no heading.", "Write the names of the columns into the first row of the sheet."
        )
    if "" in names:
        raise DataError(
            f"{path}, line 1: column {names.index('') + 1} has no name.",
            "Give the column a name in the first row, or delete it.",
        )
    if twice := next((name for name, times in Counter(names).items() if times > 1), None):
        raise DataError(
            f"{path}, line 1: the column {twice!r} occurs {names.count(twice)} times.",
            "Rename these columns, or remove all but one.",
        )
