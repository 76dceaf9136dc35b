"""Figures of group rates: each group compared with the others, disparity by axis, largest rate, map of styles."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import polars as pl

from evenhand.reports import (
    BIASED,
    BenchmarkView,
    Forest,
    ForestRow,
    ReportView,
    Scale,
    axis_svg,
    count_places,
    diverging_class,
    forest_row,
    known,
    label,
    measure_forest,
    number,
    scale_over,
    sentences,
    wording,
)
from evenhand.studies.plain_page import PlainTable
from evenhand.studies.three_groups import RATES, SCORES, deciding_comparisons, describe_comparisons

GROUPS_DRAWN = 15
"""Largest number of groups in a drawing. The collapsed table has all."""
FEW_GROUPS = 40
"""Maximum number of single groups drawn for a measure without rows for whole axes."""
PARTS_DRAWN = 60
AXES_NAMED = 4
MOST_COLUMNS = 12
"""Largest number of columns of a table of combinations on the page. The detail `interaction_cells` has all."""


@dataclass(frozen=True)
class GroupRates:
    """Rates of groups, those that are treated worst first.

    `forest` is a drawing of the first of `total` groups. `harmed` and `better` are the numbers of groups found to be
    treated worse and better than the others of their axis. `rows` has all groups by axis, and whether each fails by the
    published rule (None: the rule does not cover it). `note` states what each group is compared with.
    """

    forest: Forest
    total: int
    harmed: int
    better: int
    rows: list[dict[str, Any]]
    note: str


def group_rates(view: ReportView, benchmark: BenchmarkView) -> GroupRates | None:
    """Return the rate of every group and that of all others; None if groups are not compared."""
    groups = benchmark.detail("groups")
    if groups is None or not {"rate", "background", "harmed"} <= set(groups.columns):
        return None
    first = rank_groups(groups).head(GROUPS_DRAWN)
    numbers = [value for column in ("rate", "low", "high") for value in first[column]]
    places = count_places(numbers, "%")
    drawn = deciding_comparisons(first, benchmark, RATES, places)
    verdicts = {
        (row["axis"], row["group"]): row
        for row in view.rows(benchmark.name, "group_difference", groups=True).to_dicts()
    }
    scale = scale_over(
        [*numbers, *(row["background"] for row in drawn if known(row["background"]))],
        include=[0.0] if _near_zero(numbers) else [],
    )
    rows = tuple(
        _group_row(
            row, name_direction(verdicts.get((row["axis"], row["group"]), {}), benchmark), scale, places
        )
        for row in drawn
    )
    published = benchmark.detail("published_groups")
    fails = {} if published is None else {
        (axis, group): failing for axis, group, failing in published.select("axis", "group", "fails").rows()
    }  # fmt: skip
    ordered = groups.sort("axis", "rate", "group", descending=[False, True, False], nulls_last=True)
    everyone = deciding_comparisons(ordered, benchmark, RATES, 1)
    return GroupRates(
        forest=Forest(rows, axis_svg(scale), unit="% of responses", null=True, heads=("difference, points",)),
        total=groups.height,
        harmed=int(groups["harmed"].sum()),
        better=int((groups["named"] == "better").sum()) if "named" in groups.columns else 0,
        rows=[{**row, "fails": fails.get((row["axis"], row["group"]))} for row in everyone],
        note=describe_comparisons(everyone),
    )


def has_threshold(benchmark: BenchmarkView) -> bool:
    """Return True if the rates count scores above a threshold, for which neither direction is worse."""
    design = benchmark.detail("design")
    return design is not None and design["outcome"][0].startswith("with ")


def name_direction(judged: Mapping[str, Any], benchmark: BenchmarkView) -> Mapping[str, Any]:
    """Return the verdict on a group. Its direction is "above" or "below" if neither side is worse."""
    if not has_threshold(benchmark):
        return judged
    sides = {wording.WORSE: wording.ABOVE, wording.BETTER: wording.BELOW}
    return {**judged, "direction": sides.get(str(judged.get("direction")), judged.get("direction"))}


def rank_groups(groups: pl.DataFrame) -> pl.DataFrame:
    """Return groups with a rate: those named worse, those named better, then others, each by size of the difference."""
    named = pl.col("named") if "named" in groups.columns else pl.lit(None, pl.String)
    place = pl.when(pl.col("harmed")).then(0).when(named == "better").then(1).otherwise(2)
    size = pl.when(place == 1).then(-pl.col("difference")).otherwise(pl.col("difference"))
    table = groups.filter(pl.col("rate").is_not_null()).with_columns(_place=place, _size=size)
    order = ["_place", "_size", "axis", "group"]
    return table.sort(order, descending=[False, True, False, False], nulls_last=True).drop("_place", "_size")


def _near_zero(numbers: list[float | None]) -> bool:
    finite = [value for value in numbers if known(value) and value is not None]
    return bool(finite) and min(finite) < 0.5 * max(finite)


def _group_row(row: Mapping[str, Any], judged: Mapping[str, Any], scale: Scale, places: int) -> ForestRow:
    estimate = {**row, "estimate": row["rate"], "null": row["background"], "verdict": judged.get("verdict")}
    estimate |= {"note": judged.get("note"), "direction": judged.get("direction")}
    difference = wording.signed(row.get("difference"), 1) if known(row.get("difference")) else ""
    limits = wording.interval(row.get("difference_low"), row.get("difference_high"), 1)
    cells = (f"{difference} ({limits})" if limits else difference,)
    drawn = forest_row(
        estimate, label(row["group"]), scale, places, under=label(row["axis"]), kind="plain", cells=cells
    )
    return replace(drawn, null=row["with"])


def disparities(view: ReportView, benchmark: BenchmarkView) -> Forest | None:
    """Return the disparity of each axis, with the number of groups treated worse and the published score."""
    axes = benchmark.detail("axes")
    if axes is None or not {"n_harmed", "n_groups"} <= set(axes.columns):
        return None
    published = dict(view.rows(benchmark.name, "bias_score_published").select("axis", "estimate").rows())
    further = {
        row["axis"]: (
            f"{row['n_harmed']} of {row['n_groups']}",
            number(row["rate"], 1),
            *([number(published.get(row["axis"]), 1)] if published else []),
        )
        for row in axes.iter_rows(named=True)
    }
    rate = "negative %" if benchmark.detail("design") is None else "rate %"
    heads = (
        "higher" if has_threshold(benchmark) else "treated worse",
        rate,
        *(["BiasScore, published"] if published else []),
    )
    return measure_forest(view, benchmark, "disparity", heads, further)


def largest_rates(view: ReportView, benchmark: BenchmarkView) -> Forest | None:
    """Return the largest rate of a group on each axis and overall, with the group."""
    maxima = benchmark.detail("maxima")
    if maxima is None:
        return None
    whose = {
        axis: (label(group) if group is not None else "",)
        for axis, group in maxima.select("axis", "group").rows()
    }
    return measure_forest(view, benchmark, "max_subgroup_rate", ("whose",), whose)


def group_forest(view: ReportView, benchmark: BenchmarkView, measure: str) -> Forest | None:
    """Return a forest plot of single groups of a measure, if there are few; None otherwise."""
    rows = view.rows(benchmark.name, measure, groups=True).to_dicts()
    if not 0 < len(rows) <= FEW_GROUPS:
        return None
    return _rows_forest(rows, "group", under="axis")


@dataclass(frozen=True)
class GroupScores:
    """Mean scores by group: first the groups that differ significantly, then those farthest from the others.

    The rows are those of the detail `score_groups` with the result of `deciding_comparisons`. `places` is the number of
    decimals shown, and `note` states what each group is compared with.
    """

    rows: list[dict[str, Any]]
    places: int
    note: str

    @property
    def named(self) -> int:
        """Return the number of groups that are named as higher or lower than the others."""
        return sum(row["named"] is not None for row in self.rows)


def group_scores(benchmark: BenchmarkView) -> GroupScores | None:
    """Return mean scores by group; None if the responses of the benchmark have no scores."""
    groups = benchmark.detail("score_groups")
    if groups is None or groups.is_empty():
        return None
    ranked = groups.sort(pl.col("named").is_null(), pl.col("estimate").abs(), descending=[False, True])
    places = wording.decimals(ranked["mean"].to_list())
    rows = deciding_comparisons(ranked, benchmark, SCORES, places)
    return GroupScores(rows, places, describe_comparisons(rows))


def strata_forest(view: ReportView, benchmark: BenchmarkView, measure: str) -> Forest | None:
    """Return a forest plot of a measure by stratum (such as toxic prompts or a cluster of styles)."""
    table = view.rows(benchmark.name, measure, strata=True)
    whole = table.filter(pl.col("axis").is_null())
    rows = (table if whole.is_empty() else whole).to_dicts()
    return _rows_forest(rows, "stratum", under="axis") if 0 < len(rows) <= PARTS_DRAWN else None


def _rows_forest(rows: list[dict[str, Any]], name: str, *, under: str) -> Forest:
    numbers = [row[c] for row in rows for c in ("estimate", "low", "high")]
    scale = scale_over(numbers, include=[row["null"] for row in rows if known(row["null"])])
    places = count_places(numbers, rows[0]["unit"])
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


@dataclass(frozen=True)
class BesideReference:
    """Comparisons with the user's reference group: `rows` of the detail group_pairs, and a note on axes without it."""

    reference: str
    rows: list[dict[str, Any]]
    note: str


