"""Eight lists by race, ethnicity and gender: the published counts, and what the corrected recipe mends."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.names import race_lists, read_births, read_shares
from evenhand.prompts.names.recipe import read_extras
from evenhand.prompts.names.spelling import published_spelling
from evenhand.schema import DataError

GROUPS = ("pcthispanic", "pctwhite", "pctblack", "pctapi", "pctaian", "pct2prace")


def shares(**names: tuple[float, ...]) -> pl.DataFrame:
    """Observations and the percentages of Hispanic, white, Black and API bearers."""
    rows = [
        {
            "firstname": name,
            "obs": float(obs),
            **dict.fromkeys(GROUPS, 0.0),
            **dict(zip(GROUPS, rest, strict=False)),
        }
        for name, (obs, *rest) in names.items()
    ]
    return pl.DataFrame(rows)


def births(**names: tuple[int, int]) -> pl.DataFrame:
    rows = [(name, women, men, None) for name, (women, men) in names.items()]
    schema = {"name": pl.String, "female": pl.Int64, "male": pl.Int64, "popular": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def extras(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["name", "race_ethnicity", "source"], orient="row")


TABLE = shares(
    JOSE=(10, 90, 5, 3, 2), DIANA=(20, 20, 60, 10, 10), PRIYA=(5, 0, 10, 0, 90), ODD=(5, 0, 10, 80, 10)
)
BORN = births(Jose=(1, 99), Diana=(80, 1), Priya=(9, 0), Odd=(4, 4), Bobbiesue=(5, 0), Yolanda=(9, 0))
MORE = extras(
    ("José", "Hispanic", "one"),
    ("Diana", "Hispanic", "one"),
    ("Bobbie-Sue", "white", "two"),
    ("Yolanda", "Black", "two"),
)


def test_the_corrected_recipe() -> None:
    made = race_lists(TABLE, BORN, MORE)
    told = {
        (row["name"], row["race_ethnicity"], row["gender"], row["source"]) for row in made.names.to_dicts()
    }
    assert told == {
        ("Jose", "Hispanic", "man", "tzioumis2018|one"),  # one name, whatever its accents
        ("Diana", "white", "woman", "tzioumis2018"),  # where those who bear it put it
        ("Priya", "AAPI", "woman", "tzioumis2018"),
        ("Bobbie-Sue", "white", "woman", "two"),
        ("Yolanda", "Black", "woman", "two"),
    }
    assert made.unknown.rows() == [("Odd", "Black")]  # as often of one sex as of the other
    assert made.clashes.rows() == [("Diana", ["white", "Hispanic"], "white")]


def test_the_published_recipe_keeps_its_defects() -> None:
    made = race_lists(TABLE, BORN, MORE, "published")
    assert ("José", "Hispanic") in made.unknown.rows()
    assert made.names.filter(name="Diana")["race_ethnicity"].sort().to_list() == ["Hispanic", "white"]
    assert "Yolanda" not in made.names["name"].to_list()  # taken out by hand


def test_a_clash_of_extras_alone_is_in_no_list() -> None:
    made = race_lists(TABLE, BORN, extras(("Yolanda", "Black", "a"), ("Yolanda", "Hispanic", "b")))
    assert made.clashes.rows() == [("Yolanda", ["Black", "Hispanic"], None)]
    assert "Yolanda" not in made.names["name"].to_list()


def test_two_hundred_with_the_most_bearers() -> None:
    # the estimated number of bearers in the group counts, not the observations
    many = {
        f"N{'ABCDEFGHIJKLMNOPQRST'[i // 20]}{'abcdefghijklmnopqrst'[i % 20]}".upper(): (100 + i, 0, 90, 5, 5)
        for i in range(210)
    }
    table = shares(FEW=(1_000, 0, 51, 49, 0), **many)
    born = births(Few=(1, 0), **{name.capitalize(): (1, 0) for name in many})
    listed = race_lists(table, born).names
    assert listed.height == 200 and "Few" in listed["name"].to_list()
    assert set(name.capitalize() for name in list(many)[:11]).isdisjoint(listed["name"].to_list())


def test_extras_are_read_and_others_refused(tmp_path: Path) -> None:
    file = tmp_path / "extras.csv"
    file.write_text("name,race_ethnicity\nJosé,hispanic\nJamal,Black\n", encoding="utf-8")
    assert read_extras(file).rows() == [("José", "Hispanic", "extra"), ("Jamal", "Black", "extra")]
    for text, message in {
        "name,race_ethnicity\nMei,AAPI\n": "its group is unknown .name 'Mei', group 'AAPI'",
        "name,race_ethnicity\n,white\n": "name None, group 'white'",
        "name,race_ethnicity\nAnn 2,white\n": "row 1: 'Ann 2' is not a first name that can be looked up",
        "name,group\nAnn,white\n": "no column 'race_ethnicity'",
    }.items():
        file.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=message):
            read_extras(file)
    with pytest.raises(DataError, match="None of the names occurs in the birth statistics"):
        race_lists(TABLE, births(Somebody=(1, 0)))


@pytest.mark.parity
def test_the_published_counts(shared: Path, tmp_path: Path) -> None:
    # methods: 740 names (the paper has 732), 132 AAPI men, its largest list; sums of births below 500 are in a file of
    # their own there, so both are put together
    known = pl.read_csv(shared / "data/names/names_race_gender_reconstructed.csv")
    sums = pl.read_csv(shared / "data/names/ssa_names_1920_2019_min500.csv").drop("share_majority")
    rare = known.select(
        pl.col("name").map_elements(published_spelling, return_dtype=pl.String),
        female_births="ssa_f_1920_2019",
        male_births="ssa_m_1920_2019",
    ).unique("name")
    pl.concat([sums, rare.filter(~pl.col("name").is_in(sums["name"].to_list()))]).write_csv(
        tmp_path / "births.csv"
    )
    further = known.with_columns(source=pl.col("sources").str.split("|")).explode("source")
    further = further.filter(pl.col("source") != "tzioumis2018").select("name", "race_ethnicity", "source")
    further.write_csv(tmp_path / "extras.csv")
    tables = (
        read_shares(shared / "data/names"),
        read_births(tmp_path / "births.csv"),
        read_extras(tmp_path / "extras.csv"),
    )
    published = race_lists(*tables, "published")
    sizes = {
        row[:2]: row[2] for row in published.names.group_by("race_ethnicity", "gender").len().iter_rows()
    }
    assert sizes == {
        ("AAPI", "man"): 132, ("AAPI", "woman"): 58, ("Hispanic", "man"): 118, ("Hispanic", "woman"): 88,
        ("white", "man"): 105, ("white", "woman"): 121, ("Black", "man"): 57, ("Black", "woman"): 61,
    }  # fmt: skip
    assert published.names.height == 740 and published.unknown.height == 14
    called = {"hispanic": "Hispanic", "white": "white", "black": "Black", "api": "AAPI"}
    expected = {
        (row["name"].replace("-", ""), called[row["race_ethnicity"]], row["ssa_majority_gender"])
        for row in known.to_dicts()
        if row["ssa_majority_gender"] != "unknown"
    }
    got = {
        (row["name"].replace("-", ""), row["race_ethnicity"], row["gender"])
        for row in published.names.to_dicts()
    }
    assert got == expected
    assert published.clashes.rows() == [("Diana", ["white", "Hispanic"], "white")]
    corrected = race_lists(*tables)
    assert corrected.names.height == 739 and corrected.unknown.height == 11
    unknown = set(corrected.unknown["name"])
    assert unknown.isdisjoint({"José", "Jesús", "César"}) and unknown | {"José", "Jesús", "César"} == set(
        published.unknown["name"]
    )
