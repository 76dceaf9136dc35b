"""Read births by first name and sex in the United States, and compute how strongly a name belongs to one gender.

The Social Security Administration publishes names.zip. It has a file yobYYYY.txt per year, with lines such as
"Mary,F,7065".
"""

import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from evenhand.prompts.own_files import number_column, read_table, require_columns
from evenhand.schema import DataError, checked, is_file, is_folder, missing_file

FIRST_YEAR, LAST_YEAR = 1920, 2019
"""First and last year of the published lists."""
POPULAR_FROM, POPULAR_TO = 1950, 2009
"""First and last year of the period from which Newman et al. (2018) selected popular names."""
TIERS = ("low", "medium", "high", "very high")
UPPER = (0.75, 0.95, 0.99)
"""Upper bound of each tier but the last, as the share of the gender of a name. The bound of "low" is not part of it."""
NOT_NAMES = (
    "Unknown",
    "Unnamed",
    "Notnamed",
    "Baby",
    "Babyboy",
    "Babygirl",
    "Infant",
    "Male",
    "Female",
    "Noname",
)
"""Entries of birth certificates that are not names, such as those of children without a name yet."""
COLUMNS = {"name": pl.String, "female": pl.Int64, "male": pl.Int64, "popular": pl.Int64}
SUMS = ("name", "female_births", "male_births")
MOST_BYTES = 1 << 28
MOST_BIRTHS = 10**9
"""Maximum number in one line. No name has this many births."""
YEAR = re.compile(r"(?:.*/)?yob(\d{4})\.txt", re.IGNORECASE)
FORMAT = (
    "Expected names.zip of the Social Security Administration (yob1920.txt to yob2019.txt, lines such as Mary,F,7065) "
    f"or a folder of these files. Also accepted: a CSV file of sums with the columns {', '.join(SUMS)}."
)


def tier(share: float | None) -> str | None:
    """Return how strongly a name belongs to one gender: low below 75%, medium to 95%, high to 99%, very high above.

    `share` is the share of the name's gender in all births with the name, from 0 to 1; None gives None. The paper does
    not define the tier of exactly 95% and 99%; here, it is the lower one. Source: Smith & Williams 2021, table 3.

    >>> [tier(share) for share in (0.7499, 0.75, 0.95, 0.9501, 0.99, 0.991)]
    ['low', 'medium', 'medium', 'high', 'high', 'very high']
    """
    if share is None:
        return None
    if share < UPPER[0]:
        return TIERS[0]
    return TIERS[1 + sum(share > bound for bound in UPPER[1:])]


@checked
def read_births(source: Path | str) -> pl.DataFrame:
    """Read the numbers of births of each first name in the US from 1920 to 2019.

    Parameters
    ----------
    source : path or str
        names.zip, a folder that contains it or the yearly files, or a CSV file of sums over all years with the columns
        name, female_births and male_births.

    Returns
    -------
    polars.DataFrame
        Sorted by name. Columns: name, female and male (numbers of births), and popular (births from 1950 to 2009; null
        for a file of sums). Other years and entries that are not names ("Unknown", "Baby") are left out.

    Raises
    ------
    DataError
        Data are missing or invalid. The message names the file and the line.
    """
    path = Path(source).expanduser()
    if is_folder(path):
        inside = [path / "names.zip", *sorted(path.glob("ssa_names*.csv"))]
        years = {int(match[1]): file for file in path.iterdir() if (match := YEAR.fullmatch(file.name))}
        if years:
            counted = _sum_births(path, ((year, file.read_bytes()) for year, file in sorted(years.items())))
        elif found := next((file for file in inside if is_file(file)), None):
            return read_births(found)
        else:
            raise DataError(f"{path} contains neither names.zip nor yearly files (yob1950.txt, ...).", FORMAT)
    elif path.suffix.lower() == ".zip":
        counted = _from_archive(path)
    else:
        counted = _sums(path)
    births = counted.filter(~pl.col("name").is_in(NOT_NAMES)).sort("name")
    if births.is_empty():
        raise DataError(f"{path} contains no names.", FORMAT)
    return births


