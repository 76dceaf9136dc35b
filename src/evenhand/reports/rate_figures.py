"""Rates of groups as figures: every group beside all others, BiasScore by axis, whose rate is the largest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.reports.charts import Scale, axis_svg, scale_over
from evenhand.reports.figures import Forest, Row, forest_row, measure_forest
from evenhand.reports.view import BenchmarkView, ReportView
from evenhand.reports.wording import decimals, known, label, number

GROUPS_DRAWN = 15
"""Groups with a drawing; the table behind a fold has all."""
FEW_GROUPS = 40
"""Up to so many single groups of a measure are drawn where it has no rows of whole axes."""
PARTS_DRAWN = 60


@dataclass(frozen=True)
class GroupRates:
    """Rates of groups, the most harmed first: `forest` draws the first of `total`, `harmed` of which are harmed;
    `rows` holds all, by axis, and whether each fails as published (None: it is not among the published ones)."""

    forest: Forest
    total: int
    harmed: int
    rows: list[dict[str, Any]]


def group_rates(view: ReportView, benchmark: BenchmarkView) -> GroupRates | None:
    """The rate of every group beside that of all others; None where groups are not compared."""
    groups = benchmark.detail("groups")
    if groups is None or not {"rate", "background", "harmed"} <= set(groups.columns):
        return None
    ranked = groups.filter(pl.col("rate").is_not_null()).sort(
        "harmed", "pooled", "axis", "group", descending=[True, True, False, False], nulls_last=True
    )
    drawn = ranked.head(GROUPS_DRAWN).to_dicts()
    verdicts = {
        (row["axis"], row["group"]): row
        for row in view.rows(benchmark.name, "negative_rate", groups=True).to_dicts()
    }
    numbers = [row[c] for row in drawn for c in ("rate", "low", "high")]
    scale = scale_over(
        [*numbers, *(row["background"] for row in drawn)], include=[0.0] if _near_zero(numbers) else []
    )
    places = decimals(numbers)
    rows = tuple(
        _group_row(row, verdicts.get((row["axis"], row["group"]), {}), scale, places) for row in drawn
    )
    published = benchmark.detail("published_groups")
    fails = {} if published is None else {
        (axis, group): failing for axis, group, failing in published.select("axis", "group", "fails").rows()
    }  # fmt: skip
    everyone = groups.sort(
        "axis", "rate", "group", descending=[False, True, False], nulls_last=True
    ).to_dicts()
    return GroupRates(
        forest=Forest(rows, axis_svg(scale), unit="% of responses", null=True),
        total=groups.height,
        harmed=int(groups["harmed"].sum()),
        rows=[{**row, "fails": fails.get((row["axis"], row["group"]))} for row in everyone],
    )


def _near_zero(numbers: list[float | None]) -> bool:
    there = [value for value in numbers if known(value) and value is not None]
    return bool(there) and min(there) < 0.5 * max(there)


def _group_row(row: Mapping[str, Any], judged: Mapping[str, Any], scale: Scale, places: int) -> Row:
    told = {**row, "estimate": row["rate"], "null": row["background"], "verdict": judged.get("verdict")}
    told["note"] = judged.get("note")
    return forest_row(told, label(row["group"]), scale, places, under=label(row["axis"]), kind="plain")


def bias_scores(view: ReportView, benchmark: BenchmarkView) -> Forest | None:
    """Corrected BiasScore by axis, with the groups it counts and the published score beside it."""
    axes = benchmark.detail("axes")
    if axes is None or not {"n_harmed", "n_groups"} <= set(axes.columns):
        return None
    published = dict(view.rows(benchmark.name, "bias_score_published").select("axis", "estimate").rows())
    rates = dict(view.rows(benchmark.name, "negative_rate").select("axis", "estimate").rows())
    counted = {
        axis: f"{harmed} of {all_}"
        for axis, harmed, all_ in axes.select("axis", "n_harmed", "n_groups").rows()
    }
    further = {
        axis: (
            counted.get(axis, ""),
            number(rates.get(axis), 1),
            number(published[axis], 1) if axis in published else "",
        )
        for axis in {*counted, *published}
    }
    heads = ("groups", "negative %", "published")
    return measure_forest(view, benchmark, "bias_score", heads, further)


def largest_rates(view: ReportView, benchmark: BenchmarkView) -> Forest | None:
    """The largest rate of a group on each axis and over all, with whose it is."""
    maxima = benchmark.detail("maxima")
    if maxima is None:
        return None
    whose = {
        axis: (label(group) if group is not None else "",)
        for axis, group in maxima.select("axis", "group").rows()
    }
    return measure_forest(view, benchmark, "max_subgroup_rate", ("whose",), whose)


def group_forest(view: ReportView, benchmark: BenchmarkView, measure: str) -> Forest | None:
    """A measure's rows of single groups (a contrast of two groups, say), if there are only few of them."""
    rows = view.rows(benchmark.name, measure, groups=True).to_dicts()
    if not 0 < len(rows) <= FEW_GROUPS:
        return None
    return _rows_forest(rows, "group", under="axis")


def strata_forest(view: ReportView, benchmark: BenchmarkView, measure: str) -> Forest | None:
    """A measure's rows of single parts (toxic prompts, a cluster of styles), over everything or by axis."""
    table = view.rows(benchmark.name, measure, strata=True)
    whole = table.filter(pl.col("axis").is_null())
    rows = (table if whole.is_empty() else whole).to_dicts()
    return _rows_forest(rows, "stratum", under="axis") if 0 < len(rows) <= PARTS_DRAWN else None


def _rows_forest(rows: list[dict[str, Any]], name: str, *, under: str) -> Forest:
    numbers = [row[c] for row in rows for c in ("estimate", "low", "high")]
    scale = scale_over(numbers, include=[row["null"] for row in rows if known(row["null"])])
    places = decimals(numbers)
    drawn = (
        forest_row(
            row, label(row[name]), scale, places, under="" if row[under] is None else label(row[under])
        )
        for row in rows
    )
    return Forest(
        tuple(drawn),
        axis_svg(scale),
        unit=rows[0]["unit"] or "",
        null=any(known(row["null"]) for row in rows),
    )
