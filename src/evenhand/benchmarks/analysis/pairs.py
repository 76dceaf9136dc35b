"""Shared code of benchmarks of sentence pairs: one row per pair, and tests of percentages against 50."""

import polars as pl

from evenhand.prompts import PromptSet
from evenhand.schema import DataError, Measurement, measurement_rows

SCORINGS = ("corrected", "published")
"""Values of the column `scoring` if each text is scored by two rules."""
UNIT = "% of pairs"
EFFECT = "percentage points"
ANSWERED = ("log_likelihood", "token_count", "token_ids", "token_log_likelihoods", "perplexity", "group")
"""Columns that each of the two sentences of a pair has its own values of."""
DESCRIBED = ("bias_type", "direction", "sent_more", "sent_less", "annotations", "phrase")
"""Columns whose values are the same for both sentences of a pair."""


def asked_twice(prompts: pl.DataFrame, published: pl.DataFrame | None) -> pl.DataFrame:
    """Return the prompts followed by the same texts under the published rule, with the column `scoring`.

    The prompt_ids of the published rows get a suffix, so that they stay unique.

    Parameters
    ----------
    prompts
        Prompts with any columns.
    published
        Rows with the same columns and keys. None if the model does not support the published rule: then all rows have
        the scoring "corrected".
    """
    corrected, by_rule = SCORINGS
    rows = prompts.with_columns(scoring=pl.lit(corrected))
    if published is None:
        return rows
    marked = published.with_columns(
        pl.format("{} ({})", "prompt_id", pl.lit(by_rule)).alias("prompt_id"), scoring=pl.lit(by_rule)
    )
    return pl.concat([rows, marked], how="diagonal")


def select_scoring(scoring: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with one value of `scoring`; all rows if the table, such as a user's file, lacks this column.

    A column `scoring` with values other than SCORINGS is ignored.
    """
    if "scoring" not in frame.columns or set(frame["scoring"].unique()) - set(SCORINGS):
        return frame
    return frame.filter(pl.col("scoring") == scoring)


def one_row_per_pair(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row per pair, with the columns of both sentences.

    The sentences are `sent_more` and `sent_less`. If these columns are missing, they are filled from `text`, if
    present. Raises DataError if a role is neither "more" nor "less", or a pair has the same role twice.
    """
    roles = set(frame["role"].unique().to_list())
    if roles - {"more", "less"}:
        raise DataError(
            f"The column role must contain only the words more and less, found {', '.join(sorted(map(str, roles)))}.",
            "In each pair, write the word more for the stereotyped sentence and the word less for the other sentence.",
        )
    if frame.select("pair_id", "role").is_duplicated().any():
        raise DataError(
            "The column role has the same value twice for one pair_id.",
            "Each pair_id needs one row with the role more and one row with the role less.",
        )
    if not {"sent_more", "sent_less"} <= set(frame.columns) and "text" in frame.columns:
        sides_of = [
            pl.col("text").filter(pl.col("role") == role).first().over("pair_id").alias(f"sent_{role}")
            for role in ("more", "less")
        ]
        frame = frame.with_columns(sides_of)
    values = [name for name in ANSWERED if name in frame.columns]
    about = [name for name in DESCRIBED if name in frame.columns]
    sides = {
        role: frame.filter(pl.col("role") == role).select(
            "pair_id", *about, *[pl.col(name).alias(f"{name}_{role}") for name in values]
        )
        for role in ("more", "less")
    }
    joined = sides["more"].join(sides["less"].drop(about), on="pair_id", how="full", coalesce=True)
    return joined.rename({"direction": "stereo_antistereo"}) if "direction" in about else joined


def whole_pairs(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
    """Select at most `limit` sentences in complete pairs, evenly over bias types."""
    pairs = prompts.filter(pl.col("role") == "more").sample(max(limit // 2, 1), per="axis", seed=seed)
    return prompts.filter(pl.col("pair_id").is_in(pairs.frame["pair_id"].implode()))


def preference_rows(measure: str, groups: pl.DataFrame, *, judged: bool) -> list[Measurement]:
    """Convert a table of percentages (axis, estimate, low, high, n, null, p, ...) to measurements.

    `judged` is False for scorings that are only shown for comparison. Their rows get no p and no verdict.
    """
    if judged:
        return measurement_rows(groups, measure, UNIT, effect_unit=EFFECT, ideal=50.0)
    shown = groups.drop("null", "p", "minimum_detectable", "obstacle", strict=False)
    return measurement_rows(shown, measure, UNIT)


def change_rows(measure: str, changes: pl.DataFrame, unit: str = EFFECT) -> list[Measurement]:
    """Convert a table of changes between two models (from `preference_change`, `redditbias_change`, ...) to
    measurements.
    """
    return measurement_rows(changes, f"{measure}_change", unit, ideal=0.0)
