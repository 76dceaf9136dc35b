"""Prepare the data of figures from a `ReportView`: forest plots, histograms and heat maps."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.reports import wording
from evenhand.reports.amounts import count_places, smallest_effect
from evenhand.reports.charts import axis_svg, diverging_class, histogram_svg, interval_svg
from evenhand.reports.drawing import Scale, factor_scale, scale_over
from evenhand.reports.view import BenchmarkView, ReportView
from evenhand.reports.wording import BIASED, SYMBOLS, decimals, known, label, number, probability, times

HEAT_COLUMNS = 14
LEAST_HEAT = math.log(1.25)
"""Smallest log ratio at the ends of the colour scale, so that ratios near 1 have pale colours."""


@dataclass(frozen=True)
class HeatMap:
    """A heat map with templates as rows and descriptors as columns.

    `rows` has each template with its cells: CSS class, perplexity, and factor relative to the template's
    median. `smallest` and `largest` are the factors at the ends of the colour scale. `shown_of` is the number
    of descriptors of the axis.
    """

    descriptors: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    smallest: str
    largest: str
    shown_of: int


def heat_map(benchmark: BenchmarkView, axis: str) -> HeatMap | None:
    """Return a heat map with the likelihood of the most unusual descriptors of an axis in every template.

    It is None if the benchmark has no detail table `descriptor_templates` for the axis. Colours compare
    surprisal with the template's median over the descriptors of the axis, in the cells that the measure uses.
    They show `log_ratio`, or perplexity if the table has none. The scale is never narrower than a ratio of 0.8 to
    1.25. The numbers are median perplexities, which also depend on how the tokenizer splits a descriptor.
    """
    frame = benchmark.detail("descriptor_templates", axis)
    if frame is None:
        return None
    frame = frame.filter(pl.col("median_perplexity").is_finite() & (pl.col("median_perplexity") > 0))
    logs = pl.col("median_perplexity").log()
    relative = pl.col("log_ratio") if "log_ratio" in frame.columns else logs - logs.median().over("template")
    frame = frame.with_columns(relative=relative)
    spread = frame.group_by("descriptor").agg(
        size=pl.col("relative").abs().mean(), mean=pl.col("relative").mean()
    )
    farthest = spread.sort("size", "descriptor", descending=[True, False]).head(HEAT_COLUMNS)
    descriptors = farthest.sort("mean", "descriptor")["descriptor"].to_list()
    if not descriptors:
        return None
    shown = frame.filter(pl.col("descriptor").is_in(descriptors))
    limit = max(shown["relative"].abs().quantile(0.98) or 0.0, LEAST_HEAT)
    cells = {
        (template, descriptor): (
            diverging_class(relative, limit),
            short_perplexity(perplexity),
            times(relative),
        )
        for template, descriptor, perplexity, relative in shown.select(
            "template", "descriptor", "median_perplexity", "relative"
        ).iter_rows()
    }
    absent = (diverging_class(None, limit), short_perplexity(None), "no number")
    rows = tuple(
        (template, tuple(cells.get((template, descriptor), absent) for descriptor in descriptors))
        for template in frame["template"].unique(maintain_order=True).to_list()
    )
    return HeatMap(
        descriptors=tuple(descriptors),
        rows=rows,
        smallest=times(-limit),
        largest=times(limit),
        shown_of=frame["descriptor"].n_unique(),
    )


def short_perplexity(value: float | None) -> str:
    """Return a perplexity in at most four characters.

    >>> short_perplexity(7.3), short_perplexity(83.4), short_perplexity(12_345.0)
    ('7.3', '83', '12k')
    """
    if value is None or not math.isfinite(value):
        return "–"
    for least, size, suffix in ((999.5e6, 1e9, "G"), (999.5e3, 1e6, "M"), (9999.5, 1e3, "k")):
        if value >= least:
            return _two_figures(value / size) + suffix
    return _two_figures(value)


def _two_figures(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")


KINDS = {
    "biased": "biased",
    "not detected": "clear",
    "not measurable": "blank",
    "lower": "lower",
    "higher": "higher",
    "changed": "biased",
    **dict.fromkeys(("rose less", "fell less", "unchanged"), "blank"),
    **dict.fromkeys(("worse", "less likely in kind sentences", "above", "bias larger"), "higher"),
    **dict.fromkeys(("better", "more likely in kind sentences", "below", "bias smaller"), "lower"),
}
"""CSS class of each verdict on one model, and on the difference between two models."""
EXTREMES = 8


@dataclass(frozen=True)
class ForestRow:
    """A row of a forest plot, with its numbers as text."""

    label: str
    svg: Markup
    estimate: str
    interval: str = ""
    null: str = ""
    q: str = ""
    n: str = ""
    verdict: str = ""
    symbol: str = ""
    kind: str = ""
    note: str = ""
    overall: bool = False
    under: str = ""
    """Small text next to the label."""
    cells: tuple[str, ...] = ()
    """Texts of the further columns that `Forest.heads` names."""
    smallest: str = ""
    """The minimum detectable effect, with its unit if that differs from the unit of the estimate."""


@dataclass(frozen=True)
class Forest:
    """The rows of a forest plot on one scale; `left` and `right` describe the meaning of the two directions."""

    rows: tuple[ForestRow, ...]
    axis: Markup
    unit: str = ""
    left: str = ""
    right: str = ""
    band: bool = False
    null: bool = False
    heads: tuple[str, ...] = ()

    @property
    def smallest(self) -> bool:
        """Return whether any row has a minimum detectable effect."""
        return any(row.smallest for row in self.rows)


Further = Mapping[str | None, tuple[str, ...]]


def measure_forest(
    view: ReportView,
    benchmark: BenchmarkView,
    measure: str,
    heads: tuple[str, ...] = (),
    further: Further = MappingProxyType({}),
) -> Forest | None:
    """Return a forest plot of a measure with one row per axis; None if it has no rows for axes.

    `heads` are names of further columns, and `further` their texts by axis. For the first measure of a
    benchmark with a detail table `groups` with nulls, the range of a model without bias is drawn as a band,
    and ties are counted.
    """
    rows = view.rows(benchmark.name, measure).to_dicts()
    if not rows:
        return None
    groups = benchmark.detail("groups") if measure == view.measures(benchmark.name)[0] else None
    if groups is not None and "null_low" not in groups.columns:
        groups = None
    bands = {row["axis"]: row for row in groups.to_dicts()} if groups is not None else {}
    numbers = [row[c] for row in rows for c in ("estimate", "low", "high")]
    edges = [band[c] for band in bands.values() for c in ("null_low", "null_high")]
    scale = scale_over([*numbers, *edges], include=[row["null"] for row in rows if known(row["null"])])
    places = count_places(numbers, rows[0]["unit"])
    rows.sort(key=lambda row: row["axis"] is None)  # the overall row is the last one
    return Forest(
        rows=tuple(
            forest_row(
                row,
                label(row["axis"]),
                scale,
                places,
                band=bands.get(row["axis"], {}),
                overall=row["axis"] is None,
                cells=further.get(row["axis"], ("",) * len(heads)),
            )
            for row in rows
        ),
        heads=heads,
        axis=axis_svg(scale),
        unit=wording.plain_effect(rows[0]["unit"] or ""),
        band=bool(bands),
        null=any(known(row["null"]) for row in rows),
    )


def forest_row(
    row: Mapping[str, Any],
    name: str,
    scale: Scale,
    places: int,
    *,
    under: str = "",
    band: Mapping[str, Any] = MappingProxyType({}),
    kind: str = "",
    overall: bool = False,
    cells: tuple[str, ...] = (),
) -> ForestRow:
    """Return one estimate as a row of a forest plot.

    `row` has estimate, low, high, null, q, n, verdict and note. `name` is the label and `under` the small
    text next to it. `band` has null_low, null_high and ties, if they are known. `kind` is the CSS class of
    the marker if there is no verdict. `cells` are further columns.
    """
    verdict = told_verdict(row)
    interval = _interval(row["low"], row["high"], places)
    spoken = f"{name}: {number(row['estimate'], places)}, 95% CI {interval or 'not known'}"
    spoken += f", null {number(row['null'], places)}" if known(row["null"]) else ""
    ties = f" · {band['ties']:,} {'tie' if band['ties'] == 1 else 'ties'}" if band.get("ties") else ""
    return ForestRow(
        label=name,
        svg=interval_svg(
            scale,
            row["estimate"],
            row["low"],
            row["high"],
            null=row["null"],
            band=(band.get("null_low"), band.get("null_high")),
            kind=KINDS.get(verdict, kind),
            filled=verdict != "not detected",
            described=spoken,
        ),
        estimate=number(row["estimate"], places),
        interval=interval,
        null=number(row["null"], places),
        q=probability(row["q"]),
        n=f"{row['n']:,}{ties}" if row["n"] is not None else "",
        verdict=verdict,
        symbol=SYMBOLS.get(verdict, ""),
        kind=KINDS.get(verdict, ""),
        note=row["note"] or "",
        overall=overall,
        under=under,
        cells=cells,
        smallest=smallest_effect(row["minimum_detectable"]) if known(row.get("minimum_detectable")) else "",
    )


def told_verdict(row: Mapping[str, Any]) -> str:
    """Return the verdict of a row in a word. For a group with detected bias, it is the direction of the difference.

    >>> told_verdict({"group": "men", "verdict": "biased", "direction": "better"})
    'better'
    """
    verdict = str(row["verdict"] or "")
    way = row.get("direction")
    return str(way) if verdict == BIASED and way and row.get("group") is not None else verdict


def scoring_forest(view: ReportView, benchmark: BenchmarkView) -> Forest | None:
    """Return a forest plot with the result of the same pairs for each published scoring method."""
    frame = benchmark.detail("scorings")
    if frame is None:
        return None
    nulls = set(
        view.measurements.filter(pl.col("benchmark") == benchmark.name)["null"].drop_nulls().to_list()
    )
    null = nulls.pop() if len(nulls) == 1 else None
    rows = frame.to_dicts()
    numbers = [row[c] for row in rows for c in ("estimate", "low", "high")]
    scale = scale_over(numbers, include=[] if null is None else [null])
    return Forest(
        tuple(_plain_row(r, "scoring", scale, decimals(numbers), null) for r in rows), axis_svg(scale)
    )


def _plain_row(row: Mapping[str, Any], name: str, scale: Scale, places: int, null: float | None) -> ForestRow:
    interval = _interval(row["low"], row["high"], places)
    return ForestRow(
        label=label(row[name]),
        svg=interval_svg(
            scale,
            row["estimate"],
            row["low"],
            row["high"],
            null=null,
            described=f"{label(row[name])}: {number(row['estimate'], places)}, interval {interval}",
        ),
        estimate=number(row["estimate"], places),
        interval=interval,
        n=f"{row['n']:,}",
    )


def extremes(frame: pl.DataFrame, column: str, alpha: float) -> tuple[Forest, Forest] | None:
    """Return forest plots of the descriptors with the lowest and the highest values of `column`, on one scale.

    frame: columns descriptor, `column`, low, high, q, n. A marker is filled if q <= alpha. `log_ratio` is shown as a
    factor of perplexity. Returns (lowest, highest), or None without any value. The lowest values are all negative and
    the highest all positive, so either may be empty.
    """
    ranked = frame.filter(pl.col(column).is_finite()).sort(column).to_dicts()
    if not ranked:
        return None
    lowest = [row for row in ranked if row[column] <= 0][:EXTREMES]
    highest = [row for row in ranked if row[column] > 0][-EXTREMES:][::-1]
    values = [r[c] for r in (*lowest, *highest) for c in (column, "low", "high")]
    factor = column == "log_ratio"
    scale, labels = factor_scale(values) if factor else (scale_over(values, include=[0.0], ticks=3), None)
    axis = axis_svg(scale, labels)

    def row(values: Mapping[str, Any]) -> ForestRow:
        show = times if factor else lambda v: number(v, 2)
        interval = f"{show(values['low'])} to {show(values['high'])}" if known(values["low"]) else ""
        significant = known(values["q"]) and values["q"] <= alpha
        kind = "plain" if not significant else "lower" if values[column] < 0 else "higher"
        return ForestRow(
            label=values["descriptor"],
            svg=interval_svg(
                scale,
                values[column],
                values["low"],
                values["high"],
                null=0.0,
                kind=kind,
                filled=significant,
                described=f"{values['descriptor']}: {show(values[column])}, {interval or 'no interval'}",
            ),
            estimate=show(values[column]),
            interval=interval,
            q=probability(values["q"]),
        )

    return Forest(tuple(map(row, lowest)), axis), Forest(tuple(map(row, highest)), axis)


def distributions(benchmark: BenchmarkView) -> Forest | None:
    """Return a histogram of perplexities for each axis, on a common logarithmic scale, with the median marked."""
    frame = benchmark.detail("distribution")
    if frame is None:
        return None
    frame = frame.filter(pl.col("bin_low").is_finite() & pl.col("bin_high").is_finite())
    low, high = frame["bin_low"].min(), frame["bin_high"].max()
    if not isinstance(low, float) or not isinstance(high, float):
        return None
    scale = _perplexity_scale(low, high)
    rows = []
    for (axis,), part in frame.group_by(["axis"], maintain_order=True):
        name = label(None if axis is None else str(axis))
        bins = part.sort("bin_low").select("bin_low", "bin_high", "count").rows()
        median, total = _median(bins), sum(count for _, _, count in bins)
        spoken = f"{name}: {total:,} texts, median perplexity {number(median and 10**median)}"
        rows.append(
            ForestRow(
                label=name,
                svg=histogram_svg(scale, bins, mark=median, described=spoken),
                estimate=number(None if median is None else 10**median),
                n=f"{total:,}",
            )
        )
    return Forest(tuple(rows), axis_svg(scale, [short_perplexity(10**t) for t in scale.ticks]))


def _perplexity_scale(low: float, high: float) -> Scale:
    """Return a scale with powers of ten as ticks; if the range contains few, also 2 and 5 times these powers."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    for leading in ((1,), (1, 3), (1, 2, 5)):
        ticks = [t for d in decades for k in leading if low <= (t := d + math.log10(k)) <= high]
        if len(ticks) > 2:
            return Scale(low, high, tuple(ticks))
    return scale_over([low, high])


def _median(bins: Sequence[tuple[float, float, int]]) -> float | None:
    half, below = sum(count for _, _, count in bins) / 2, 0.0
    for low, high, count in bins:
        if count and below + count >= half:
            return low + (high - low) * (half - below) / count
        below += count
    return None


def _interval(low: float | None, high: float | None, places: int) -> str:
    return f"{number(low, places)} to {number(high, places)}" if known(low) and known(high) else ""
