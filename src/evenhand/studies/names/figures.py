"""Figures of the study of names: women's share by occupation (figure 1), and bias by turn and speaker (figure 2)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.reports import PlotArea, axis_svg, dot, interval_svg, known, line, scale_over

COLOURS = ("#33658f", "#b4472f", "#3f7d4f", "#7a5195", "#a67c00", "#5b6770")
STYLE = Markup(
    "<style>"
    + "".join(
        f"svg .row{number}{{stroke:{colour};stroke-width:2}}svg circle.row{number}{{fill:{colour};stroke:none}}"
        f".key .row{number}{{color:{colour}}}"
        for number, colour in enumerate(COLOURS)
    )
    + "figure{margin:0 0 1.5rem}.key{margin:.2rem 0}.key span{margin-right:1rem;white-space:nowrap}</style>"
)
NAMED = 4
"""Number of occupations that are labelled on each side: those with the largest differences."""
FARTHEST = 20
"""Largest distance in pixels of a label from its dot. A label without a free place within it is left out."""
TURNS = 12


def draw_legend(labels: Sequence[str]) -> Markup:
    """Return the legend that shows the colour of each row."""
    told = [
        Markup('<span class="row{}">● {}</span>').format(number % len(COLOURS), label)
        for number, label in enumerate(labels)
    ]
    return Markup('<p class="key">{}</p>').format(Markup(" ").join(told))


def levels_chart(rows: Sequence[tuple[str, Mapping[str, Any], str]]) -> Markup:
    """Return a chart of differences on one scale, with a dashed line at 0.

    `rows` has, for each difference, its label, its cell (estimate, low, high) and these numbers as text. A hollow dot
    means that the CI contains 0.
    """
    ends = [cell[name] for _, cell, _ in rows for name in ("estimate", "low", "high") if known(cell[name])]
    scale = scale_over(ends, include=[0.0])
    body = []
    for label, cell, value in rows:
        low, high = cell["low"], cell["high"]
        is_clear = low is None or high is None or low <= 0 <= high
        drawn = interval_svg(
            scale, cell["estimate"], low, high, described=f"{label}: {value}", null=0.0,
            kind="clear" if is_clear else "biased", filled=not is_clear,
        )  # fmt: skip
        row = Markup('<tr><th scope="row">{}</th><td class="plot">{}</td><td class="num value">{}</td></tr>')
        body.append(row.format(label, drawn, value))
    foot = Markup('<tfoot><tr><td></td><td class="plot">{}</td></tr></tfoot>').format(axis_svg(scale))
    return Markup('<table class="forest"><tbody>{}</tbody>{}</table>').format(Markup("").join(body), foot)


def occupations_svg(table: pl.DataFrame, described: str, number: int = 0) -> Markup | None:
    """Return figure 1 of a row, a scatter plot with one dot per occupation; None if no occupation was mentioned.

    The x axis is women's share of the people who work in the occupation. The y axis is the share of women's names in
    the conversations that mention it. The NAMED occupations with the largest differences on each side are labelled.

    Parameters
    ----------
    table
        occupation, share and share_said (the shares of both axes, in percent), n_women and n_men (conversations).
    described
        Text that describes the figure for screen readers.
    number
        Number of the row, which determines the colour.
    """
    known = table.drop_nulls(["share", "share_said"]).sort("share_said", "occupation")
    if known.is_empty():
        return None
    scale = scale_over([0.0, 100.0])
    area = PlotArea(scale, scale_over([0.0, 100.0]), left=11.0, right=96.0, height=320, bottom=48)
    parts = area.grid(" %", null=50.0)
    parts.append(area.under((area.left + area.right) / 2, "women at work, %", 1))
    kind = f"row{number % len(COLOURS)}"
    rows = known.to_dicts()
    points = [(area.x(row["share"]), area.y(row["share_said"])) for row in rows]
    parts += [dot(kind, *point) for point in points]
    named = {row["occupation"]: row for row in [*rows[:NAMED], *rows[-NAMED:]]}
    wanted = [
        area.label_over(name, area.x(row["share"]), area.y(row["share_said"]) - 8)
        for name, row in named.items()
    ]
    places = {label.words: label.y for label in wanted}
    for label in area.clear_of(wanted, points):
        if abs(label.y - places[label.words]) <= FARTHEST:
            parts.append(label.svg)
    return area.drawn(parts, described=described)


def turns_svg(turns: Mapping[str, pl.DataFrame], speaker: str, described: str) -> Markup | None:
    """Return figure 2 for one speaker: classifier bias by turn, with one line per row.

    Returns None if no row has a value.

    Parameters
    ----------
    turns
        Turn, speaker and estimate (points) of each row, by label.
    """
    lines = {
        label: table.filter(speaker=speaker)
        .drop_nulls("estimate")
        .sort("turn")
        .select("turn", "estimate")
        .rows()
        for label, table in turns.items()
    }
    values = [value for points in lines.values() for _, value in points]
    if not values:
        return None
    across = scale_over([1.0, float(TURNS)], ticks=6)
    area = PlotArea(across, scale_over(values, include=[0.0]), left=9.0, right=97.0, height=240, bottom=48)
    parts = area.grid(null=0.0)
    parts.append(area.under((area.left + area.right) / 2, f"utterance; speaker {speaker}", 1))
    for number, points in enumerate(lines.values()):
        kind = f"row{number % len(COLOURS)}"
        for (first, value), (second, after) in pairwise(points):
            parts.append(line(kind, area.x(first), area.y(value), area.x(second), area.y(after)))
        parts += [dot(kind, area.x(turn), area.y(value), 3.5) for turn, value in points]
    return area.drawn(parts, described=described)
