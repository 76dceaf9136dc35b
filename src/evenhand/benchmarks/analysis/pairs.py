"""Shared code of benchmarks of sentence pairs: both sentences in one row, and percentages compared with 50."""

import polars as pl

from evenhand.prompts import PromptSet
from evenhand.schema import DataError, Measurement, measurement_rows

SCORINGS = ("corrected", "published")
"""Values of the column `scoring` if texts are scored twice."""
UNIT = "% of pairs"
EFFECT = "percentage points"
ANSWERED = ("log_likelihood", "token_count", "token_ids", "token_log_likelihoods", "perplexity", "group")
"""Columns of each sentence."""
DESCRIBED = ("bias_type", "direction", "sent_more", "sent_less", "annotations", "phrase")
"""Columns of the pair."""


def asked_twice(prompts: pl.DataFrame, published: pl.DataFrame | None) -> pl.DataFrame:
    """Return the prompts followed by the same texts under a published rule; the column `scoring` distinguishes them.

    The keys of the published ones get an ending of their own.

    Parameters
    ----------
    prompts
        Any.
    published
        Rows with the same columns and keys, or None where the model cannot be asked so; then all rows are "corrected".
    """
    corrected, by_rule = SCORINGS
    rows = prompts.with_columns(scoring=pl.lit(corrected))
    if published is None:
        return rows
    marked = published.with_columns(
        pl.format("{} ({})", "prompt_id", pl.lit(by_rule)).alias("prompt_id"), scoring=pl.lit(by_rule)
    )
    return pl.concat([rows, marked], how="diagonal")


def scored_as(scoring: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of one scoring, or all rows if the table has no scorings, as with your own scores.

    A column `scoring` with values other than SCORINGS is ignored.
    """
    if "scoring" not in frame.columns or set(frame["scoring"].unique()) - set(SCORINGS):
        return frame
    return frame.filter(pl.col("scoring") == scoring)


def one_row_per_pair(frame: pl.DataFrame) -> pl.DataFrame:
    """Return both members of each pair in one row, as the measures need them.

    Where the sentences have no columns of their own (sent_more, sent_less) the column text gives them, if it is there.
    Raises DataError if a role is neither "more" nor "less", or a pair has one role twice.
    """
    roles = set(frame["role"].unique().to_list())
    if roles - {"more", "less"}:
        raise DataError(f"The column role contains {sorted(map(str, roles))}.", "Expected: more, less.")
    if frame.select("pair_id", "role").is_duplicated().any():
        raise DataError(
            "A pair has the same role twice.", "Each pair_id needs one row more and one row less."
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

    With `judged` False, rows get no p and no verdict: one scoring of a benchmark is tested, the others are shown for
    comparison.
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
