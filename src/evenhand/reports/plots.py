"""Slope charts (before and after) and rates against model size, as SVG with horizontal positions in per cent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from evenhand.reports.charts import Scale, scale_over, tick_text

LEFT, RIGHT = 13.0, 62.0  # per cent: where the first and the last model stand; names of lines follow
TOP, BOTTOM = 14, 34  # pixels
LINE = 15  # pixels that a label needs
LONGEST_LABEL = 24
SHORT_NAME = 14  # characters that fit on a phone between two stands of three
MOST_MODELS = 6
"""Beside each other; more would lie on each other's names."""


@dataclass(frozen=True)
class Slope:
    """A line: its values at each model, None where one has none; kind: CSS class; overall: drawn strongly."""

    label: str
    values: tuple[float | None, ...]
    kind: str = ""
    overall: bool = False


@dataclass(frozen=True)
class Point:
    """A model: how large, and its rate with limits."""

    label: str
    parameters: float
    value: float | None
    low: float | None = None
    high: float | None = None


def slope_svg(
    lines: Sequence[Slope], names: Sequence[str], *, described: str, unit: str = ""
) -> Markup | None:
    """Lines from model to model, each named at its right end; None where nothing can be drawn, or for too many models.

    Labels that would lie on each other are moved apart and led to their line.
    """
    drawn = [line for line in lines if sum(value is not None for value in line.values) > 1]
    if not drawn or not 2 <= len(names) <= MOST_MODELS:
        return None
    height = max(190, LINE * len(drawn) + TOP + BOTTOM + 10)
    scale = scale_over([value for line in drawn for value in line.values], ticks=4)
    at = [LEFT + i * (RIGHT - LEFT) / (len(names) - 1) for i in range(len(names))]
    parts = _grid(scale, height, LEFT, RIGHT, unit)
    for x, name in zip(at, names, strict=True):
        parts.append(
            Markup('<line class="stand" x1="{0}%" x2="{0}%" y1="{1}" y2="{2}"/>').format(
                round(x, 2), TOP, height - BOTTOM
            )
        )
        parts.append(_name(name, x, height, len(names)))
    ends = {
        line: [(x, _y(scale, v, height)) for x, v in zip(at, line.values, strict=True) if v is not None]
        for line in drawn
    }
    places = _apart([points[-1][1] for points in ends.values()], TOP, height - BOTTOM)
    for (line, points), place in zip(ends.items(), places, strict=True):
        kind = f"{line.kind.replace(' ', '-') or 'none'}{' overall' if line.overall else ''}"
        for (x, y), (x2, y2) in pairwise(points):
            parts.append(
                Markup('<line class="slope {}" x1="{}%" y1="{}" x2="{}%" y2="{}"/>').format(
                    kind, round(x, 2), y, round(x2, 2), y2
                )
            )
        parts += [
            Markup('<circle class="slope {}" cx="{}%" cy="{}" r="{}"/>').format(
                kind, round(x, 2), y, 4.5 if line.overall else 3
            )
            for x, y in points
        ]
        parts.append(
            Markup('<line class="lead" x1="{}%" y1="{}" x2="{}%" y2="{}"/>').format(
                round(points[-1][0] + 1.2, 2), points[-1][1], RIGHT + 3.5, place
            )
        )
        parts.append(_text(RIGHT + 4, place + 4, _cut(line.label, LONGEST_LABEL), "start", f"name {kind}"))
    return _whole(parts, height, described)


