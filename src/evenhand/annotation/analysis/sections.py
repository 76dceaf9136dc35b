"""Elements of a page: sections with sentences, rows of drawings, tables, and texts of annotators."""

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
    """A row of a drawing: label, drawing, and further cells."""

    label: str
    under: str
    svg: Markup
    value: str
    interval: str
    cells: tuple[str, ...] = ()
    verdict: str = ""
    note: str = ""
    """Reason why there is no interval: a sentence that may wrap, unlike numbers."""


@dataclass(frozen=True)
class Drawing:
    """Estimates with their intervals, one per row on a common scale.

    heads: headings of label, drawing and value. further: headings of further cells. left, right: meaning of the two
    directions.
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
    """Collapsed texts of annotators: (annotator and item, text)."""

    title: str
    hint: str
    rows: Sequence[tuple[str, str]]
    kind: str = "quotes"


@dataclass(frozen=True)
class CollapsedTables:
    """Collapsed tables, which few readers want to see at once."""

    title: str
    tables: Sequence[PlainTable]
    kind: str = "folded"


Part = Drawing | PlainTable | Quotes | CollapsedTables


@dataclass(frozen=True)
class Section:
    """A heading, introductory sentences, the content, and notes."""

    anchor: str
    title: str
    short: str
    """Name of the section in the links at the top."""
    parts: tuple[Part, ...]
    lead: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


def draw_interval(
    scale: Scale,
    estimate: float | None,
    low: float | None,
    high: float | None,
    *,
    described: str,
    null: float | None = None,
    verdict: str = "",
) -> Markup:
    """Return one estimate as a row of a drawing; the symbol is filled if a difference was
    detected, or if there is no verdict.
    """
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


def draw_axis(scale: Scale) -> Markup:
    """Return the axis of the scale, which is shown below the rows."""
    return axis_svg(scale)


def breakable(text: str) -> Markup:
    """Return a name that may be broken after a slash, hyphen, underscore or dot, instead of within a word.

    >>> str(breakable("org/model-90M<"))
    'org/<wbr>model-<wbr>90M&lt;'
    """
    parts = re.split(r"(?<=[/_.-])(?=\w)", text)
    return Markup("<wbr>").join(escape(part) for part in parts)
