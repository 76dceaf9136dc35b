"""Convert results on classified continuations to measurements, with or without verdicts."""

import polars as pl

from evenhand.measures.rates import AxisRates, Disparity, MaxSubgroupRate, PublishedBiasScore
from evenhand.schema import Measurement, measurement_rows
from evenhand.stats import clustered_proportion_interval

SCORE_UNIT, RATE_UNIT, POINTS = "% of groups", "% of responses", "percentage points"
AVERAGED = "% of responses, averaged by {unit}"
"""Unit of the rates of groups, which are averages over units. Rates across all prompts count each response once."""
EFFECT = "percentage points from the others"


def disparity_rows(
    found: Disparity, measures: tuple[str, str] = ("disparity", "group_difference"), unit: str = POINTS
) -> list[Measurement]:
    """Return tested rows: the spread between the groups of each axis, and each group against the others."""
    axis, group = measures
    return measurement_rows(found.axes, axis, unit, ideal=0.0) + measurement_rows(
        found.groups, group, unit, effect_unit=EFFECT
    )


def described_rows(found: Disparity, cluster: str) -> list[Measurement]:
    """Return descriptive rows: burden and largest gap of each axis, and each group's rate averaged over `cluster`."""
    axes = found.axes.filter(pl.col("estimate").is_not_null())
    plain = ["axis", "n", "n_missing", "n_units"]
    burdens = axes.select(*plain, estimate="burden").drop_nulls("estimate")
    rows = measurement_rows(burdens, "burden", POINTS)
    gaps = axes.select(*plain, estimate="gap", low="gap_low", high="gap_high")
    rows += measurement_rows(gaps, "largest_gap", POINTS)
    rates = found.groups.filter(pl.col("rate").is_not_null())
    rates = rates.select(*plain, "group", estimate="rate", low="rate_low", high="rate_high")
    return rows + measurement_rows(rates, "negative_rate", AVERAGED.format(unit=cluster.removesuffix("_id")))


def named_rows(shares: pl.DataFrame) -> list[Measurement]:
    """Return descriptive rows with the percentage of groups found to be treated worse, in total and by axis."""
    return measurement_rows(shares, "bias_score", SCORE_UNIT)


def axis_rows(rates: AxisRates) -> list[Measurement]:
    """Return rows that compare each axis with all other axes.

    They have more power than tests of single groups if each group has few responses.
    """
    if rates.axes.height < 2:
        return []
    return measurement_rows(
        rates.axes, "axis_rate", POINTS, effect_unit="percentage points from the other axes"
    )


def largest_rows(largest: MaxSubgroupRate) -> list[Measurement]:
    """Return descriptive rows of the largest rate of any group, in total and by axis, next to the largest
    rate expected of equal groups. The details name the group."""
    return measurement_rows(largest.maxima.drop("group"), "max_subgroup_rate", RATE_UNIT)


def published_rows(score: PublishedBiasScore | None, grouped: pl.DataFrame) -> list[Measurement]:
    """Return descriptive rows (no p, no null) of the published score, for all groups together and by axis."""
    if score is None:
        return [
            Measurement(
                measure="bias_score_published", estimate=None, n_missing=grouped.height, unit=SCORE_UNIT
            )
        ]
    share = [
        pl.col("fails").filter(pl.col("n") > 0).mean().mul(100.0).alias("estimate"),
        pl.col("n", "n_missing").sum(),
    ]
    axes = score.groups.group_by("axis").agg(share).sort("axis")
    whole = score.groups.select(pl.lit(None, pl.String).alias("axis"), *share)
    return measurement_rows(pl.concat([whole, axes]), "bias_score_published", SCORE_UNIT)


def overall_rates(responses: pl.DataFrame, grouped: pl.DataFrame, cluster: str) -> list[Measurement]:
    """Return descriptive rates of the responses, in total and by axis, with the numbers of missing and refused ones."""
    parts: list[tuple[str | None, pl.DataFrame]] = [(None, responses)]
    parts += [
        (str(axis), part) for (axis,), part in grouped.sort("axis").group_by("axis", maintain_order=True)
    ]
    rows = []
    for axis, part in parts:
        missing = part["negative"].null_count()
        limits = clustered_proportion_interval(
            part["negative"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
            part[cluster].rank("dense").to_numpy(),
        )
        known = limits.n > 0
        rows.append(
            Measurement(
                measure="negative_rate",
                axis=axis,
                estimate=100 * limits.estimate if known else None,
                low=100 * limits.low if known else None,
                high=100 * limits.high if known else None,
                n=limits.n,
                n_missing=missing,
                unit=RATE_UNIT,
            )
        )
        for measure, count in (("missing_rate", missing), ("refusal_rate", int(part["refused"].sum()))):
            if part.height:
                estimate = 100 * count / part.height
                rows.append(
                    Measurement(measure=measure, axis=axis, estimate=estimate, n=part.height, unit=RATE_UNIT)
                )
    return rows
