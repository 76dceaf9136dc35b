"""Make lists of first names by race, ethnicity and gender, by the published recipe or a corrected one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from evenhand.prompts.names.births import with_gender
from evenhand.prompts.names.shares import GROUPS, OTHERS
from evenhand.prompts.names.spelling import published_spelling, statistics_spelling
from evenhand.prompts.own_files import read_table, require_columns, text_column
from evenhand.schema import DataError, checked

Recipe = Literal["corrected", "published"]
MOST_FREQUENT = 200
"""Maximum number of names per group from the table of shares."""
SHARES_SOURCE = "tzioumis2018"
REMOVED_BY_HAND = (("Yolanda", "Black"), ("Brenda", "Hispanic"))
"""Additional names that the published recipe removes because they also occur in another group."""
EXTRAS_FORMAT = (
    "Expected CSV, JSON Lines or Parquet with the columns name and race_ethnicity (Black, Hispanic or white), and "
    "optionally source: the names of Milkman et al. 2012, Caliskan et al. 2017, and Guo & Caliskan 2020, as printed in "
    "their papers."
)


@dataclass(frozen=True)
class RaceLists:
    """Lists of first names by race, ethnicity and gender. Result of `race_lists`.

    Attributes
    ----------
    names : polars.DataFrame
        Columns: name, race_ethnicity, gender ("woman" or "man"), tier, share, source.
    unknown : polars.DataFrame
        Names without a gender, because the births do not contain them or are equally many for both sexes. Columns:
        name, race_ethnicity.
    clashes : polars.DataFrame
        Names of several groups. Columns: name, in_lists (the groups), and kept (the group by the table of shares, to
        which the corrected recipe assigns the name; null if it has none).
    """

    names: pl.DataFrame
    unknown: pl.DataFrame
    clashes: pl.DataFrame


@checked
def race_lists(
    shares: pl.DataFrame,
    births: pl.DataFrame,
    extras: pl.DataFrame | None = None,
    recipe: Recipe = "corrected",
) -> RaceLists:
    """Return eight lists of first names: four groups by race and ethnicity, two genders.

    Parameters
    ----------
    shares, births : polars.DataFrame
        Tables from `read_shares` and `read_births`. A name belongs to the group with its largest share, out of six
        groups. Each of the four groups gets the 200 names with the most people in it. The gender of a name is that of
        most births.
    extras : polars.DataFrame, optional
        Additional names, from `read_extras`.
    recipe : {"published", "corrected"}
        "published" does not remove accents, so José is not found in the births and has no gender. It removes two
        additional names, and keeps a name of two groups in both lists. "corrected" ignores accents. It keeps a name of
        several groups only in the group that the table of shares gives, or in no list if the table does not give one.

    Returns
    -------
    RaceLists
        The lists, the names without a gender, and the names of several groups.

    Raises
    ------
    DataError
        No name is left.

    References
    ----------
    - Smith & Williams 2021, section 2.3.1, and the name lists of its published code.
    """
    corrected = recipe == "corrected"
    spelt = statistics_spelling if corrected else published_spelling
    listed = pl.concat([_most_frequent(shares), _further(extras, by_hand=not corrected)]).with_columns(
        spelling=pl.col("name").map_elements(spelt, return_dtype=pl.String)
    )
    merged = listed.group_by("race_ethnicity", "spelling", maintain_order=True).agg(
        pl.col("name").first(),
        pl.col("source").unique(maintain_order=True).str.join("|"),
        by_shares=(pl.col("source") == SHARES_SOURCE).any(),
    )
    clashes = (
        merged.filter(pl.col("spelling").is_duplicated())
        .group_by("spelling", maintain_order=True)
        .agg(
            pl.col("name").first(),
            in_lists=pl.col("race_ethnicity"),
            kept=pl.col("race_ethnicity").filter(pl.col("by_shares")).first(),
        )
    )
    if corrected:
        stays = clashes.select("spelling", "kept")
        merged = merged.join(stays, on="spelling", how="left", maintain_order="left").filter(
            ~pl.col("spelling").is_in(stays["spelling"].to_list())
            | (pl.col("race_ethnicity") == pl.col("kept")).fill_null(False)
        )
    told = with_gender(merged, births)
    names = told.filter(pl.col("gender").is_not_null())
    if names.is_empty():
        raise DataError(
            "None of the names occurs in the birth statistics.",
            "Check that they are the births of the United States, by first name.",
        )
    return RaceLists(
        names.select("name", "race_ethnicity", "gender", "tier", "share", "source"),
        told.filter(pl.col("gender").is_null()).select("name", "race_ethnicity"),
        clashes.select("name", "in_lists", "kept"),
    )


def read_extras(source: Path | str) -> pl.DataFrame:
    """Read a user's file of additional names by race and ethnicity.

    source: a CSV, JSON Lines or Parquet file with the columns name and race_ethnicity (Black, Hispanic or white), and
    optionally source. Returns a table with the columns name, race_ethnicity and source ("extra" if the file has none).
    Raises a DataError if a column is missing, a group is unknown, or a name cannot be looked up.
    """
    path = Path(source).expanduser()
    frame = read_table(path, EXTRAS_FORMAT)
    require_columns(frame, ("name", "race_ethnicity"), path, EXTRAS_FORMAT)
    known = {group.lower(): group for group in GROUPS.values() if group != "AAPI"}
    names, groups = (text_column(frame, column, path).to_list() for column in ("name", "race_ethnicity"))
    for row, (name, group) in enumerate(zip(names, groups, strict=True), 1):
        if not name or group is None or group.strip().lower() not in known:
            raise DataError(
                f"{path}, row {row}: the name is missing, or its group is unknown (name {name!r}, group "
                f"{group!r}).",
                EXTRAS_FORMAT,
            )
        try:
            statistics_spelling(name)
        except DataError as error:
            raise DataError(f"{path}, row {row}: {error.message}", error.hint) from error
    said = text_column(frame, "source", path).to_list() if "source" in frame.columns else [None] * len(names)
    return pl.DataFrame(
        {
            "name": [name.strip() for name in names],
            "race_ethnicity": [known[group.strip().lower()] for group in groups],
            "source": [source or "extra" for source in said],
        }
    )


def _most_frequent(shares: pl.DataFrame) -> pl.DataFrame:
    largest = pl.max_horizontal(*GROUPS, *OTHERS)
    return pl.concat(
        [
            shares.filter(pl.col(column) == largest)
            .sort(pl.col("obs") * pl.col(column), descending=True, maintain_order=True)
            .head(MOST_FREQUENT)
            .select(
                name=pl.col("firstname").str.to_titlecase(),
                race_ethnicity=pl.lit(group),
                source=pl.lit(SHARES_SOURCE),
            )
            for column, group in GROUPS.items()
        ]
    )


def _further(extras: pl.DataFrame | None, *, by_hand: bool) -> pl.DataFrame:
    if extras is None:
        return pl.DataFrame(schema={"name": pl.String, "race_ethnicity": pl.String, "source": pl.String})
    kept = extras.select("name", "race_ethnicity", "source")
    for name, group in REMOVED_BY_HAND if by_hand else ():
        kept = kept.filter((pl.col("name") != name) | (pl.col("race_ethnicity") != group))
    return kept
