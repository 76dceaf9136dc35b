"""compare.html: models side by side on one page that needs no network."""

from pathlib import Path
from typing import Any

import polars as pl

from evenhand.reports import rendered
from evenhand.studies.compare.conduct import Comparison
from evenhand.studies.compare.figures import outcomes, table_of_models, write_headlines
from evenhand.studies.compare.wording import TEXT


def render_comparison_html(comparison: Comparison) -> str:
    """Return the comparison as one HTML document with styles and drawings inside; every text is escaped."""
    columns, rows = table_of_models(comparison)
    stated = [(*model.quality, *model.cost) for model in comparison.models]
    names = tuple(dict.fromkeys(name for facts in stated for name, _, _ in facts))
    by_name = [{name: (value, unit) for name, value, unit in facts} for facts in stated]
    has_quality = any(model.quality for model in comparison.models)
    return rendered(
        Path(__file__).with_name("compare.html.j2"),
        comparison=comparison,
        headlines=_headlines(comparison),
        sections=outcomes(comparison),
        columns=columns,
        rows=rows,
        has_scores=any(cell.corrected or cell.published for _, cells in rows for cell in cells),
        has_quality=has_quality,
        quality_title="Quality and cost" if has_quality else "Cost",
        quality=(names, list(zip(comparison.names, by_name, strict=True))),
    )


def _headlines(comparison: Comparison) -> list[tuple[str, str, list[dict[str, Any]], list[str]]]:
    """Return (model, benchmark, rows of its sentences, sentences on changes of the text) for each pair of both."""
    blocks = []
    for (model, benchmark), part in write_headlines(comparison).group_by(
        ["model", "benchmark"], maintain_order=True
    ):
        told = part.filter(pl.col("about") == TEXT)["sentence"].to_list()
        lines = part.filter(pl.col("about") != TEXT).to_dicts()
        blocks.append((str(model), str(benchmark), lines, [line.rstrip(".") for line in told]))
    return blocks
