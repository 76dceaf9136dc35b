"""Births by first name and sex in the United States, and how much a name is of one gender.

The Social Security Administration publishes names.zip: a file yobYYYY.txt for each year, lines such as "Mary,F,7065".
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
"""The years of the published lists."""
POPULAR_FROM, POPULAR_TO = 1950, 2009
"""The years of which Newman et al. (2018) took popular names."""
TIERS = ("low", "medium", "high", "very high")
UPPER = (0.75, 0.95, 0.99)
"""Largest share of the majority of each tier but the last; the lowest is below it, the others include it."""
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
"""What certificates say where there was no name yet."""
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

    `share` is that of the more frequent sex in all births, 0.5 to 1; None gives None. 95% and 99% belong to the lower
    tier, which the paper leaves open. Source: Smith & Williams 2021, table 3.

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

    `source` is names.zip, a folder with it or with the yearly files, or a CSV file of sums. The table has the columns
    name, female, male (births), and popular (births from 1950 to 2009; null for a file of sums), sorted by name. Other
    years and non-names ("Unknown", "Baby") are left out. Raises a DataError with file and line for missing or invalid
    data.
    """
    path = Path(source).expanduser()
    if is_folder(path):
        inside = [path / "names.zip", *sorted(path.glob("ssa_names*.csv"))]
        years = {int(match[1]): file for file in path.iterdir() if (match := YEAR.fullmatch(file.name))}
        if years:
            counted = _summed(path, ((year, file.read_bytes()) for year, file in sorted(years.items())))
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
            return _summed(path, ((year, archive.read(member)) for year, member in sorted(members.items())))
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        RuntimeError,
        EOFError,
    ) as error:
        raise DataError(f"{path} is not an archive that can be read: {error}.", FORMAT) from error


def _summed(path: Path, files: Iterator[tuple[int, bytes]]) -> pl.DataFrame:
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
    """Names with gender, share of the majority and tier, by the births of `spelling`.

    names: a table with a column `spelling`. births: as `read_births`. Adds gender ("woman" where more births were
    female, "man" where more were male; null where they are as many, or none), share (0.5 to 1) and tier.
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
