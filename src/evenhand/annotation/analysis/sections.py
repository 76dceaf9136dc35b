"""What a page is made of: sections of sentences, drawings in rows, tables, and texts of people, all of it text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from evenhand.reports import Scale, axis_svg, interval_svg
from evenhand.studies import PlainTable

COLOURS = {
    "preferred": "biased",
    "less preferred": "biased",
    "differs": "biased",
    "left": "biased",
    "right": "biased",
    "not detected": "clear",
    "not measurable": "blank",
}
"""CSS classes of verdicts."""
MARKS = {
    "preferred": "◆",
    "less preferred": "◆",
    "differs": "◆",
    "left": "←",
    "right": "→",
    "not detected": "○",
    "not measurable": "–",
}
"""Symbols that show a verdict without colour."""
Head = tuple[str, str]


@dataclass(frozen=True)
class DrawnRow:
    """A row of a drawing: what it is of, the drawing, and the cells behind it."""

    label: str
    under: str
    svg: Markup
    value: str
    interval: str
    cells: tuple[str, ...] = ()
    verdict: str = ""
    note: str = ""
    """Why there is no interval: a sentence, which wraps where numbers do not."""


@dataclass(frozen=True)
class Drawing:
    """Estimates with their intervals, row by row on one scale.

    heads: of label, drawing and value. further: of the cells behind them. left, right: what the two directions mean.
    """

    caption: str
    heads: tuple[str, str, str]
    rows: Sequence[DrawnRow]
    axis: Markup
    further: tuple[str, ...] = ()
    judged: bool = False
    left: str = ""
    right: str = ""
    kind: str = "drawing"


@dataclass(frozen=True)
class Quotes:
    """What people wrote, folded: (who and of what, text)."""

    title: str
    hint: str
    rows: Sequence[tuple[str, str]]
    kind: str = "quotes"


@dataclass(frozen=True)
class Folded:
    """Tables that few want to see at once."""

    title: str
    tables: Sequence[PlainTable]
    kind: str = "folded"


Part = Drawing | PlainTable | Quotes | Folded


@dataclass(frozen=True)
class Section:
    """A heading, sentences under it, what it shows, and what to know of it."""

    anchor: str
    title: str
    short: str
    """As the links at the top call it."""
    parts: tuple[Part, ...]
    lead: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


def drawn(
    scale: Scale,
    estimate: float | None,
    low: float | None,
    high: float | None,
    *,
    described: str,
    null: float | None = None,
    verdict: str = "",
) -> Markup:
    """One estimate as a row of a drawing; filled where a verdict found something, or none was reached."""
    return interval_svg(
        scale,
        estimate,
        low,
        high,
        described=described,
        null=null,
        kind=COLOURS.get(verdict, "clear"),
        filled=verdict not in ("not detected", "not measurable"),
    )


def axis_of(scale: Scale) -> Markup:
    """The scale itself, under the rows."""
    return axis_svg(scale)


def breakable(text: str) -> Markup:
    """A name that may go on in the next line behind a slash, hyphen, underscore or dot, rather than within a word.

    >>> str(breakable("org/model-90M<"))
    'org/<wbr>model-<wbr>90M&lt;'
    """
    parts = re.split(r"(?<=[/_.-])(?=\w)", text)
    return Markup("<wbr>").join(escape(part) for part in parts)
