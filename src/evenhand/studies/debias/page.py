"""The page of a debiasing training: changes, curves, lineage and cautions."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.mitigations.training import BIAS, PERPLEXITY, next_steps
from evenhand.reports import PlotArea, dot, line, rendered, scale_over
from evenhand.studies.debias.shown import (
    search_cautions,
    search_drawing,
    search_sentences,
    search_tables,
)
from evenhand.studies.debias.wording import PROJECTED, WATCHED, cautions, sentences, watched_value
from evenhand.studies.provenance import citations, provenance

MOST_POINTS = 240
"""Maximum points of a curve; more steps are averaged."""
TOLD = ("seed", "steps", "best_step", "stopped_early", "batch_size_in_the_end", "devices", "evenhand")
"""Keys of the lineage that describe the training."""


def curve_svg(points: pl.DataFrame, described: str) -> Markup:
    """Return a drawing of one curve of values by step.

    >>> str(curve_svg(pl.DataFrame({"step": [1, 2, 3], "value": [3.0, 2.0, 1.0]}), "loss")).count("<line") > 1
    True
    """
    shown = (
        points.filter(pl.col("value").is_finite())
        .sort("step")
        .select(pl.col("step").cast(pl.Float64), "value")
    )
    if shown.height > MOST_POINTS:
        part = pl.int_range(pl.len()) * MOST_POINTS // shown.height
        shown = shown.group_by(part.alias("part"), maintain_order=True).mean()
    up = scale_over(shown["value"].to_list(), include=[0.0])
    area = PlotArea(scale_over(shown["step"].to_list(), include=[0.0]), up, left=9.0, right=97.0, height=210)
    parts = area.grid()
    rows = shown.select("step", "value").rows()
    for (a, first), (b, second) in pairwise(rows):
        parts.append(line("path", area.x(a), area.y(first), area.x(b), area.y(second)))
    if len(rows) <= 40:
        parts += [dot("kept", area.x(step), area.y(value), 3) for step, value in rows]
    return area.drawn(parts, described=described)


def training_page(lineage: Mapping[str, Any], curves: pl.DataFrame, folder: Path) -> str:
    """Return the training as one page that needs no network; every text is escaped. `folder` is that of the model."""
    before, after = lineage["watched"]["before"], lineage["watched"]["after"]
    start = pl.DataFrame(
        {"step": [0] * len(before), "name": list(before), "value": list(before.values())},
        {"step": pl.Int64, "name": pl.String, "value": pl.Float64},
        strict=False,
    )
    watched = pl.concat(
        [start, curves.filter(split="validation").select("step", "name", "value")], how="vertical_relaxed"
    )
    drawings = [
        (WATCHED[name], curve_svg(watched.filter(name=name), WATCHED[name]))
        for name in (BIAS, PERPLEXITY)
        if name in after and "steps" in lineage
    ]
    learned = curves.filter(split="training")
    names = [
        name for name in learned["name"].unique(maintain_order=True) if name not in ("loss", "learning_rate")
    ]
    drawings += [(_loss_name(name), curve_svg(learned.filter(name=name), _loss_name(name))) for name in names]
    found = curves.filter(split="projection")
    names = found["name"].unique(maintain_order=True).to_list()
    drawings += [(PROJECTED.get(name, name), curve_svg(found.filter(name=name), name)) for name in names]
    facts = {name: lineage[name] for name in ("base", "method", "data", "options")}
    facts["training" if "steps" in lineage else "made"] = {
        name: lineage[name] for name in TOLD if name in lineage
    }
    return rendered(
        Path(__file__).with_name("debias.html.j2"),
        lineage=lineage,
        sentences=sentences(lineage),
        watched=[
            (WATCHED.get(name, name), watched_value(name, before[name]), watched_value(name, after[name]))
            for name in after
        ],
        drawings=drawings,
        search=_search(lineage["search"]) if "search" in lineage else None,
        cautions=cautions(lineage),
        next_steps=next_steps(lineage, folder),
        citations=citations([(lineage["method"]["name"], lineage["method"]["citation"], "")]),
        blocks=provenance(facts),
    )


def search_page(search: Mapping[str, Any], model: str, method: str) -> str:
    """Return the page of a search without a chosen trial; it needs no network."""
    return rendered(
        Path(__file__).with_name("search.html.j2"),
        model=model,
        method=method,
        search=_search(search),
        sentences=search_sentences(search),
        cautions=search_cautions(search),
    )


def _search(search: Mapping[str, Any]) -> dict[str, Any]:
    return {"tables": search_tables(search), "drawing": search_drawing(search)}


def _loss_name(name: str) -> str:
    if name == "gradient_norm":
        return "norm of the gradient, before it is clipped"
    return "language model's loss, weighted" if name == "lm" else f"{name} term of the loss, weighted"
