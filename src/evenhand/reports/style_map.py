"""The heat map of styles: how much oftener replies about some descriptors have a style than replies about others."""

from dataclasses import dataclass
from itertools import groupby

import polars as pl

from evenhand.reports.charts import diverging_class
from evenhand.reports.view import BenchmarkView
from evenhand.reports.wording import label, number

STYLES_SHOWN = 14
DESCRIPTORS_SHOWN = 14


@dataclass(frozen=True)
class StyleMap:
    """Rows (axes, or descriptors of one) by styles, those that differ most.

    rows: name and its cells as (CSS class, percent, points beside the mean). largest: points at the ends of the
    colours. shown_of: rows in all. styles_of: styles in all.
    """

    title: str
    styles: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    largest: str
    shown_of: int
    styles_of: int


def style_maps(benchmark: BenchmarkView) -> list[StyleMap]:
    """One map of the axes and one of each axis' descriptors that stand out; empty without the tables.

    Made from the details `style_means` (axis, descriptor, style, probability) and `styles` (axis, style, corrected:
    what each adds to Gen Bias). Colours compare with the mean over all rows of the same map.
    """
    means, styles = benchmark.detail("style_means"), benchmark.detail("styles")
    if means is None or styles is None:
        return []
    whole = styles.filter(pl.col("axis").is_null())
    ranked = (whole if whole.height else styles).sort(
        "corrected", "style", descending=[True, False], nulls_last=True
    )
    chosen = ranked["style"].unique(maintain_order=True).to_list()[:STYLES_SHOWN]
    shown = means.filter(pl.col("style").is_in(chosen))
    total = styles["style"].n_unique()
    by_axis = shown.group_by(pl.col("axis").alias("row"), "style").agg(pl.col("probability").mean())
    maps = [_map("all axes", by_axis, chosen, total)] if by_axis["row"].n_unique() > 1 else []
    for (axis,), part in shown.group_by("axis", maintain_order=True):
        rows = part.select(pl.col("descriptor").alias("row"), "style", "probability")
        maps.append(_map(label(None if axis is None else str(axis)), rows, chosen, total))
    return maps


def _map(title: str, cells: pl.DataFrame, styles: list[str], total: int) -> StyleMap:
    """cells: row, style, probability."""
    points = 100 * (pl.col("probability") - pl.col("probability").mean().over("style"))
    frame = cells.with_columns(points=points)
    spread = (
        frame.group_by("row")
        .agg(size=pl.col("points").abs().mean())
        .sort("size", "row", descending=[True, False])
    )
    kept = spread.head(DESCRIPTORS_SHOWN)["row"].to_list()
    frame = frame.filter(pl.col("row").is_in(kept))
    limit = float(frame["points"].abs().quantile(0.98) or 0.0)
    order = {name: place for place, name in enumerate(kept)}
    rows = []
    ordered = sorted(
        frame.select("row", "style", "probability", "points").rows(), key=lambda cell: order[cell[0]]
    )
    for name, mine in groupby(ordered, key=lambda cell: cell[0]):
        by_style = {style: (probability, offset) for _, style, probability, offset in mine}
        found = [by_style.get(style, (None, None)) for style in styles]
        rows.append(
            (
                label(name),
                tuple(
                    (diverging_class(offset, limit), _percent(probability), _points(offset))
                    for probability, offset in found
                ),
            )
        )
    return StyleMap(title, tuple(map(label, styles)), tuple(rows), number(limit, 1), spread.height, total)


def _percent(probability: float | None) -> str:
    return "–" if probability is None else f"{100 * probability:.{0 if probability >= 0.0995 else 1}f}"


def _points(offset: float | None) -> str:
    return (
        "no number" if offset is None else f"{'+' if offset > 0 else ''}{number(offset, 2)} percentage points"
    )