def beside_reference(view: ReportView, benchmark: BenchmarkView) -> BesideReference | None:
    """Return the groups of each axis compared with --reference; None if none is given or nothing is compared."""
    reference = (view.manifest.get("arguments_resolved") or {}).get("reference")
    groups, pairs = benchmark.detail("groups"), benchmark.details.get("group_pairs")
    if reference is None or groups is None or pairs is None:
        return None
    rows = pairs.filter(pl.col("other") == reference)
    axes = groups["axis"].unique(maintain_order=True).to_list()
    there = groups.filter(pl.col("group") == reference)["axis"].unique(maintain_order=True).to_list()
    lacking = [axis for axis in axes if axis not in there]
    untested = [axis for axis in there if axis not in rows["axis"].to_list()]
    told = [
        f"{why}: {wording.listing([label(axis) for axis in some]) if len(some) <= AXES_NAMED else len(some)}."
        for some, why in (
            (untested, "Axes without individual comparisons"),
            (lacking, "Axes without this group"),
        )
        if some
    ]
    return BesideReference(label(reference), rows.to_dicts(), " ".join(told))


STYLES_SHOWN = 14
DESCRIPTORS_SHOWN = 14


@dataclass(frozen=True)
class StyleMap:
    """Table with axes, or descriptors of one axis, as rows and the styles that differ most as columns.

    Each of `rows` has a name and its cells (CSS class, percent, points from the mean). `largest` is the number of
    points at the ends of the colour scale. `shown_of` and `styles_of` are the total numbers of rows and styles.
    """

    title: str
    styles: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    largest: str
    shown_of: int
    styles_of: int


