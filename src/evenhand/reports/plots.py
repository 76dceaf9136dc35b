"""Plots as SVG: lines from model to model, rates against model size, and remaining bias against cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markupsafe import Markup

from evenhand.reports.drawing import (
    LABEL_HEIGHT,
    Label,
    PlotArea,
    Scale,
    assign_rows,
    cut,
    dot,
    factor_scale,
    line,
    scale_over,
    tell_apart,
    tick_text,
)

# positions of the first and the last model in percent; labels of lines are on the right of the last
LEFT, RIGHT = 13.0, 62.0
EDGE = 2.0  # start of the first model's name in percent, if it is long
MOST_MODELS = 6
"""Maximum number of models side by side; with more, the lines between them cannot be read."""


@dataclass(frozen=True)
class Slope:
    """A line in `slope_svg`, with its label and its value (or None) for each model.

    `kind` is the CSS class. With `overall`, the line is drawn thick.
    """

    label: str
    values: tuple[float | None, ...]
    kind: str = ""
    overall: bool = False

    @property
    def classes(self) -> str:
        """Return the CSS classes of the line, its points and its label."""
        return f"{self.kind.replace(' ', '-') or 'none'}{' overall' if self.overall else ''}"


@dataclass(frozen=True)
class SizedRate:
    """A model in `size_svg`: its number of parameters, and its rate with the interval."""

    label: str
    parameters: float
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class WeighedPoint:
    """A candidate in `front_svg`: its relative cost (`times`) and its remaining bias (`value`).

    `kind` is the CSS class of its dot. `on_front` states whether no other candidate is better in both.
    `named` states whether its label is shown.
    """

    label: str
    times: float
    value: float
    kind: str = ""
    on_front: bool = False
    named: bool = True


MOST_LINEAR = 2.0
"""Largest relative cost for a linear scale; with larger ones, the scale is logarithmic."""


def front_svg(
    points: Sequence[WeighedPoint], limit: float | None, *, described: str, across: str, unit: str = ""
) -> Markup | None:
    """Return a plot of remaining bias against cost with the Pareto front as steps.

    It is None if no point has both numbers. `limit` is the largest allowed cost, drawn as a line (None: no
    limit). `across` is the name of the cost.
    """
    known = [point for point in points if math.isfinite(point.times) and math.isfinite(point.value)]
    if not known:
        return None
    times = [1.0, *filter(None, [limit]), *(point.times for point in known)]
    up = scale_over([point.value for point in known], include=[0.0], ticks=4)
    linear = max(times) <= MOST_LINEAR or min(times) <= 0
    if linear:
        scale = scale_over(times, ticks=5)
        names = [f"×{tick_text(tick, scale.ticks)}" for tick in scale.ticks]
    else:
        scale, names = factor_scale([math.log(one) for one in times])
        names = [
            f"×{math.exp(t):,.0f}" if t > math.log(99) else name
            for t, name in zip(scale.ticks, names, strict=True)
        ]
    area = PlotArea(replace(scale, ticks=()), up, LEFT, 97.0, height=280, bottom=48)

    def place(cost: float) -> float:
        return area.x(cost if linear else math.log(cost))

    parts = area.grid(unit)
    for tick, name in zip(scale.ticks, names, strict=True):
        x = area.x(tick)
        parts += [line("grid", x, area.top, x, area.floor), area.under(x, name)]
    parts.append(area.under((area.left + area.right) / 2, across, 1))
    if limit is not None:
        parts.append(line("null", place(limit), area.top, place(limit), area.floor))
    stair = sorted((place(p.times), area.y(p.value)) for p in known if p.on_front)
    for (x, y), (next_x, next_y) in pairwise(stair):
        parts += [line("trend", x, y, next_x, y), line("trend", next_x, y, next_x, next_y)]
    dots = [(place(point.times), area.y(point.value)) for point in known]
    parts += [dot(point.kind, *where) for point, where in zip(known, dots, strict=True)]
    wanted = [area.label_over(p.label, place(p.times), area.y(p.value) - 8) for p in known if p.named]
    return area.drawn([*parts, *(label.svg for label in area.clear_of(wanted, dots))], described=described)


def slope_svg(
    lines: Sequence[Slope],
    names: Sequence[str],
    *,
    described: str,
    unit: str = "",
    at: Sequence[float] = (),
) -> Markup | None:
    """Return a plot of lines from model to model, each with a label at its right end.

    It is None without data or with too many models. Names of models, without their common parts, use as many
    rows as a phone needs. Overlapping labels are moved apart and connected to their lines. `at` is the
    position of each model (a size, a time), in rising order with at least two different values. If it is
    empty, distances are equal. With positions, the number of models is not limited.
    """
    drawn = [slope for slope in lines if sum(value is not None for value in slope.values) > 1]
    if not drawn or len(names) < 2 or (len(names) > MOST_MODELS and not at):
        return None
    along = list(at) or list(range(len(names)))
    across = Scale(along[0], along[-1], ())
    stands = [LEFT + (RIGHT - LEFT) * across.part(one) for one in along]
    models = [_model_name(name, x) for name, x in zip(tell_apart(names), stands, strict=True)]
    rows = assign_rows([model.span for model in models])
    bottom = 34 + 14 * max(rows)
    area = PlotArea(
        across,
        scale_over([value for slope in drawn for value in slope.values], ticks=4),
        LEFT,
        RIGHT,
        height=max(156, LABEL_HEIGHT * len(drawn) + 24) + bottom,
        bottom=bottom,
    )
    parts = area.grid(unit) + [line("stand", x, area.top, x, area.floor) for x in stands]
    for model, row in zip(models, rows, strict=True):
        parts.append(area.under(model.x, model.words, row, anchor=model.anchor, kind=model.kind))
    points = [
        [(x, area.y(value)) for x, value in zip(stands, slope.values, strict=True) if value is not None]
        for slope in drawn
    ]
    wanted = [
        Label(cut(slope.label), RIGHT + 4, places[-1][1] + 4, "start", f"name {slope.classes}")
        for slope, places in zip(drawn, points, strict=True)
    ]
    for slope, places, label in zip(drawn, points, area.keep_apart(wanted), strict=True):
        kind = f"slope {slope.classes}"
        parts += [line(kind, *start, *end) for start, end in pairwise(places)]
        parts += [dot(kind, *place, 4.5 if slope.overall else 3) for place in places]
        x, y = places[-1]
        parts += [line("lead", x + 1.2, y, RIGHT + 3.5, label.y - 4), label.svg]
    return area.drawn(parts, described=described)


def _model_name(name: str, x: float) -> Label:
    """Return the label with a model's name below its position; a long first name begins at the edge."""
    label = Label(cut(name), x, 0)
    return replace(label, x=EDGE, anchor="start") if label.span[0] < EDGE else label


