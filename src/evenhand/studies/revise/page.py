"""The search for an instruction as a page: what it changed, how it came about, what to beware of."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.mitigations.revision import HIGHER, KEPT, LOWER, NONE, NOT_DETECTED, REFERENCE, lineage
from evenhand.reports import Scale, axis_svg, interval_svg, rendered, scale_over, tick_text
from evenhand.studies.revise.card import effect, percent, points
from evenhand.studies.revise.conduct import RevisionStudy
from evenhand.studies.revise.wording import cautions, verdict_sentence

HEIGHT, TOP, BOTTOM = 260, 14, 26  # pixels of the chart; text above and below the points
LEFT, RIGHT = 9.0, 4.0  # per cent kept free for the labels
KINDS = {LOWER: "lower", HIGHER: "higher", NOT_DETECTED: "plain"}


def history_svg(history: pl.DataFrame, final: Mapping[str, Any] | None = None) -> Markup:
    """The search as a drawing: rounds from left to right, the change from no instruction upwards.

    history: see `mitigations.revision_history.history_frame`. final: `change`, `change_low` and `change_high` of the
    chosen instruction on new prompts, drawn at the right end. Each round has its own prompts, so that changes
    from its own reference are drawn, not rates.

    >>> from evenhand.mitigations.revision.searching import HISTORY
    >>> table = pl.DataFrame([{"iteration": 0, "instruction": "Be kind.", "fate": "kept", "change": -0.1}], HISTORY)
    >>> str(history_svg(table)).count("<circle")
    1
    """
    tried = history.filter(pl.col("change").is_not_null() & (pl.col("fate") != REFERENCE))
    ends = [final[name] for name in ("change", "change_low", "change_high")] if final else []
    scale = scale_over([100 * v for v in [*tried["change"], *ends] if v is not None], include=[0.0])
    rounds = int(history["iteration"].max() or 0)  # type: ignore[arg-type]
    columns = rounds + 1 + bool(final)
    parts = [_rule(scale, tick) for tick in scale.ticks]
    parts += [
        Markup('<text class="tick" x="{}%" y="{}" text-anchor="middle">{}</text>').format(
            _across(i, columns), HEIGHT - 6, text
        )
        for i, text in enumerate([*map(str, range(rounds + 1)), *(["final"] if final else [])])
    ]
    kept = tried.filter(pl.col("fate") == KEPT)
    line = kept.group_by("iteration").agg(pl.col("change").min()).sort("iteration").rows()
    for (i, a), (j, b) in itertools.pairwise(line):
        parts.append(
            _line("path", _across(i, columns), _down(scale, a), _across(j, columns), _down(scale, b))
        )
    for i, fate, change in tried.sort(pl.col("fate") == KEPT).select("iteration", "fate", "change").rows():
        kind = "kept" if fate == KEPT else "dropped"
        parts.append(_dot(kind, _across(i, columns), _down(scale, change)))
    if final and final["change"] is not None:
        x = _across(columns - 1, columns)
        if final["change_low"] is not None:
            low, high = (_down(scale, final[name]) for name in ("change_low", "change_high"))
            parts.append(_line("final", x, low, x, high))
        parts.append(_dot("finaldot", x, _down(scale, final["change"])))
    told = (
        f"Change of the share of negative continuations by round, {rounds + 1} rounds; the best kept: "
        + ", ".join(points(change) for _, change in line)
    )
    return Markup('<svg height="{}" role="img" aria-label="{}">{}</svg>').format(
        HEIGHT, told, Markup("").join(parts)
    )


def revision_page(study: RevisionStudy) -> str:
    """The whole search on one page that needs no network; every text is escaped."""
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


def _across(i: int, columns: int) -> float:
    return round(LEFT + (100 - LEFT - RIGHT) * (i + 0.5) / columns, 2)


def _down(scale: Scale, change: float) -> float:
    part = (100 * change - scale.low) / (scale.high - scale.low)
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part, 1)


def _rule(scale: Scale, tick: float) -> Markup:
    y = _down(scale, tick / 100)
    line = _line("null" if tick == 0 else "grid", LEFT, y, 100 - RIGHT / 2, y)
    text = Markup('<text class="tick" x="{}%" y="{}" text-anchor="end">{}</text>')
    return line + text.format(LEFT - 1.5, y + 4, tick_text(tick, scale.ticks))


def _line(kind: str, x: float, y: float, to_x: float, to_y: float) -> Markup:
    return Markup('<line class="{}" x1="{}%" y1="{}" x2="{}%" y2="{}"/>').format(kind, x, y, to_x, to_y)


def _dot(kind: str, x: float, y: float) -> Markup:
    return Markup('<circle class="{}" cx="{}%" cy="{}" r="4"/>').format(kind, x, y)
