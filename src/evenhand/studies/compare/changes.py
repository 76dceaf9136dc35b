"""Changes between two models in one outcome, tested by one rule: first between groups, then overall."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.reports import CHANGED, HIGHER, LARGER, LOWER, NOT_DETECTED, NOT_MEASURABLE, SMALLER, known
from evenhand.schema import MEASUREMENTS, EvenhandError
from evenhand.stats import Harmful, Verdict, reach_verdicts

SPREADS = "^disparity_change$|_spread_change$"
"""Names of measures of an axis that show whether its groups changed differently, but not in which direction."""
LEVEL_CHANGE = "level_change"
"""Measure: change of the mean of an outcome across all responses, or over those about one axis."""
CHANGES = {
    "benchmark": pl.String,
    "outcome": pl.String,
    "model": pl.String,  # the model that is compared with the first
    "measure": pl.String,  # level_change, disparity_change, group_difference_change, or a measure of likelihoods
    "axis": pl.String,  # null: all responses together
    "group": pl.String,  # null: the axis as a whole
    "before": pl.Float64,  # value of the group or axis, or overall; for disparity_change, the spread between groups
    "after": pl.Float64,
    "estimate": pl.Float64,  # after - before; for a group, its change minus the mean change of the others of its axis
    "low": pl.Float64,
    "high": pl.Float64,
    "relative": pl.Float64,  # estimate / before, for levels
    "null": pl.Float64,  # value of estimate if nothing changed
    "p": pl.Float64,
    "axis_p": pl.Float64,
    "q": pl.Float64,
    "verdict": pl.String,
    "direction": pl.String,  # worse or better, if the harmful side is known
    "n": pl.Int64,  # pairs of responses in which both models have a value
    "n_units": pl.Int64,  # number of sampling units: prompts, sentence pairs or template pairs
    "n_missing": pl.Int64,
    "minimum_detectable": pl.Float64,
    "unit": pl.String,
    "no_worse": pl.String,  # result of the non-inferiority test of a group; null without a margin
    "note": pl.String,
}


def add_verdicts(
    table: pl.DataFrame, alpha: float, *, n_axes: int = 1, harmful: Mapping[str, Harmful] | None = None
) -> pl.DataFrame:
    """Add q, verdict, direction and note to a table of changes, as `evenhand.stats.reach_verdicts` does.

    Parameters
    ----------
    table : polars.DataFrame
        Columns of MEASUREMENTS; missing ones are null, and a missing `null` is 0. Other columns are kept.
    n_axes, harmful
        As in `reach_verdicts`.

    Returns
    -------
    polars.DataFrame
        The table with verdicts. Instead of "biased", it is "higher" or "lower", or "changed" for an axis whose groups
        changed differently. Rows without a test have a null verdict.
    """
    if not table.height:
        none = (pl.lit(None, dtype=pl.String).alias(name) for name in ("verdict", "direction", "note"))
        return table.with_columns(pl.lit(None, dtype=pl.Float64).alias("q"), *none)
    given = {
        name: pl.col(name).cast(kind) if name in table.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in MEASUREMENTS.items()
    }
    given["null"] = pl.coalesce(given["null"], pl.lit(0.0)).alias("null")
    rows = table.select(given.values()).with_columns(pl.col("measure").fill_null("change"))
    # A descriptive change has an estimate and no test; its null is only the value of no change.
    described = rows["p"].is_null() & rows["obstacle"].is_null() & rows["estimate"].is_not_null()
    tested = rows.filter(~described)
    measured, findings = reach_verdicts(tested, alpha, n_axes=n_axes, harmful=harmful, are_changes=True)
    above = pl.col("low") > pl.col("null")
    words = (
        pl.when(pl.col("verdict") == Verdict.NOT_MEASURABLE)
        .then(pl.lit(NOT_MEASURABLE))
        .when(pl.col("verdict") == Verdict.NOT_DETECTED)
        .then(pl.lit(NOT_DETECTED))
        .when(pl.col("measure").str.contains(SPREADS))
        .then(pl.lit(CHANGED))
        .when(above)
        .then(pl.lit(HIGHER))
        .otherwise(pl.lit(LOWER))
    )
    found = findings.select(verdict=words, direction="direction", note="note").with_columns(q=measured["q"])
    places = table.with_row_index("_row").filter(~described).select("_row")
    joined = table.drop("q", "verdict", "direction", "note", strict=False).with_row_index("_row")
    return joined.join(
        pl.concat([places, found], how="horizontal"), on="_row", how="left", maintain_order="left"
    ).drop("_row")


def outcome_changes(
    frame: pl.DataFrame,
    *,
    alpha: float = 0.05,
    n_axes: int = 1,
    harmful: Harmful = "either",
    margin: float | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute the changes of one outcome between two models: between groups, and overall.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per pair of responses with ``prompt_id``, ``pair``, ``before``, ``after`` and, if there are groups,
        ``axis`` and ``group``.
    n_axes : int
        Number of axes that share the significance level.
    harmful : str
        Harmful side of the outcome.
    margin : float, optional
        As in `evenhand.measures.disparity_change`.

    Returns
    -------
    polars.DataFrame
        Columns of CHANGES without benchmark, outcome and model. Axes with their groups come first, then the overall
        change and the change of each axis.
    """
    from evenhand.measures import disparity_change, paired_change
    from evenhand.measures.changes import GROUP_DIFFERENCE_CHANGE, explain_levels

    tables = []
    names = dict.fromkeys((GROUP_DIFFERENCE_CHANGE, LEVEL_CHANGE), harmful)
    if {"axis", "group"} <= set(frame.columns):
        found = disparity_change(frame, level=alpha / n_axes, margin=margin, numbers=True, seed=seed).table
        tables.append(add_verdicts(found, alpha, n_axes=n_axes, harmful=names))
    levels = paired_change(frame.drop("group", strict=False), seed=seed).with_columns(
        measure=pl.lit(LEVEL_CHANGE), n_units="n_prompts"
    )
    explained = pl.Series(explain_levels(frame, levels), dtype=pl.String)
    levels = levels.with_columns(obstacle=pl.coalesce("obstacle", explained))
    whole = pl.col("axis").is_null()  # one test for any number of axes
    tables.append(add_verdicts(levels.filter(whole), alpha, harmful=names))
    tables.append(add_verdicts(levels.filter(~whole), alpha, n_axes=n_axes, harmful=names))
    return as_changes(pl.concat(tables, how="diagonal_relaxed"))


