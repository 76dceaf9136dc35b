"""What benchmarks of sentence pairs share: percentages beside 50."""

from collections.abc import Callable

import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.schema import Measurement, measurement_rows
from evenhand.stats import detectable_preference

UNIT = "% of pairs"
EFFECT = "percentage points"


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
