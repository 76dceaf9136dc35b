"""Load lists of first names: evenhand's, lists from birth and mortgage statistics, and the user's files."""

from pathlib import Path

import polars as pl

from evenhand.prompts.datasets import dataset_folder
from evenhand.prompts.names.births import TIERS, read_births, tier, with_gender
from evenhand.prompts.names.recipe import Recipe, race_lists, read_extras
from evenhand.prompts.names.shares import read_shares
from evenhand.prompts.names.spelling import statistics_spelling
from evenhand.prompts.names.texts import is_common_word, own_file
from evenhand.prompts.own_files import (
    READERS,
    number_column,
    read_table,
    require_columns,
    text_column,
)
from evenhand.prompts.sampling import row_keys
from evenhand.schema import DataError, checked, unknown_name

LISTS = ("own", "gender", "race")
GENDERS = ("woman", "man")
SPLITS = ("tune", "test")
EACH_GENDER = 200
"""Number of names per gender in the list "gender"."""
LEAST_LOW = 40
"""Minimum number of names in the lowest tier of the corrected list. Few of the most popular names belong to it."""
COLUMNS = {
    "name": pl.String,
    "gender": pl.String,
    "race_ethnicity": pl.String,
    "tier": pl.String,
    "share": pl.Float64,
    "source": pl.String,
}
FORMAT = (
    "Expected CSV, JSON Lines or Parquet with the columns name and gender (woman or man), and optionally "
    f"race_ethnicity, share (of births of that gender, 0 to 1), tier ({', '.join(TIERS)}) and source."
)