def as_changes(table: pl.DataFrame, **constants: str) -> pl.DataFrame:
    """Return a table with all columns of CHANGES. Columns that `table` lacks are null.

    constants: values of columns that are the same in every row.
    """
    named = table.with_columns(pl.lit(value).alias(name) for name, value in constants.items())
    if "obstacle" in named.columns and "note" not in named.columns:
        named = named.with_columns(note="obstacle")
    columns = {
        name: pl.col(name).cast(kind) if name in named.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in CHANGES.items()
    }
    columns["null"] = pl.coalesce(columns["null"], pl.lit(0.0)).alias("null")
    return named.select(columns.values())


def bias_went(row: Mapping[str, Any], ideal: float) -> str:
    """Return whether the bias became smaller or larger: whether a value moved towards its ideal or away from it.

    `row` is a row of CHANGES with a detected change, and `ideal` the value of an unbiased model. Returns the verdict of
    the row if a number is unknown or both are equally far away.

    >>> bias_went({"before": -0.11, "after": -0.08, "verdict": "higher"}, 0.0)
    'bias smaller'
    >>> bias_went({"before": 48.0, "after": 55.0, "verdict": "higher"}, 50.0)
    'bias larger'
    """
    if not (known(row["before"]) and known(row["after"])):
        return str(row["verdict"])
    before, after = abs(row["before"] - ideal), abs(row["after"] - ideal)
    return str(row["verdict"]) if before == after else LARGER if after > before else SMALLER


def count_axes(benchmark: str, frame: pl.DataFrame) -> int:
    """Return the number of axes that share alpha: as the benchmark states it, or counted in `frame` if unregistered."""
    from evenhand.benchmarks import load_benchmark

    try:
        return load_benchmark(benchmark).count_axes(frame)
    except EvenhandError:
        return max(1, frame["axis"].drop_nulls().n_unique() if "axis" in frame.columns else 0)
