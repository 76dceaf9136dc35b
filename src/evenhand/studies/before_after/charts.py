"""Draw harm against quality: one arrow per benchmark, from before to after, as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.reports import LABEL_HEIGHT, PlotArea, dot, known, line, number, scale_over
from evenhand.studies.before_after.conduct import BeforeAfter
from evenhand.studies.before_after.tables import QUALITY_BENCHMARK
from evenhand.studies.before_after.wording import MARKS, get_harm_unit, place as place_of

NEAR = 12.0, 45  # percent and pixels: if points are closer than this, each of them gets its label


@dataclass(frozen=True)
class End:
    """One end of an arrow: harm and quality of one model, each as (estimate, lower and upper bound of the CI)."""

    harm: tuple[float, float | None, float | None]
    quality: tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Arrow:
    """An arrow for one type of harm in one benchmark, from the model before to the model after."""

    label: str
    kind: str
    before: End
    after: End


@dataclass(frozen=True)
class Panel:
    """A drawing of all arrows against one measure of quality; ``better`` states in words which direction is better."""

    title: str
    better: str
    svg: Markup


def trade_off(study: BeforeAfter) -> list[Panel]:
    """Return drawings of harm against the share of non-empty responses, perplexity and diversity.

    A measure of quality that was not computed has no drawing.
    """
    perplexity = "judge_perplexity" if "judge_perplexity" in study.quality["measure"] else "text_perplexity"
    judged = perplexity == "judge_perplexity"
    wanted = (
        ("spoken", "Responses with text, %", "up: fewer empty or refused responses"),
        (
            perplexity,
            "Perplexity of responses, second model" if judged else "The model’s own perplexity of given texts",
            "down: more fluent" if judged else "down: better on ordinary text",
        ),
        ("distinct_3_at_budget", "Distinct trigrams, %", "up: more varied"),
    )  # fmt: skip
    panels = []
    for measure, title, better in wanted:
        arrows = [
            arrow for verdict in study.verdicts if (arrow := _arrow(study, verdict, measure)) is not None
        ]
        if arrows:
            panels.append(Panel(title, better, arrows_svg(arrows, described=f"Harm against {title.lower()}")))
    return panels


def _arrow(study: BeforeAfter, verdict: Any, measure: str) -> Arrow | None:
    row = verdict.asked
    quality = _quality(study, verdict, measure)
    if row is None or quality is None or get_harm_unit(row)[0] != "%":
        return None
    ends = [
        End(
            (100 * row[side], *(_times(row[f"{side}_{end}"], 100.0) for end in ("low", "high"))),
            quality[place],
        )
        for place, side in enumerate(("before", "after"))
    ]
    return Arrow(place_of(verdict), MARKS[verdict.kind][0], *ends)


def _quality(
    study: BeforeAfter, verdict: Any, measure: str
) -> list[tuple[float, float | None, float | None]] | None:
    if measure == "spoken":
        row = verdict.silent
        if row is None:
            return None
        return [
            (
                100 - 100 * row[side],
                _times(row[f"{side}_high"], -100.0, 100.0),
                _times(row[f"{side}_low"], -100.0, 100.0),
            )
            for side in ("before", "after")
        ]
    rows = study.quality.filter(pl.col("measure") == measure)
    same = rows.filter(pl.col("benchmark") == verdict.benchmark)
    nearest = same if same.height else rows.filter(pl.col("benchmark") == QUALITY_BENCHMARK)
    nearest = nearest if nearest.height or measure != "text_perplexity" else rows
    if not nearest.height:
        return None
    row = nearest.row(0, named=True)
    return [(row[side], row[f"{side}_low"], row[f"{side}_high"]) for side in ("before", "after")]


def _times(value: float | None, factor: float, plus: float = 0.0) -> float | None:
    return plus + factor * value if value is not None and known(value) else None


def arrows_svg(arrows: Sequence[Arrow], *, described: str) -> Markup:
    """Return a drawing of arrows from hollow points (before) to filled points (after), with 95% CIs as crosses.

    Labels that would overlap are moved apart.
    """
    ends = [end for arrow in arrows for end in (arrow.before, arrow.after)]
    area = PlotArea(
        scale_over([v for end in ends for v in end.harm], include=[0.0], ticks=5),
        scale_over([v for end in ends for v in end.quality], ticks=4),
        left=12.0,
        right=97.0,
        height=max(300, LABEL_HEIGHT * len(arrows) + 60),
        bottom=38,
    )
    parts = area.grid()
    points = [(area.x(arrow.after.harm[0]), area.y(arrow.after.quality[0])) for arrow in arrows]
    labels = []
    for arrow, (x, y) in zip(arrows, points, strict=True):
        start = area.x(arrow.before.harm[0]), area.y(arrow.before.quality[0])
        parts.append(Markup('<g class="trade {}">').format(arrow.kind))
        parts.append(line("way", *start, x, y))
        for end, (at, level) in ((arrow.before, start), (arrow.after, (x, y))):
            parts.append(area.interval_across("limits", level, *end.harm[1:]))
            parts.append(area.interval_up("limits", at, *end.quality[1:]))
        parts += [dot("hollow", *start, 5), dot("", x, y, 5), Markup("</g>")]
        near = [x2 for x2, y2 in points if abs(x2 - x) < NEAR[0] and abs(y2 - y) < NEAR[1]]
        clear_of_line = -8 if y < start[1] else LABEL_HEIGHT + 3
        labels.append(area.label_beside(arrow.label, min(near), max(near), y + clear_of_line))
    parts += [label.svg for label in area.keep_apart(labels)]  # drawn last, above all lines
    parts.append(area.under((area.left + area.right) / 2, "harm, % of answers", 1))
    spoken = "; ".join(
        f"{arrow.label}: harm {number(arrow.before.harm[0], 1)} to {number(arrow.after.harm[0], 1)} %, "
        f"quality {number(arrow.before.quality[0], 1)} to {number(arrow.after.quality[0], 1)}"
        for arrow in arrows
    )
    return area.drawn(parts, described=f"{described}. {spoken}")
