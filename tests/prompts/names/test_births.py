"""Births by name: the owner's archive, folders and sums, tiers at their bounds, and what is wrong in such files."""

import zipfile
from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.names import TIERS, read_births, tier
from evenhand.prompts.names.births import with_gender
from evenhand.schema import DataError

YEARS = range(1919, 2021)


def year_files(folder: Path, line: str = "") -> Path:
    """Mary and John each year, Kim once of each sex; the first and last year are outside."""
    for year in YEARS:
        text = f"Mary,F,{100 if 1950 <= year <= 2009 else 1}\r\nUnknown,F,50\r\nJohn,M,2\r\n"
        if year == 1960:
            text += f"Kim,F,3\r\nKim,M,1\r\n{line}"
        (folder / f"yob{year}.txt").write_text(text, encoding="utf-8", newline="")
    return folder


def zipped(folder: Path, target: Path, below: str = "") -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for path in folder.glob("yob*.txt"):
            archive.write(path, below + path.name)
        archive.writestr("NationalReadMe.pdf", b"%PDF")
    return target


def test_an_archive_a_folder_of_years_and_a_folder_with_the_archive_are_the_same(tmp_path: Path) -> None:
    (years := tmp_path / "years").mkdir()
    year_files(years)
    (kept := tmp_path / "kept").mkdir()
    archive = zipped(years, kept / "names.zip", "names/")
    tables = [read_births(source) for source in (years, archive, kept)]
    assert tables[0].rows() == [("John", 0, 200, 120), ("Kim", 3, 1, 4), ("Mary", 6_040, 0, 6_000)]
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])


def test_sums_are_taken_where_the_years_are_not_known(tmp_path: Path) -> None:
    file = tmp_path / "sums.csv"
    file.write_text("name,female_births,male_births\nMary,10,1\nBaby,5,5\n")
    assert read_births(file).rows() == [("Mary", 10, 1, None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,female_births,male_births\nMary,ten,1\n", "'female_births' is 'ten', which is not a number"),
        ("name,female_births,male_births\nMary,1.5,1\n", "row 1: female_births must be a count, got '1.5'"),
        ("name,female_births,male_births\nMary,-1,1\n", "must be a count"),
        ("name,female_births,male_births\nMary,1e23,1\n", "female_births must be a count, got '1e23'"),
        ("name,female_births,male_births\nMary,inf,1\n", "must be a count"),
        ("name,female_births,male_births\nMary,,1\n", "must be a count"),
        ("name,female_births,male_births\nMary,1,1\nMary,2,2\n", "Mary occurs more than once"),
        ("name,births\nMary,1\n", "no columns 'female_births', 'male_births'"),
        ("name,female_births,male_births\nBaby,1,1\n", "contains no name"),
        ("", "is empty"),
    ],
)
def test_broken_sums_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "sums.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_births(tmp_path / "sums.csv")


@pytest.mark.parametrize("line", ["Kim;F;3", "Kim,X,3", "Kim,F,many", "Kim,F", "Kim,F,-3", ",F,3", "K1m,F,3"])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=r"yob1960\.txt, line 6: expected a line such as Mary,F,7065"):
        read_births(year_files(tmp_path, line))


def test_missing_years_and_files_are_named(tmp_path: Path) -> None:
    (year_files(tmp_path) / "yob1990.txt").unlink()
    with pytest.raises(DataError, match=r"1 of the years 1920 to 2019 are missing .the first: 1990"):
        read_births(tmp_path)
    (tmp_path / "broken.zip").write_bytes(b"PK no archive")
    with pytest.raises(DataError, match="is not an archive that can be read: File is not a zip file"):
        read_births(tmp_path / "broken.zip")
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"neither names\.zip nor yearly files"):
        read_births(empty)
    for missing in ("there.zip", "there.csv"):
        with pytest.raises(DataError, match="File not found"):
            read_births(tmp_path / missing)


def test_gender_is_that_of_most_births_and_nobody_s_where_they_are_as_many() -> None:
    births = pl.DataFrame(
        {"name": ["Ann", "Bo", "Cy"], "female": [3, 5, 1], "male": [1, 5, 99], "popular": None}
    )
    told = with_gender(pl.DataFrame({"spelling": ["Cy", "Bo", "Ann", "Di"]}), births)
    assert told.select("gender", "share", "tier").rows() == [
        ("man", 0.99, "high"),
        (None, 0.5, "low"),
        ("woman", 0.75, "medium"),
        (None, None, None),
    ]
    assert tier(None) is None and tier(1.0) == TIERS[-1]


@pytest.mark.parity
def test_the_tiers_of_the_names_of_1950_to_2009(shared: Path) -> None:
    listed = pl.read_csv(shared / "data/names/names_gender_ssa_top_1950_2009.csv")
    births = read_births(shared / "data/names")
    told = with_gender(listed.select("name", spelling="name"), births)
    assert told["gender"].to_list() == listed["gender"].to_list()
    assert told["tier"].str.replace(" ", "_").to_list() == listed["genderedness_tier"].to_list()
    counts = dict(told["tier"].value_counts().iter_rows())
    assert counts == {"low": 5, "medium": 27, "high": 53, "very high": 314}


def test_an_archive_with_broken_bytes_or_counts_beyond_reason(tmp_path: Path) -> None:
    (years := tmp_path / "years").mkdir()
    year_files(years, "Ann,F,99999999999999999999999\n")
    with pytest.raises(
        DataError,
        match=r"yob1960\.txt, line 6: expected a line such as Mary,F,7065, got 'Ann,F,99999999999999999999999'",
    ):
        read_births(years)
    archive = tmp_path / "names.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("yob1950.txt", "".join(f"Ann,F,{n}\n" for n in range(999)))
    broken = bytearray(archive.read_bytes())
    broken[60:300] = bytes(byte ^ 0x5A for byte in broken[60:300])
    archive.write_bytes(bytes(broken))
    with pytest.raises(DataError, match="is not an archive that can be read"):
        read_births(archive)
