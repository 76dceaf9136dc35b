"""Scatter plots with many points, which are coloured by category."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from evenhand.reports.drawing import PlotArea, cut, dot, line, scale_over, text

HUES = (
    *("#33658f", "#b4472f", "#3f7d4f", "#7a5195", "#a67c00", "#5b6770", "#0f8b8d", "#c2549a"),
    *("#8a5a2b", "#5f7f1f", "#3d4fb3", "#d07c1f", "#2f2f2f"),
)
"""Colours of categories, as many as HolisticBias has axes. Further categories use them again."""
SCATTER_STYLE = Markup(
    "<style>"
    + "".join(
        f"svg circle.hue{number}{{fill:{colour};stroke:none;opacity:.75}}.key .hue{number}{{color:{colour}}}"
        for number, colour in enumerate(HUES)
    )
    + "svg line.link{stroke:currentColor;stroke-width:.6;opacity:.45}"
    + ".key{margin:.2rem 0}.key span{margin-right:1rem;white-space:nowrap}</style>"
)
LINKED = 12
"""Smallest distance in pixels between a point and its label at which a line connects them."""
NAMED = 5
"""Number of points with labels at each end of either scale."""


@dataclass(frozen=True)
class ScatterPoint:
    """A point in `scatter_svg`.

    `label` is its name, `across` the natural logarithm of a share, `up` its value and `kind` the number of
    its category. `never` states whether the share is 0; `across` is then a placeholder.
    """

    label: str
    across: float
    up: float
    kind: int = 0
    never: bool = False


def scatter_key(kinds: Sequence[str]) -> Markup:
    """Return the legend of a scatter plot: colours and categories.

    Examples
    --------
    >>> scatter_key(["age"])
    Markup('<p class="key"><span class="hue0">● age</span></p>')
    """
    told = [
        Markup('<span class="hue{}">● {}</span>').format(number % len(HUES), name)
        for number, name in enumerate(kinds)
    ]
    return Markup('<p class="key">{}</p>').format(Markup(" ").join(told))


def scatter_svg(
    points: Sequence[ScatterPoint], *, described: str, across: str, unit: str = ""
) -> Markup | None:
    """Return a scatter plot of values against logarithms of shares; None without data.

    The farthest points are labelled, and points without a share are marked. `across` names the shares, in
    percent. `unit` is that of the values.
    """
    drawn = [one for one in points if math.isfinite(one.across) and math.isfinite(one.up)]
    if len(drawn) < 2:
        return None
    powers = [(one.across + math.log(100)) / math.log(10) for one in drawn]
    first, last = math.floor(min(powers)), max(math.ceil(max(powers)), math.floor(min(powers)) + 1)
    step = max(1, (last - first) // 6)
    ticks = tuple(float(power) for power in range(first, last + 1, step))
    scale = replace(scale_over([first, last]), low=float(first), high=float(last), ticks=())
    area = PlotArea(
        scale,
        scale_over([one.up for one in drawn], ticks=5),
        left=11.0,
        right=97.0,
        height=392,
        bottom=48,
        top=28,
    )
    parts = area.grid()
    for tick in ticks:
        x = area.x(tick)
        parts += [line("grid", x, area.top, x, area.floor), area.under(x, share_text(tick))]
    parts.append(area.under((area.left + area.right) / 2, across, 1))
    places = [(area.x(power), area.y(one.up)) for power, one in zip(powers, drawn, strict=True)]
    parts += [
        dot(f"hue{one.kind % len(HUES)}", *place, 3.5) for one, place in zip(drawn, places, strict=True)
    ]
    ends = {place for order in (powers, [one.up for one in drawn]) for place in _ends(order)}
    wanted = [
        area.label_over(drawn[place].label, places[place][0], places[place][1] - 8) for place in sorted(ends)
    ]
    labels = area.clear_of(wanted, places)
    of_label = {cut(drawn[place].label): places[place] for place in sorted(ends)}
    for label in labels:
        x, y = of_label[label.words]
        if not y - LINKED < label.y < y + LINKED:
            parts.append(line("link", x, y, label.x, label.y + (3 if label.y < y else -LINKED)))
    if never := [x for (x, _), one in zip(places, drawn, strict=True) if one.never]:
        parts.append(line("null", never[0], area.top, never[0], area.floor))
        parts.append(text(never[0], area.top - 4, "never found"))
    if unit:
        parts.append(text(0, 10, unit, anchor="start"))
    return area.drawn([*parts, *(label.svg for label in labels)], described=described)


def _ends(values: Sequence[float]) -> list[int]:
    order = sorted(range(len(values)), key=lambda place: values[place])
    return [*order[:NAMED], *order[-NAMED:]]


def share_text(power: float) -> str:
    """Return a power of ten as a percentage.

    >>> share_text(-3.0), share_text(1.0), share_text(0.0)
    ('0.001 %', '10 %', '1 %')
    """
    value = 10.0**power
    return f"{value:.{max(0, -int(power))}f} %"
