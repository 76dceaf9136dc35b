"""Page of a search for an instruction: effect, course of the search, and cautions."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.mitigations.revision import HIGHER, KEPT, LOWER, NONE, NOT_DETECTED, REFERENCE, lineage
from evenhand.reports import (
    Label,
    PlotArea,
    Scale,
    assign_rows,
    axis_svg,
    dot,
    interval_svg,
    line,
    rendered,
    scale_over,
)
from evenhand.studies.search_instruction.card import effect, percent, points
from evenhand.studies.search_instruction.conduct import RevisionStudy
from evenhand.studies.search_instruction.wording import cautions, verdict_sentence

KINDS = {LOWER: "lower", HIGHER: "higher", NOT_DETECTED: "plain"}


def history_svg(history: pl.DataFrame, final: Mapping[str, Any] | None = None) -> Markup:
    """Return a chart of the search: rounds on the x axis, change from the model without an instruction on the y axis.

    Each round has its own prompts, so the chart shows changes from the round's own reference instead of rates.

    Parameters
    ----------
    history
        See `mitigations.revision_history.history_frame`.
    final
        `change`, `change_low` and `change_high` of the chosen instruction on new prompts, drawn at the right end.

    Examples
    --------
    >>> from evenhand.mitigations.revision.searching import HISTORY
    >>> table = pl.DataFrame([{"iteration": 0, "instruction": "Be kind.", "fate": "kept", "change": -0.1}], HISTORY)
    >>> str(history_svg(table)).count("<circle")
    1
    """
    tried = history.filter(pl.col("change").is_not_null() & (pl.col("fate") != REFERENCE)).with_columns(
        change=100 * pl.col("change")
    )
    change, low, high = (
        None if final is None or final[name] is None else 100 * final[name]
        for name in ("change", "change_low", "change_high")
    )
    rounds = int(history["iteration"].max() or 0)  # type: ignore[arg-type]
    columns = [*map(str, range(rounds + 1)), *(["final"] if final else [])]
    up = scale_over([*tried["change"], change, low, high], include=[0.0])
    area = PlotArea(Scale(-0.5, len(columns) - 0.5, ()), up, left=9.0, right=97.0, height=260, bottom=26)
    parts = area.grid(null=0.0)
    names = [Label(name, area.x(i), 0) for i, name in enumerate(columns)]
    for name, row in zip(names, assign_rows([name.span for name in names]), strict=True):
        if row == 0:  # if there are many rounds, not each tick has a number
            parts.append(area.under(name.x, name.words))
    kept = tried.filter(pl.col("fate") == KEPT)
    best = kept.group_by("iteration").agg(pl.col("change").min()).sort("iteration").rows()
    for (i, a), (j, b) in itertools.pairwise(best):
        parts.append(line("path", area.x(i), area.y(a), area.x(j), area.y(b)))
    for i, fate, value in tried.sort(pl.col("fate") == KEPT).select("iteration", "fate", "change").rows():
        parts.append(dot("kept" if fate == KEPT else "dropped", area.x(i), area.y(value), 4))
    if change is not None:
        parts.append(area.interval_up("final", area.x(rounds + 1), low, high))
        parts.append(dot("finaldot", area.x(rounds + 1), area.y(change), 4))
    described = (
        f"Change of the share of negative continuations by round, {rounds + 1} rounds; the best kept: "
        + ", ".join(points(value / 100) for _, value in best)
    )
    return area.drawn(parts, described=described)


def revision_page(study: RevisionStudy) -> str:
    """Return the whole search as one HTML document that needs no network; every text is escaped."""
    others = study.finalists.filter(pl.col("instruction") != NONE)
    ends = [100 * v for name in ("change_low", "change_high", "change") for v in others[name].drop_nulls()]
    scale = scale_over(ends, include=[0.0])
    return rendered(
        Path(__file__).with_name("revision.html.j2"),
        facts=study.facts,
        sentence=verdict_sentence(study),
        chosen=study.chosen,
        reference=study.reference,
        drawing=history_svg(study.history, study.chosen),
        steps=lineage(study.history, study.chosen["instruction"]),
        finalists=[(row, _interval(scale, row)) for row in others.iter_rows(named=True)],
        axis=axis_svg(scale),
        cautions=cautions(study),
        history=study.history.to_dicts(),
        percent=percent,
        points=points,
    )


def _interval(scale: Scale, row: Mapping[str, Any]) -> Markup:
    change, low, high = (
        None if row[n] is None else 100 * row[n] for n in ("change", "change_low", "change_high")
    )
    return interval_svg(
        scale,
        change,
        low,
        high,
        described=effect(row),
        null=0.0,
        kind=KINDS.get(row["verdict"], "blank"),
        filled=row["verdict"] in (LOWER, HIGHER),
    )
