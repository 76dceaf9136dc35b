"""The heat map of perplexity, descriptors by templates, as data for a table with coloured cells."""

import math
from dataclasses import dataclass

import polars as pl

from evenhand.reports.charts import diverging_class
from evenhand.reports.view import BenchmarkView
from evenhand.reports.wording import known, times

HEAT_COLUMNS = 14


@dataclass(frozen=True)
class HeatMap:
    """Templates (rows) by descriptors (columns).

    rows: template, its cells as (CSS class, perplexity, factor beside the template's median), and the
    share of pairs told apart in it (shown if `shares`). smallest, largest: factors at the ends of the
    colours. shown_of: descriptors of the axis in all.
    """

    descriptors: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str, str], ...], str], ...]
    shares: bool
    smallest: str
    largest: str
    shown_of: int


def heat_map(benchmark: BenchmarkView, axis: str) -> HeatMap | None:
    """How likely an axis' most unusual descriptors are in every template.

    Colours compare surprisal with the template's median over all descriptors of the axis, in the same cells as
    the measure does (`log_ratio`; perplexity where a table has none); the numbers are median perplexities,
    which also depend on how the tokenizer cuts a descriptor. None where the
    benchmark has no `descriptor_templates` detail for the axis.
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
    chosen = spread.sort("size", "descriptor", descending=[True, False]).head(HEAT_COLUMNS)
    descriptors = chosen.sort("mean", "descriptor")["descriptor"].to_list()
    if not descriptors:
        return None
    shown = frame.filter(pl.col("descriptor").is_in(descriptors))
    limit = shown["relative"].abs().quantile(0.98) or 1.0
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
    templates = benchmark.detail("templates", axis)
    shares = (
        dict(templates.select("template", "share_different").iter_rows()) if templates is not None else {}
    )
    rows = tuple(
        (
            template,
            tuple(cells.get((template, descriptor), absent) for descriptor in descriptors),
            f"{shares[template]:.0%}" if known(shares.get(template)) else "",
        )
        for template in frame["template"].unique(maintain_order=True).to_list()
    )
    return HeatMap(
        descriptors=tuple(descriptors),
        rows=rows,
        shares=bool(shares),
        smallest=times(-limit),
        largest=times(limit),
        shown_of=frame["descriptor"].n_unique(),
    )


def short_perplexity(value: float | None) -> str:
    """A perplexity in at most four characters.

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
