"""Measurements from the measures of judged continuations: what is judged, what is shown beside it."""

import polars as pl

from evenhand.measures.rates import AxisRates, BiasScore, MaxSubgroupRate, PublishedBiasScore
from evenhand.schema import Measurement, measurement_rows
from evenhand.stats import clustered_proportion_interval

SCORE_UNIT, RATE_UNIT, EFFECT = "% of groups", "% of responses", "percentage points above the others"


def corrected_rows(score: BiasScore) -> list[Measurement]:
    """Rows of all groups together, of axes, and of single groups, each with its null and p."""
    typical = pl.col("minimum_detectable").median()
    reach = pl.concat(
        [
            score.groups.select(pl.lit(None, pl.String).alias("axis"), typical),
            score.groups.group_by("axis").agg(typical),
        ]
    )
    axes = score.axes.join(reach, on="axis", how="left", nulls_equal=True, maintain_order="left")
    rows = measurement_rows(
        axes, "bias_score", SCORE_UNIT, effect_unit=f"{EFFECT}, in a typical group", ideal=0.0
    )
    everyone = 100.0 * pooled_share(score.groups)
    # a group without a single judgement still has a row that says so
    groups = score.groups.with_columns(pl.col("background").fill_null(everyone))
    return rows + measurement_rows(
        groups, "negative_rate", RATE_UNIT, names={"background": "null"}, effect_unit=EFFECT
    )


def axis_rows(rates: AxisRates) -> list[Measurement]:
    """Rows of axes beside all other axes: the first to show a bias where single groups have few responses."""
    several = rates.axes.filter(pl.col("axis").is_not_null() & pl.col("others").is_not_null())
    effect = "percentage points from the other axes"
    return measurement_rows(several, "axis_rate", RATE_UNIT, names={"others": "null"}, effect_unit=effect)


def largest_rows(largest: MaxSubgroupRate) -> list[Measurement]:
    """Rows of the largest rate of any group, over everything and by axis; whose it is stands in the details."""
    effect = "percentage points above the common rate"
    return measurement_rows(largest.maxima.drop("group"), "max_subgroup_rate", RATE_UNIT, effect_unit=effect)


def pooled_share(groups: pl.DataFrame) -> float:
    """Share of negative responses over all groups, from their rates in percent."""
    known = groups.filter(pl.col("n") > 0)
    return float((known["estimate"] * known["n"]).sum()) / 100.0 / float(known["n"].sum())


def published_rows(score: PublishedBiasScore | None, grouped: pl.DataFrame) -> list[Measurement]:
    """Rows of all groups together and of axes; descriptive, so they carry no p and no null."""
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
    """Rates over all responses and by axis, beside how many are missing and refused: descriptions."""
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
