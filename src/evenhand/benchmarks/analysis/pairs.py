"""What benchmarks of sentence pairs share: both sentences in one row, and percentages beside 50."""

from collections.abc import Callable

import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.schema import DataError, Measurement, measurement_rows
from evenhand.stats import detectable_preference

UNIT = "% of pairs"
EFFECT = "percentage points"
ANSWERED = ("log_likelihood", "token_count", "token_ids", "token_log_likelihoods")
"""Columns of each sentence."""
DESCRIBED = ("bias_type", "direction", "sent_more", "sent_less", "annotations")
"""Columns of the pair."""


def one_row_per_pair(frame: pl.DataFrame) -> pl.DataFrame:
    """Both members of each pair beside each other, as the measures want them.

    Raises DataError if a role is neither "more" nor "less", or a pair has one role twice.
    """
    roles = set(frame["role"].unique().to_list())
    if roles - {"more", "less"}:
        raise DataError(f"The column role holds {sorted(map(str, roles))}.", "Expected: more, less.")
    if frame.select("pair_id", "role").is_duplicated().any():
        raise DataError(
            "A pair has the same role twice.", "Each pair_id needs one row more and one row less."
        )
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


def preference_rows(measure: str, groups: pl.DataFrame, *, judged: bool) -> list[Measurement]:
    """Measurements of a table of percentages (axis, estimate, low, high, n, null, p, ...).

    judged: only one scoring of a benchmark gets a verdict; the others are shown for comparison, without p.
    """
    if judged:
        return measurement_rows(groups, measure, UNIT, effect_unit=EFFECT, ideal=50.0)
    shown = groups.drop("null", "p", "minimum_detectable")
    return measurement_rows(shown, measure, UNIT)


def planned_preference(
    count: Callable[[pl.DataFrame], pl.DataFrame],
) -> Callable[[pl.DataFrame, AnalysisOptions], pl.DataFrame]:
    """Smallest departure from 50 % that a plan could detect; `count` gives axis and n (pairs)."""

    def planned(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
        counts = count(frame).sort("axis")
        sizes = 100 * detectable_preference(counts["n"].to_numpy(), alpha=options.alpha)
        return counts.select(
            "axis",
            "n",
            pl.Series("minimum_detectable", sizes),
            pl.lit("percentage points from 50").alias("unit"),
        )

    return planned
