"""Read the table of Tzioumis (2018): race and ethnicity of US mortgage applicants by first name."""

import hashlib
from pathlib import Path

import polars as pl

from evenhand.prompts.names.workbook import sheets
from evenhand.prompts.own_files import number_column, read_table, require_columns
from evenhand.schema import DataError, checked, is_file, is_folder

GROUPS = {"pcthispanic": "Hispanic", "pctwhite": "white", "pctblack": "Black", "pctapi": "AAPI"}
"""Column of the table and name of each group that has a list of names."""
OTHERS = ("pctaian", "pct2prace")
COLUMNS = ("firstname", "obs", *GROUPS, *OTHERS)
REMAINDER = "ALL OTHER FIRST NAMES"
FILES = ("firstnames.xlsx", "firstnames.csv", "tzioumis2018_firstnames.csv", "firstnames.tab")
TOLERANCE = 1.0
"""Maximum difference, in percentage points, between the sum of a name's shares and 100."""
FORMAT = (
    "Expected firstnames.xlsx of doi.org/10.7910/DVN/TYJKEZ (`evenhand data fetch tzioumis`), or the same as CSV, with "
    f"the columns {', '.join(COLUMNS)}."
)


@checked
def read_shares(source: Path | str) -> pl.DataFrame:
    """Read the published table of self-reported race and ethnicity by first name.

    Parameters
    ----------
    source : path or str
        firstnames.xlsx, the same table as CSV or tab-separated text (.tab), or a folder that contains one of these.

    Returns
    -------
    polars.DataFrame
        One row per name, in the order of the file, without the row for all other names. Columns: firstname, obs
        (number of people), and the percentages pcthispanic, pctwhite, pctblack, pctapi (Asian or Pacific Islander),
        pctaian (American Indian or Alaska Native) and pct2prace (two or more races).

    Raises
    ------
    DataError
        A file or column is missing, or a row is invalid or repeated. The message names the row.

    References
    ----------
    - Tzioumis 2018.
    """
    path = Path(source).expanduser()
    if is_folder(path):
        found = [path / name for name in FILES if is_file(path / name)]
        if not found:
            raise DataError(f"{path} contains none of {', '.join(FILES)}.", FORMAT)
        path = found[0]
    frame = _table(path)
    require_columns(frame, COLUMNS, path, FORMAT)
    frame = frame.filter(pl.col("firstname") != REMAINDER)
    numbers = {column: number_column(frame, column, path) for column in COLUMNS[1:]}
    table = pl.DataFrame({"firstname": frame["firstname"], **numbers})
    of_all = sum((table[column] for column in (*GROUPS, *OTHERS)), start=pl.Series([0.0] * table.height))
    wrong = table.with_columns(all=of_all).select(
        (
            pl.any_horizontal(pl.all().is_null())
            | (pl.col("obs") < 1)
            | ~pl.all_horizontal(pl.col(*GROUPS, *OTHERS).is_between(0, 100))
            | ((pl.col("all") - 100).abs() > TOLERANCE)
        ).fill_null(True)
    )
    if len(rows := wrong.to_series().arg_true()):
        row = int(rows[0])
        raise DataError(
            f"{path}, row {row + 1} ({table['firstname'][row]}): the shares must be 0 to 100 and add up to 100, "
            "and obs must be at least 1.",
            FORMAT,
        )
    if table.is_empty():
        raise DataError(f"{path} contains no name.", FORMAT)
    if table["firstname"].is_duplicated().any():
        twice = table["firstname"].filter(table["firstname"].is_duplicated())[0]
        raise DataError(f"{path}: {twice} occurs more than once.", FORMAT)
    return table


def _table(path: Path) -> pl.DataFrame:
    kind = path.suffix.lower()
    if kind not in (".xlsx", ".tab"):
        return read_table(path, FORMAT)
    if kind == ".tab":
        try:
            rows = [line.split("\t") for line in path.read_text(encoding="utf-8-sig").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read: {error}.", FORMAT) from error
        rows = [[value.strip('"') for value in row] for row in rows]
    else:
        rows = next((sheet for sheet in sheets(path) if sheet and "firstname" in sheet[0]), [])
    if not rows:
        raise DataError(f"{path} contains no table with the column firstname.", FORMAT)
    head, width = rows[0], len(rows[0])
    if twice := next((name for name in head if head.count(name) > 1), None):
        raise DataError(
            f"{path}: the column {twice!r} occurs {head.count(twice)} times.", "Remove all but one."
        )
    padded = [[*row, *[""] * (width - len(row))][:width] for row in rows[1:] if any(row)]
    return pl.DataFrame(padded, schema={name: pl.String for name in head}, orient="row")


def content_sha256(folder: Path) -> str:
    """Return the SHA-256 (hex) of the table, which is the same for a workbook and a CSV file.

    It is computed from the rows in order of the names, with percentages rounded to three decimals.
    """
    table = read_shares(folder).sort("firstname")
    lines = [f"{row[0]},{row[1]:.0f},{','.join(f'{value:.3f}' for value in row[2:])}" for row in table.rows()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