def size_svg(points: Sequence[SizedRate], *, described: str, unit: str = "") -> Markup | None:
    """Return a plot of rates against numbers of parameters (logarithmic), with intervals; None without two sizes."""
    known = sorted(
        (p for p in points if p.value is not None and p.parameters > 0), key=lambda p: p.parameters
    )
    if len({point.parameters for point in known}) < 2:
        return None
    low, high = (math.log10(known[i].parameters) for i in (0, -1))
    aside = 0.09 * (high - low)
    area = PlotArea(
        Scale(low - aside, high + aside, ()),
        scale_over([value for p in known for value in (p.value, p.low, p.high)], ticks=4),
        LEFT,
        90.0,
        height=max(230, LABEL_HEIGHT * len(known) + 60),
        bottom=36,
    )
    places = [(area.x(math.log10(p.parameters)), area.y(p.value or 0.0)) for p in known]
    parts = area.grid(unit) + [line("trend", *start, *end) for start, end in pairwise(places)]
    wanted = [
        area.label_over(name, x, (y if point.high is None else area.y(point.high)) - 7)
        for name, point, (x, y) in zip(tell_apart([p.label for p in known]), known, places, strict=True)
    ]
    labels = area.keep_apart(wanted)
    for point, (x, y), label, meant in zip(known, places, labels, wanted, strict=True):
        parts.append(area.interval_up("whisker", x, point.low, point.high))
        parts.append(dot("dot", x, y))
        if abs(label.y - meant.y) > LABEL_HEIGHT:
            parts.append(line("lead", x, y, label.x, label.y - 4))
    ticks = dict.fromkeys(
        (round(x, 2), short_count(p.parameters)) for (x, _), p in zip(places, known, strict=True)
    )
    names = [Label(words, x, 0) for x, words in ticks]
    first = [name for name, row in zip(names, assign_rows([n.span for n in names]), strict=True) if row == 0]
    parts += [label.svg for label in labels] + [area.under(name.x, name.words) for name in first]
    parts.append(area.under((area.left + area.right) / 2, "parameters, logarithmic", 1))
    return area.drawn(parts, described=described)


def short_count(value: float) -> str:
    """Return a number of parameters in the usual notation.

    >>> short_count(124_439_808), short_count(6.7e9), short_count(820)
    ('124M', '6.7B', '820')
    """
    for least, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * least:  # 999.9M is written as 1B
            figures = value / least
            return (
                f"{figures:.0f}{suffix}" if figures >= 99.5 else f"{figures:.1f}".removesuffix(".0") + suffix
            )
    return f"{value:.0f}"