@checked
def load_names(
    lists: Path | str = "own",
    *,
    recipe: Recipe = "corrected",
    births: Path | str | None = None,
    shares: Path | str | None = None,
    extras: Path | str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Return a list of first names with gender and, if the list has it, race and ethnicity.

    Parameters
    ----------
    lists : {"own", "gender", "race"}, path or str
        "own" is evenhand's list, which needs no download. "gender" has the 200 most frequent names of each gender from
        1950 to 2009. "race" has eight lists by gender, race and ethnicity (see `race_lists`). Otherwise, the path of a
        file with the columns name and gender.
    recipe : {"corrected", "published"}
        Rules for "gender" and "race". "corrected" adds names to the lowest tier of "gender" until it has 40, and
        corrects the errors that `race_lists` describes.
    births, shares : path or str, optional
        Files or folders for `read_births` and `read_shares`. Default: the data sets "ssa-names" and "tzioumis" of
        `evenhand data fetch`. For "own" and files, share and tier are computed from births only if `births` is given.
    extras : path or str, optional
        File with additional names for "race": columns name and race_ethnicity, and optionally source.
    seed : int, default 0
        Random seed of the split.

    Returns
    -------
    polars.DataFrame
        One row per name:

        - name, gender ("woman" or "man"), race_ethnicity (or null) and source;
        - tier: "low", "medium", "high", "very high", or null;
        - share: share of the births with this name that have the gender of the row (0 to 1), or null. It is below 0.5
          only if a file states the gender that is less frequent in the births;
        - word_collision: whether the name is also an English word;
        - split: "tune" for half of the names of each gender, race, ethnicity and tier, "test" for the other
          half.

    Raises
    ------
    UsageError
        A list is unknown.
    DatasetMissing
        The statistics are not on this machine.
    DataError
        A file is invalid.

    Examples
    --------
    >>> names = load_names()
    >>> names.filter(name="Keisha").select("gender", "race_ethnicity", "tier").row(0)
    ('woman', 'Black', 'very high')
    """
    if lists == "own":
        frame = _own()
    elif lists == "gender":
        frame = _by_births(read_births(_source_path(births, "ssa-names")), recipe)
    elif lists == "race":
        further = read_extras(extras) if extras is not None else None
        tables = read_shares(_source_path(shares, "tzioumis")), read_births(_source_path(births, "ssa-names"))
        frame = race_lists(*tables, further, recipe).names
    elif Path(lists).suffix.lower() in READERS:
        frame = _file(Path(lists).expanduser())
    else:
        raise unknown_name("list of names", str(lists), LISTS)
    if births is not None and lists not in ("gender", "race"):
        frame = _looked_up(frame, read_births(births))
    frame = frame.select(pl.col(column).cast(dtype) for column, dtype in COLUMNS.items())
    collisions = pl.Series("word_collision", [is_common_word(name) for name in frame["name"]], pl.Boolean)
    table = frame.with_columns(collisions, _split(frame, seed))
    return table.select(
        "name", "gender", "race_ethnicity", "tier", "share", "word_collision", "source", "split"
    )


def _source_path(given: Path | str | None, dataset: str) -> Path:
    return dataset_folder(dataset) if given is None else Path(given)


def _own() -> pl.DataFrame:
    rows = [
        {
            "name": name,
            "gender": gender,
            "race_ethnicity": None if group == "any" else group,
            "tier": level.replace("_", " "),
            "share": None,
            "source": "own",
        }
        for group, genders in own_file("own_names.toml").items()
        for gender, levels in genders.items()
        for level, names in levels.items()
        for name in names
    ]
    return pl.DataFrame(rows, schema=COLUMNS)


def _by_births(births: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    told = with_gender(births.select("name", spelling="name"), births).filter(pl.col("gender").is_not_null())
    popular = told["popular"].null_count() == 0  # a file of sums does not distinguish years
    ordered = told.sort(
        "popular" if popular else pl.col("female") + pl.col("male"), "name", descending=[True, False]
    )
    chosen = [ordered.filter(gender=gender).head(EACH_GENDER) for gender in GENDERS]
    if recipe == "corrected":
        low = ordered.filter(pl.col("tier") == TIERS[0])
        there = pl.concat(chosen).filter(pl.col("tier") == TIERS[0])
        more = low.filter(~pl.col("name").is_in(there["name"].to_list()))
        chosen.append(more.head(max(0, LEAST_LOW - there.height)))
    return pl.concat(chosen).with_columns(race_ethnicity=pl.lit(None, pl.String), source=pl.lit("ssa"))


def _file(path: Path) -> pl.DataFrame:
    frame = read_table(path, FORMAT)
    require_columns(frame, ("name", "gender"), path, FORMAT)
    given = {column: text_column(frame, column, path) for column in COLUMNS if column in frame.columns}
    for row, (name, gender) in enumerate(zip(given["name"], given["gender"], strict=True), 1):
        if name is None or not name.strip():
            raise DataError(f"{path}, row {row}: the name is missing.", FORMAT)
        if gender not in GENDERS:
            raise DataError(
                f"{path}, row {row}: the gender of {name} must be {' or '.join(GENDERS)}, got {gender!r}.",
                FORMAT,
            )
        try:
            statistics_spelling(name)
        except DataError as error:
            raise DataError(f"{path}, row {row}: {error.message}", error.hint) from error
    names = given["name"].str.strip_chars()
    if names.is_duplicated().any():
        raise DataError(
            f"{path}: the name {names.filter(names.is_duplicated())[0]} occurs more than once.",
            "Give each name one gender, and at most one race or ethnicity.",
        )
    size = frame.height
    share = (
        number_column(frame, "share", path)
        if "share" in given
        else pl.Series([None] * size, dtype=pl.Float64)
    )
    if (wrong := ~share.is_between(0, 1)).any():
        row = int(wrong.fill_null(False).arg_true()[0])
        raise DataError(f"{path}, row {row + 1}: invalid share of {names[row]}: {share[row]}.", FORMAT)
    told = given.get("tier", pl.Series([None] * size, dtype=pl.String)).str.replace("_", " ")
    if (strange := told.is_not_null() & ~told.is_in(TIERS)).any():
        row = int(strange.arg_true()[0])
        raise DataError(f"{path}, row {row + 1}: invalid tier of {names[row]}: {told[row]!r}.", FORMAT)
    return pl.DataFrame(
        {
            "name": names,
            "gender": given["gender"],
            "race_ethnicity": given.get("race_ethnicity", pl.Series([None] * size, dtype=pl.String)),
            "tier": [level or tier(number) for level, number in zip(told, share, strict=True)],
            "share": share,
            "source": given.get("source", pl.Series([path.name] * size)),
        },
        schema=COLUMNS,
    )


def _looked_up(frame: pl.DataFrame, births: pl.DataFrame) -> pl.DataFrame:
    """Return the list with share and tier computed from births, for names that occur in them.

    The stated gender does not change. Share and tier are those of the stated gender, as in Smith & Williams 2021, table
    3 ("of the gender associated with that name"), also if the births have the other gender more often.
    """
    spelt = frame.with_columns(
        spelling=pl.col("name").map_elements(statistics_spelling, return_dtype=pl.String)
    )
    counted = with_gender(spelt.drop("share", "tier", "gender"), births)
    stated = pl.when(frame["gender"] == "woman").then("female").otherwise("male")
    shares = counted.select(
        pl.when(pl.col("share").is_not_null()).then(stated / (pl.col("female") + pl.col("male")))
    )
    share = shares.to_series()
    found = pl.Series([tier(number) for number in share], dtype=pl.String)
    return frame.with_columns(
        share=pl.coalesce(share, frame["share"]), tier=pl.coalesce(found, frame["tier"])
    )


def _split(frame: pl.DataFrame, seed: int) -> pl.Series:
    """Return the part ("tune" or "test") of each row.

    In each stratum of gender, race and ethnicity, and tier, names are put into the two parts alternately, in a random
    order given by the seed. A name in several lists is in the same part in all of them.
    """
    strata = ["gender", "race_ethnicity", "tier"]
    names = frame.unique("name", keep="first", maintain_order=True)
    ordered = names.with_columns(key=row_keys(names["name"], seed, "split")).sort(*strata, "key", "name")
    halves = ordered.select("name", split=pl.Series([SPLITS[i % 2] for i in range(ordered.height)]))
    return frame.join(halves, on="name", how="left", maintain_order="left")["split"]