def _from_archive(path: Path) -> pl.DataFrame:
    if not is_file(path):
        raise missing_file(path, FORMAT)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                int(match[1]): member
                for member in archive.infolist()
                if (match := YEAR.fullmatch(member.filename))
            }
            if sum(member.file_size for member in members.values()) > MOST_BYTES:
                raise DataError(f"{path} unpacks to more than {MOST_BYTES >> 20} MiB.", FORMAT)
            return _sum_births(
                path, ((year, archive.read(member)) for year, member in sorted(members.items()))
            )
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        RuntimeError,
        EOFError,
    ) as error:
        raise DataError(f"{path} is not an archive that can be read: {error}.", FORMAT) from error


def _sum_births(path: Path, files: Iterator[tuple[int, bytes]]) -> pl.DataFrame:
    sums: dict[str, Counter[str]] = {"F": Counter(), "M": Counter(), "popular": Counter()}
    seen = set()
    for year, content in files:
        if not FIRST_YEAR <= year <= LAST_YEAR:
            continue
        seen.add(year)
        for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), 1):
            name, sex, births = _line(line, path, year, number)
            sums[sex][name] += births
            if POPULAR_FROM <= year <= POPULAR_TO:
                sums["popular"][name] += births
    if missing := [year for year in range(FIRST_YEAR, LAST_YEAR + 1) if year not in seen]:
        raise DataError(
            f"{path}: {len(missing)} of the years {FIRST_YEAR} to {LAST_YEAR} are missing (the first: "
            f"{missing[0]}).",
            FORMAT,
        )
    names = sorted(sums["F"].keys() | sums["M"].keys())
    return pl.DataFrame(
        {
            "name": names,
            "female": [sums["F"][name] for name in names],
            "male": [sums["M"][name] for name in names],
            "popular": [sums["popular"][name] for name in names],
        },
        schema=COLUMNS,
    )


def _line(line: str, path: Path, year: int, number: int) -> tuple[str, str, int]:
    parts = line.strip().split(",")
    births = parts[2] if len(parts) == 3 and len(parts[2]) < len(str(MOST_BIRTHS)) else ""
    if not parts[0].isalpha() or parts[1:2] not in (["F"], ["M"]) or not births.isdecimal():
        where = f"{path}, yob{year}.txt, line {number}"
        raise DataError(f"{where}: expected a line such as Mary,F,7065, got {line.strip()[:40]!r}.", FORMAT)
    return parts[0], parts[1], int(births)


def _sums(path: Path) -> pl.DataFrame:
    frame = read_table(path, FORMAT)
    require_columns(frame, SUMS, path, FORMAT)
    births = {column: number_column(frame, column, path) for column in SUMS[1:]}
    for column, values in births.items():
        wrong = values.is_null() | ~values.is_between(0, MOST_BIRTHS) | (values != values.floor())
        wrong = wrong.fill_null(True)
        if wrong.any():
            row = int(wrong.arg_true()[0])
            raise DataError(
                f"{path}, row {row + 1}: {column} must be a count, got {frame[column][row]!r}.", FORMAT
            )
    if frame["name"].null_count():
        raise DataError(
            f"{path}, row {int(frame['name'].is_null().arg_true()[0]) + 1}: the name is missing.", FORMAT
        )
    if frame["name"].is_duplicated().any():
        twice = frame["name"].filter(frame["name"].is_duplicated())[0]
        raise DataError(f"{path}: the name {twice} occurs more than once.", "Add up its rows.")
    return pl.DataFrame(
        {
            "name": frame["name"],
            "female": births["female_births"],
            "male": births["male_births"],
            "popular": None,
        },
        schema=COLUMNS,
    )


def with_gender(names: pl.DataFrame, births: pl.DataFrame) -> pl.DataFrame:
    """Add gender, share and tier to names, from the births with their spelling.

    names: a table with the column `spelling`, the name as in the births. births: a table from `read_births`. Returns
    `names` with the columns of the births and the new columns gender ("woman" if most births were female, "man" if most
    were male, null if there are as many of both or none), share (of the more frequent sex, 0.5 to 1; null without
    births), and tier.
    """
    counted = names.join(
        births.rename({"name": "spelling"}), on="spelling", how="left", maintain_order="left"
    ).with_columns(pl.col("female", "male").fill_null(0))
    women, men = pl.col("female"), pl.col("male")
    share = pl.max_horizontal(women, men) / (women + men)
    return counted.with_columns(
        gender=pl.when(women > men).then(pl.lit("woman")).when(men > women).then(pl.lit("man")),
        share=pl.when(women + men > 0).then(share),
    ).with_columns(tier=pl.col("share").map_elements(tier, return_dtype=pl.String))