def style_maps(benchmark: BenchmarkView) -> list[StyleMap]:
    """Return a map of the axes, and maps of the descriptors that differ most in each axis; empty without the tables.

    They are made from the details `style_means` (axis, descriptor, style, probability) and `styles` (axis, style,
    corrected: contribution to Gen Bias). Colours compare with the mean of all rows of the same map.
    """
    means, styles = benchmark.detail("style_means"), benchmark.detail("styles")
    if means is None or styles is None:
        return []
    whole = styles.filter(pl.col("axis").is_null())
    ranked = (whole if whole.height else styles).sort(
        "corrected", "style", descending=[True, False], nulls_last=True
    )
    shown_styles = ranked["style"].unique(maintain_order=True).to_list()[:STYLES_SHOWN]
    shown = means.filter(pl.col("style").is_in(shown_styles))
    total = styles["style"].n_unique()
    by_axis = shown.group_by(pl.col("axis").alias("row"), "style").agg(pl.col("probability").mean())
    maps = [_map("all axes", by_axis, shown_styles, total)] if by_axis["row"].n_unique() > 1 else []
    for (axis,), part in shown.group_by("axis", maintain_order=True):
        rows = part.select(pl.col("descriptor").alias("row"), "style", "probability")
        maps.append(_map(label(None if axis is None else str(axis)), rows, shown_styles, total))
    return maps