def size_svg(points: Sequence[Point], *, described: str, unit: str = "") -> Markup | None:
    """Rates against the number of parameters (logarithmic), with intervals; None without two sizes."""
    known = [point for point in points if point.value is not None and point.parameters > 0]
    if len({point.parameters for point in known}) < 2:
        return None
    known.sort(key=lambda point: point.parameters)
    height, right = 230, 90.0
    scale = scale_over([value for p in known for value in (p.value, p.low, p.high)], ticks=4)
    low, high = (math.log10(known[i].parameters) for i in (0, -1))
    span = high - low
    parts = _grid(scale, height, LEFT, right, unit)
    where = [LEFT + 6 + (right - LEFT - 12) * (math.log10(p.parameters) - low) / span for p in known]
    heights = [_y(scale, p.value or 0.0, height) for p in known]
    for i in range(len(known) - 1):
        parts.append(
            Markup('<line class="trend" x1="{}%" y1="{}" x2="{}%" y2="{}"/>').format(
                round(where[i], 2), heights[i], round(where[i + 1], 2), heights[i + 1]
            )
        )
    for point, x, y in zip(known, where, heights, strict=True):
        if point.low is not None and point.high is not None:
            parts.append(
                Markup('<line class="whisker" x1="{0}%" x2="{0}%" y1="{1}" y2="{2}"/>').format(
                    round(x, 2), _y(scale, point.low, height), _y(scale, point.high, height)
                )
            )
        parts.append(Markup('<circle class="dot" cx="{}%" cy="{}" r="4.5"/>').format(round(x, 2), y))
        anchor = "start" if x < 30 else "end" if x > 70 else "middle"
        side = 1.5 if anchor == "start" else -1.5 if anchor == "end" else 0.0
        parts.append(
            _text(
                x + side,
                max(11, (y if point.high is None else _y(scale, point.high, height)) - 7),
                _cut(point.label, LONGEST_LABEL),
                anchor,
                "name",
            )
        )
    ticks = dict.fromkeys((round(x, 2), short_count(p.parameters)) for x, p in zip(where, known, strict=True))
    shown: list[float] = []
    for x, text in ticks:
        if all(abs(x - other) > 9 for other in shown):
            shown.append(x)
            parts.append(_text(x, height - 16, text, "middle", ""))
    parts.append(_text((LEFT + right) / 2, height - 1, "parameters, logarithmic", "middle", ""))
    return _whole(parts, height, described)


def short_count(value: float) -> str:
    """A number of parameters as the field writes it.

    >>> short_count(124_439_808), short_count(6.7e9), short_count(820)
    ('124M', '6.7B', '820')
    """
    for least, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * least:  # 999.9M is 1B
            told = value / least
            return f"{told:.0f}{suffix}" if told >= 99.5 else f"{told:.1f}".removesuffix(".0") + suffix
    return f"{value:.0f}"


def _name(name: str, x: float, height: int, models: int) -> Markup:
    """A model's name under its stand; the first of two may be long, from the edge on."""
    if models == 2:
        shown = _cut(name, LONGEST_LABEL)
        at_edge = x == LEFT and len(shown) > SHORT_NAME
        return _text(2.0 if at_edge else x, height - 14, shown, "start" if at_edge else "middle", "name")
    return _text(x, height - 14, _cut(name, min(SHORT_NAME, 56 // models)), "middle", "name")


def _grid(scale: Scale, height: int, left: float, right: float, unit: str) -> list[Markup]:
    parts = []
    for tick in scale.ticks:
        y = _y(scale, tick, height)
        parts.append(
            Markup('<line class="grid" x1="{}%" x2="{}%" y1="{}" y2="{}"/>').format(left - 2, right, y, y)
        )
        parts.append(
            _text(left - 3, y + 4, tick_text(tick, scale.ticks) + (f" {unit}" if unit else ""), "end", "")
        )
    return parts


def _y(scale: Scale, value: float, height: int) -> float:
    part = (value - scale.low) / (scale.high - scale.low)
    return round(TOP + (1 - min(1.0, max(0.0, part))) * (height - TOP - BOTTOM), 1)


def _apart(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Places for labels at least LINE apart, each as near its line as the others let it be."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = [0.0] * len(heights)
    lowest = top
    for i in order:
        placed[i] = max(heights[i], lowest)
        lowest = placed[i] + LINE
    ceiling = bottom + LINE / 2
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - LINE
    return [round(place, 1) for place in placed]


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: max(1, characters - 1)] + "…"


def _text(x: float, y: float, text: str, anchor: str, kind: str) -> Markup:
    return Markup('<text class="{}" x="{}%" y="{}" text-anchor="{}">{}</text>').format(
        kind, round(x, 2), round(y, 1), anchor, text
    )


def _whole(parts: Sequence[Markup], height: int, described: str) -> Markup:
    return Markup('<svg class="chart" height="{}" role="img" aria-label="{}">{}</svg>').format(
        height, described, Markup("").join(parts)
    )
