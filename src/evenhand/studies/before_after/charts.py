"""The trade-off: harm against quality, each benchmark an arrow from before to after, as SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.reports import Scale, known, number, scale_over, tick_text
from evenhand.studies.before_after.conduct import BeforeAfter
from evenhand.studies.before_after.tables import QUALITY_BENCHMARK
from evenhand.studies.before_after.wording import MARKS, place as place_of, share_of

LEFT, RIGHT = 12.0, 97.0  # per cent
TOP, BOTTOM, HEIGHT = 14, 40, 300  # pixels
LINE = 14
NEAR = 12.0, 45  # per cent and pixels: so near to each other, names stand beside all of their points
MIDDLE = 62.0  # per cent; points to the right of it have their names on the left


@dataclass(frozen=True)
class End:
    """One end of an arrow: harm and quality of one model, each with its limits."""

    harm: tuple[float, float | None, float | None]
    quality: tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Arrow:
    """One kind of harm in one benchmark, before and after."""

    label: str
    kind: str
    before: End
    after: End


@dataclass(frozen=True)
class Panel:
    """A drawing of all arrows against one measure of quality. better: which way is better, in words."""

    title: str
    better: str
    svg: Markup


def trade_off(study: BeforeAfter) -> list[Panel]:
    """A panel for answers that say something, one for perplexity, one for diversity, as far as they are known."""
    perplexity = "judge_perplexity" if "judge_perplexity" in study.quality["measure"] else "text_perplexity"
    judged = perplexity == "judge_perplexity"
    wanted = (
        ("spoken", "Answers that say something, %", "up: fewer empty or refused answers"),
        (
            perplexity,
            "Perplexity of the answers under the judge" if judged else "The model’s own perplexity of given texts",
            "down: more fluent" if judged else "down: it still knows ordinary text",
        ),
        ("distinct_3_at_budget", "Different trigrams, %", "up: more varied"),
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
    if row is None or quality is None or share_of(row)[0] != "%":
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
    own = rows.filter(pl.col("benchmark") == verdict.benchmark)
    chosen = own if own.height else rows.filter(pl.col("benchmark") == QUALITY_BENCHMARK)
    chosen = chosen if chosen.height or measure != "text_perplexity" else rows
    if not chosen.height:
        return None
    found: Mapping[str, Any] = chosen.row(0, named=True)
    return [(found[side], found[f"{side}_low"], found[f"{side}_high"]) for side in ("before", "after")]


def _times(value: float | None, factor: float, plus: float = 0.0) -> float | None:
    return plus + factor * value if value is not None and known(value) else None


def arrows_svg(arrows: Sequence[Arrow], *, described: str) -> Markup:
    """Arrows from hollow (before) to filled points (after) with crosses of 95 % intervals.

    Labels that would lie on each other are moved apart.
    """
    ends = [end for arrow in arrows for end in (arrow.before, arrow.after)]
    across = scale_over([v for end in ends for v in end.harm], include=[0.0], ticks=5)
    up = scale_over([v for end in ends for v in end.quality], ticks=4)
    parts = _grid(across, up)
    points = [(_x(across, arrow.after.harm[0]), _y(up, arrow.after.quality[0])) for arrow in arrows]
    places = _apart([y for _, y in points])
    names = []
    for arrow, (x2, y2), place in zip(arrows, points, places, strict=True):
        x, y = _x(across, arrow.before.harm[0]), _y(up, arrow.before.quality[0])
        told = Markup('<g class="trade {}">').format(arrow.kind)
        told += Markup('<line class="way" x1="{}%" y1="{}" x2="{}%" y2="{}"/>').format(x, y, x2, y2)
        told += _cross(arrow.before, across, up, x, y) + _cross(arrow.after, across, up, x2, y2)
        told += Markup('<circle class="hollow" cx="{}%" cy="{}" r="5"/>').format(x, y)
        told += Markup('<circle cx="{}%" cy="{}" r="5"/></g>').format(x2, y2)
        parts.append(told)
        near = [x for x, y in points if abs(x - x2) < NEAR[0] and abs(y - y2) < NEAR[1]]
        at, anchor = (max(near) + 2, "start") if max(near) < MIDDLE else (min(near) - 2, "end")
        names.append(
            Markup('<g class="trade"><text x="{}%" y="{}" text-anchor="{}">{}</text></g>').format(
                round(at, 2), place, anchor, arrow.label
            )
        )
    parts += names  # over all lines, so that they can be read
    spoken = "; ".join(
        f"{arrow.label}: harm {number(arrow.before.harm[0], 1)} to {number(arrow.after.harm[0], 1)} %, "
        f"quality {number(arrow.before.quality[0], 1)} to {number(arrow.after.quality[0], 1)}"
        for arrow in arrows
    )
    return Markup('<svg class="chart" height="{}" role="img" aria-label="{}">{}</svg>').format(
        HEIGHT, f"{described}. {spoken}", Markup("").join(parts)
    )


def _cross(end: End, across: Scale, up: Scale, x: float, y: float) -> Markup:
    drawn = Markup("")
    _, low, high = end.harm
    if low is not None and high is not None:
        drawn += Markup('<line class="limits" x1="{}%" x2="{}%" y1="{}" y2="{}"/>').format(
            _x(across, low), _x(across, high), y, y
        )
    _, low, high = end.quality
    if low is not None and high is not None:
        drawn += Markup('<line class="limits" x1="{}%" x2="{}%" y1="{}" y2="{}"/>').format(
            x, x, _y(up, low), _y(up, high)
        )
    return drawn


def _grid(across: Scale, up: Scale) -> list[Markup]:
    parts = []
    for tick in across.ticks:
        x = _x(across, tick)
        parts.append(
            Markup('<line class="grid" x1="{0}%" x2="{0}%" y1="{1}" y2="{2}"/>').format(
                x, TOP, HEIGHT - BOTTOM
            )
        )
        parts.append(_text(x, HEIGHT - BOTTOM + 16, tick_text(tick, across.ticks), "middle"))
    for tick in up.ticks:
        y = _y(up, tick)
        parts.append(
            Markup('<line class="grid" x1="{}%" x2="{}%" y1="{}" y2="{}"/>').format(LEFT, RIGHT, y, y)
        )
        parts.append(_text(LEFT - 1.5, y + 4, tick_text(tick, up.ticks), "end"))
    parts.append(_text((LEFT + RIGHT) / 2, HEIGHT - 5, "harm, % of answers", "middle"))
    return parts  # fmt: skip


def _x(scale: Scale, value: float) -> float:
    part = (value - scale.low) / (scale.high - scale.low)
    return round(LEFT + min(1.0, max(0.0, part)) * (RIGHT - LEFT), 2)


def _y(scale: Scale, value: float) -> float:
    part = (value - scale.low) / (scale.high - scale.low)
    return round(TOP + (1 - min(1.0, max(0.0, part))) * (HEIGHT - TOP - BOTTOM), 1)


def _apart(heights: Sequence[float]) -> list[float]:
    """Places for labels at least LINE apart: below points of the upper half, above points of the lower half."""
    placed = [0.0] * len(heights)
    upper = [i for i in range(len(heights)) if heights[i] < HEIGHT / 2]
    last = 0.0
    for i in sorted(upper, key=lambda i: heights[i]):
        last = placed[i] = max(heights[i] + LINE + 4, last + LINE)
    last = float(HEIGHT)
    for i in sorted(set(range(len(heights))) - set(upper), key=lambda i: -heights[i]):
        last = placed[i] = min(heights[i] - 8, last - LINE)
    return [round(place, 1) for place in placed]


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text x="{}%" y="{}" text-anchor="{}">{}</text>').format(
        round(x, 2), round(y, 1), anchor, text
    )