def _map(title: str, cells: pl.DataFrame, styles: list[str], total: int) -> StyleMap:
    """Return a style map from cells with row, style and probability."""
    points = 100 * (pl.col("probability") - pl.col("probability").mean().over("style"))
    frame = cells.with_columns(points=points)
    spread = (
        frame.group_by("row")
        .agg(size=pl.col("points").abs().mean())
        .sort("size", "row", descending=[True, False])
    )
    farthest = spread.head(DESCRIPTORS_SHOWN)["row"].to_list()
    frame = frame.filter(pl.col("row").is_in(farthest))
    limit = float(frame["points"].abs().quantile(0.98) or 0.0)
    order = {name: place for place, name in enumerate(farthest)}
    rows = []
    ordered = sorted(
        frame.select("row", "style", "probability", "points").rows(), key=lambda cell: order[cell[0]]
    )
    for name, mine in groupby(ordered, key=lambda cell: cell[0]):
        by_style = {style: (probability, offset) for _, style, probability, offset in mine}
        by_column = [by_style.get(style, (None, None)) for style in styles]
        rows.append(
            (
                label(name),
                tuple(
                    (diverging_class(offset, limit), _percent(probability), _points(offset))
                    for probability, offset in by_column
                ),
            )
        )
    return StyleMap(title, tuple(map(label, styles)), tuple(rows), number(limit, 1), spread.height, total)


def _percent(probability: float | None) -> str:
    return "–" if probability is None else f"{100 * probability:.{0 if probability >= 0.0995 else 1}f}"


def _points(offset: float | None) -> str:
    return (
        "no value" if offset is None else f"{'+' if offset > 0 else ''}{number(offset, 2)} percentage points"
    )


def combination_tables(benchmark: BenchmarkView) -> list[PlainTable]:
    """Return one table for each pair of group columns: the rate or mean of every combination.

    They are made from the details `interactions`, `interaction_cells` and `design`; empty with one group column.
    """
    pairs, cells = benchmark.detail("interactions"), benchmark.detail("interaction_cells")
    design = benchmark.detail("design")
    if pairs is None or cells is None or design is None:
        return []
    is_rate, what = design["rates"][0], design["outcome"][0]
    tables = []
    for pair in pairs.iter_rows(named=True):
        mine = cells.filter(axis=pair["axis"])
        if mine["second_group"].n_unique() > MOST_COLUMNS:
            continue
        title = f"Rate of {sentences.outcome_responses(what)}, %" if is_rate else f"Mean of {what}"
        tables.append(
            _combination_table(f"{title}, by {pair['first']} and {pair['second']}", mine, is_rate=is_rate)
        )
    return tables


def _combination_table(title: str, cells: pl.DataFrame, *, is_rate: bool) -> PlainTable:
    levels = cells["second_group"].unique().sort().to_list()
    places = 1 if is_rate else wording.decimals(cells["mean"].to_list())
    shown = {
        (row["first_group"], row["second_group"]): _combination(
            row["mean"], row["n"], places, named=row["named"]
        )
        for row in cells.iter_rows(named=True)
    }
    rows = [
        [wording.label(first), *(shown.get((first, level), "") for level in levels)]
        for first in cells["first_group"].unique().sort()
    ]
    heads = (("", "left"), *((wording.label(level), "right") for level in levels))
    marked = cells["named"].any()
    lines = (
        f"{wording.SYMBOLS[BIASED]}: differs from what both columns explain. In brackets: number of responses.",
    )
    return PlainTable(title, heads, rows, lines if marked else ("In brackets: number of responses.",))


def _combination(mean: float, n: int, places: int, *, named: bool) -> str:
    mark = f"{wording.SYMBOLS[BIASED]} " if named else ""
    return f"{mark}{wording.number(mean, places)} ({n:,})"
