"""Lists of names as one table: our own, those by births, files of the user; flags, tiers and the split."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.names import TIERS, is_common_word, load_names, read_births, read_shares
from evenhand.prompts.names.births import with_gender
from evenhand.prompts.names.spelling import statistics_spelling
from evenhand.schema import DataError, DatasetMissing, UsageError

GROUPS = ("AAPI", "Black", "Hispanic", "white")


def test_our_own_list_holds_enough_of_every_group() -> None:
    names = load_names()
    assert names.columns == [
        "name", "gender", "race_ethnicity", "tier", "share", "word_collision", "source", "split"
    ]  # fmt: skip
    assert not names["name"].is_duplicated().any() and names.height > 300
    sizes = {row[:2]: row[2] for row in names.group_by("gender", "race_ethnicity").len().iter_rows()}
    assert all(sizes[gender, group] >= 12 for gender in ("woman", "man") for group in (*GROUPS, None))
    by_tier = {row[:2]: row[2] for row in names.group_by("gender", "tier").len().iter_rows()}
    assert all(by_tier[gender, level] >= 12 for gender in ("woman", "man") for level in TIERS)
    assert len({statistics_spelling(name) for name in names["name"]}) == names.height  # nor but for accents


def test_the_split_halves_every_stratum_and_depends_on_the_seed_alone() -> None:
    names = load_names()
    strata = names.group_by("gender", "race_ethnicity", "tier", "split").len()
    wide = strata.with_columns(pl.col("len").cast(pl.Int64)).pivot(
        "split", index=["gender", "race_ethnicity", "tier"], values="len"
    )
    assert (wide["tune"].fill_null(0) - wide["test"].fill_null(0)).abs().max() == 1
    assert abs((names["split"] == "tune").sum() - (names["split"] == "test").sum()) <= 1
    assert load_names(seed=0).equals(names)
    other = load_names(seed=1)
    assert 0.3 < (other["split"] == names["split"]).mean() < 0.7  # type: ignore[operator]


def test_words_that_are_names_are_flagged() -> None:
    flagged = ("My", "Young", "May", "Rose", "Hope", "Will", "Prince", "Kim", "Ángel")
    assert all(is_common_word(name) for name in flagged)
    assert not any(is_common_word(name) for name in ("Martha", "Keisha", "Priya", "José", "Jacob"))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_the_user(tmp_path: Path) -> None:
    file = write(
        tmp_path / "mine.csv",
        "name,gender,race_ethnicity,share\nHope,woman,,0.995\nJosé,man,Hispanic,\nKim,woman,,0.6\n",
    )
    names = load_names(file)
    assert names.select("name", "tier", "word_collision", "source").rows() == [
        ("Hope", "very high", True, "mine.csv"),
        ("José", None, False, "mine.csv"),
        ("Kim", "low", True, "mine.csv"),
    ]
    births = write(tmp_path / "births.csv", "name,female_births,male_births\nJose,5,95\n")
    told = load_names(str(file), births=births)
    assert told.select("name", "share", "tier").rows() == [
        ("Hope", 0.995, "very high"), ("José", 0.95, "medium"), ("Kim", 0.6, "low")
    ]  # fmt: skip


def test_share_and_tier_are_those_of_the_stated_gender(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.csv", "name,gender\nJose,woman\nKim,man\nAnn,woman\n")
    births = write(tmp_path / "births.csv", "name,female_births,male_births\nJose,4,96\nKim,20,80\nAnn,0,0\n")
    names = load_names(file, births=births)
    told = names.select("name", "gender", "share", "tier").rows()
    assert told == [
        ("Jose", "woman", 0.04, "low"), ("Kim", "man", 0.8, "medium"), ("Ann", "woman", None, None)
    ]  # fmt: skip
    names.select("name", "gender", "share").write_csv(tmp_path / "again.csv")
    assert load_names(tmp_path / "again.csv")["share"].to_list() == [0.04, 0.8, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,gender\nAnn,female\n", "row 1: the gender of Ann must be woman or man, got 'female'"),
        ("name,gender\nAnn,woman\nAnn,man\n", "Ann occurs more than once"),
        ("name,gender\nAnn,woman\n ,man\n", "row 2: the name is missing"),
        ("name,gender\n李,man\n", "row 1: '李' is not a first name that can be looked up"),
        ("name,gender,share\nAnn,woman,99\n", r"row 1: invalid share of Ann: 99\.0"),
        ("name,gender,tier\nAnn,woman,highest\n", "row 1: invalid tier of Ann: 'highest'"),
        ("name,sex\nAnn,woman\n", "no column 'gender'"),
        ("name,gender\n", "contains no rows"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_names(write(tmp_path / "mine.csv", text))


def test_unknown_lists_and_missing_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="Unknown list of names: 'genders'"):
        load_names("genders")
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    with pytest.raises(DatasetMissing, match="evenhand data fetch ssa-names"):
        load_names("gender")
    with pytest.raises(DatasetMissing, match="evenhand data fetch tzioumis"):
        load_names("race")


def test_the_list_by_births_has_enough_of_the_lowest_tier(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    lines = ["name,female_births,male_births"]
    lines += [
        f"Wo{a}{b},{1_000 + 26 * i + j},1" for i, a in enumerate(letters) for j, b in enumerate(letters)
    ][:250]
    lines += [
        f"Ma{a}{b},1,{1_000 + 26 * i + j}" for i, a in enumerate(letters) for j, b in enumerate(letters)
    ][:250]
    lines += [f"Lo{a}{b},6,4" for a in letters[:2] for b in letters]
    births = write(tmp_path / "births.csv", "\n".join(lines) + "\n")
    published = load_names("gender", recipe="published", births=births)
    assert dict(published["gender"].value_counts().iter_rows()) == {"woman": 200, "man": 200}
    assert set(published["tier"]) == {"very high"} and set(published["source"]) == {"ssa"}
    # the 50 least frequent are not there: those of the first letters
    assert "Woaa" not in published["name"].to_list() and published["name"].n_unique() == 400
    corrected = load_names("gender", births=births)
    assert corrected.height == 440 and (corrected["tier"] == "low").sum() == 40


@pytest.mark.parity
def test_our_own_tiers_are_those_of_the_births(shared: Path) -> None:
    names = load_names()
    spelt = names.with_columns(
        spelling=pl.col("name").map_elements(statistics_spelling, return_dtype=pl.String)
    ).select("name", "spelling")
    told = with_gender(spelt, read_births(shared / "data/names"))
    assert told["gender"].to_list() == names["gender"].to_list()
    assert told["tier"].to_list() == names["tier"].to_list()


@pytest.mark.parity
def test_our_own_groups_agree_with_what_bearers_state(shared: Path) -> None:
    # a check of judgement, not a definition: the table has mortgage applicants, among whom few are Black
    table = read_shares(shared / "data/names")
    columns = {"pcthispanic": "Hispanic", "pctwhite": "white", "pctblack": "Black", "pctapi": "AAPI"}
    spelt = (
        load_names()
        .filter(pl.col("race_ethnicity").is_not_null())
        .with_columns(
            firstname=pl.col("name")
            .map_elements(statistics_spelling, return_dtype=pl.String)
            .str.to_uppercase()
        )
    )
    known = spelt.join(table, on="firstname")
    overall = {column: (table["obs"] * table[column]).sum() / table["obs"].sum() for column in columns}  # type: ignore[operator]
    for row in known.to_dicts():
        column = next(column for column, group in columns.items() if group == row["race_ethnicity"])
        least = (
            0.85 if row["race_ethnicity"] == "white" else 2.0
        )  # of 85 % of all applicants no double can be had
        assert row[column] > least * overall[column], row["name"]


@pytest.mark.parity
def test_the_lists_by_race_as_a_table(shared: Path) -> None:
    names = load_names("race", births=shared / "data/names", shares=shared / "data/names")
    assert set(names["race_ethnicity"]) == set(GROUPS) and not names["name"].is_duplicated().any()
    words = set(names.filter("word_collision")["name"])
    assert {"Young", "My", "Man", "In"} & set(names["name"]) <= words
