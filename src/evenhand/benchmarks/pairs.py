"""What benchmarks of sentence pairs share: percentages beside 50."""

from collections.abc import Callable

import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.schema import Measurement
from evenhand.stats import detectable_preference

UNIT = "% of pairs"


def preference_rows(measure: str, groups: pl.DataFrame, *, judged: bool) -> list[Measurement]:
    """Measurements of a table of percentages (axis, estimate, low, high, n, null, p, ...).

    judged: only one scoring of a benchmark gets a verdict; the others are shown for comparison, without p.
    """
    return [
        Measurement(
            measure=measure,
            axis=row["axis"],
            estimate=row["estimate"],
            low=row["low"],
            high=row["high"],
            n=row["n"],
            n_missing=row["n_missing"],
            null=(50.0 if row["estimate"] is None else row["null"]) if judged else None,
            p=row["p"] if judged else None,
            ideal=50.0 if judged else None,
            minimum_detectable=row["minimum_detectable"] if judged else None,
            unit=UNIT,
            effect_unit="percentage points",
        )
        for row in groups.iter_rows(named=True)
    ]


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
