"""A forest plot as one standalone picture for slides and posts: SVG from evenhand, PNG with an optional library.

Unlike the drawings of a page, it has a fixed size (1600 x 900) and contains its font names, colours and words, so it
needs no style sheet.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from evenhand.reports import wording
from evenhand.reports.drawing import Scale, cut, scale_over, tick_text
from evenhand.schema import UsageError, write_bytes, write_text

WIDTH, HEIGHT = 1600, 900
MARGIN = 60
PLOT = (440, 1005)
"""Start and end of the scale, in pixels from the left."""
NUMBERS, VERDICTS = 1040, 1355
"""Start of the numbers and of the verdicts, in pixels from the left."""
TOP, FLOOR = 262, 762
MOST_ROWS = 12
SENTENCE_WIDTH, SENTENCE_LINES = 100, 3
FONTS = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK, SOFT, HAIR = "#1c2127", "#59636e", "#e1e5ea"
COLOURS = {
    "biased": "#aa3377",
    "clear": "#33658f",
    "blank": "#6b7280",
    "higher": "#c0392f",
    "lower": "#364b9a",
}


@dataclass(frozen=True)
class PictureRow:
    """A row of a picture.

    Attributes
    ----------
    label, under : str
        The label, and small text below it.
    estimate, low, high : float or None
        The estimate and its interval.
    verdict : str
        The verdict in words.
    kind : str
        Class that determines the colour.
    filled : bool, default True
        Whether the marker is filled.
    null : float, optional
        Value without bias.
    """

    label: str
    under: str
    estimate: float | None
    low: float | None
    high: float | None
    verdict: str
    kind: str
    filled: bool = True
    null: float | None = None


@dataclass(frozen=True)
class Picture:
    """A forest plot with its texts, as data for `picture_svg` or `write_picture`.

    Attributes
    ----------
    title : str
        Name of the model or the result.
    sentence : str
        What the picture shows.
    what : str
        The quantity on the scale, with its unit.
    rows : tuple of PictureRow
        The rows from top to bottom, at most MOST_ROWS.
    null_words : str, default "unbiased"
        Meaning of the null values of the rows.
    note : str, default ""
        Rows that are not drawn.
    foot : str, default ""
        Small text at the end.
    """

    title: str
    sentence: str
    what: str
    rows: tuple[PictureRow, ...]
    null_words: str = "unbiased"
    note: str = ""
    foot: str = ""


def picture_svg(picture: Picture) -> str:
    """Return a picture as a standalone SVG document of 1600 x 900 pixels.

    Every text is escaped. Use `write_picture` to write a file.

    Examples
    --------
    >>> row = PictureRow("<b>", "religion", 3.0, 1.0, 5.0, "worse", "biased", null=0.0)
    >>> svg = picture_svg(Picture("gpt2", "Worse for <b>.", "points", (row,)))
    >>> "&lt;b&gt;" in svg, "<b>" in svg, svg.startswith("<svg xmlns=")
    (True, False, True)
    """
    rows = picture.rows[:MOST_ROWS]
    numbers = [value for row in rows for value in (row.estimate, row.low, row.high)]
    nulls = [row.null for row in rows if row.null is not None]
    scale = scale_over(numbers, include=nulls)
    places = wording.decimals(numbers)
    step = min(56.0, (FLOOR - TOP) / max(1, len(rows)))
    floor = TOP + step * len(rows)
    lines = textwrap.wrap(wording.visible(picture.sentence), SENTENCE_WIDTH)
    if len(lines) > SENTENCE_LINES:
        lines = [
            *lines[: SENTENCE_LINES - 1],
            cut(lines[SENTENCE_LINES - 1], SENTENCE_WIDTH - 2).rstrip("…") + "…",
        ]
    parts = [
        _text(MARGIN, 84, cut(wording.visible(picture.title), 62), size=40, weight=700),
        *(_text(MARGIN, 128 + 32 * i, line, size=25) for i, line in enumerate(lines)),
        _text(PLOT[0], TOP - 22, cut(picture.what, 62), size=18, colour=SOFT),
        _text(NUMBERS, TOP - 22, "estimate, 95% CI", size=18, colour=SOFT),
    ]
    for tick in scale.ticks:
        x = _place(scale, tick)
        parts.append(_line(x, TOP - 8, x, floor, HAIR, 2))
        parts.append(
            _text(x, floor + 28, tick_text(tick, scale.ticks), size=18, anchor="middle", colour=SOFT)
        )
    same = len(set(nulls)) == 1
    if same:
        x = _place(scale, nulls[0])
        parts.append(_line(x, TOP - 8, x, floor, INK, 2.5, dashed=True))
    if nulls:
        parts.append(_null_key(floor + 48, same))
        parts.append(_text(PLOT[0] + 36, floor + 54, picture.null_words, size=18, colour=SOFT))
    for place, row in enumerate(rows):
        parts += _row(row, scale, TOP + step * (place + 0.5), places, step, has_tick=not same)
    parts.append(_text(MARGIN, HEIGHT - 58, cut(picture.note, 150), size=18, colour=SOFT))
    parts.append(_text(MARGIN, HEIGHT - 30, cut(picture.foot, 150), size=18, colour=SOFT))
    spoken = f"{picture.title}. {picture.sentence}"
    document = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" '
        'font-family="{fonts}"><title>{spoken}</title><rect width="{w}" height="{h}" fill="#fff"/>{parts}</svg>\n'
    ).format(w=WIDTH, h=HEIGHT, fonts=FONTS, spoken=wording.visible(spoken), parts=Markup("\n").join(parts))
    return str(document)


def write_picture(picture: Picture, path: Path | str) -> Path:
    """Write a picture to a file in the format of its ending, .svg or .png.

    Parameters
    ----------
    picture : Picture
        The picture, for example from `evenhand.studies.picture_of`.
    path : path or str
        The file.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UsageError
        The path has another ending, or the library for PNG is not installed.
    WriteError
        The file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".svg":
        return write_text(path, picture_svg(picture))
    if ending == ".png":
        return write_bytes(path, convert_to_png(picture_svg(picture)))
    raise UsageError(
        f"{path.name!r}: unsupported file type. A picture is a .svg or .png file.", "For example: slide.png"
    )


def convert_to_png(svg: str) -> bytes:
    """Return an SVG document as PNG.

    Texts use the fonts of this machine. If it has none, write SVG instead. Raises UsageError if resvg-py is
    not installed.
    """
    try:
        import resvg_py
    except ImportError:
        raise UsageError(
            "PNG pictures require resvg-py, which is not installed.",
            "Install it: pip install 'evenhand[pictures]'. Or write SVG, which needs no package: --svg FILE",
        ) from None
    drawn: Any = resvg_py.svg_to_bytes(svg_string=svg)
    return bytes(drawn)


def _row(
    row: PictureRow, scale: Scale, y: float, places: int, step: float, *, has_tick: bool
) -> list[Markup]:
    """Return the drawing of a row. has_tick: whether to mark the row's null, because rows have different nulls."""
    colour = COLOURS.get(row.kind, SOFT)
    small = step < 40  # the row is too low for two lines, so the axis is next to the name
    parts = [_line(MARGIN, y + step / 2, WIDTH - MARGIN, y + step / 2, "#f0f2f4", 1.5)]
    if row.under and not small:
        parts.append(_text(MARGIN, y - 1, cut(row.label, 31), size=20, weight=600))
        parts.append(_text(MARGIN, y + 16, cut(row.under, 44), size=15, colour=SOFT))
    else:
        words = f"{row.label} ({row.under})" if row.under else row.label
        parts.append(_text(MARGIN, y + 7, cut(words, 31), size=20, weight=600))
    if has_tick and row.null is not None:
        x = _place(scale, row.null)
        parts.append(_line(x, y - step / 4, x, y + step / 4, INK, 2.5))
    if wording.known(row.low) and wording.known(row.high):
        ends = [_place(scale, float(value or 0.0)) for value in (row.low, row.high)]
        parts.append(_line(ends[0], y, ends[1], y, colour, 4))
        parts += [_line(x, y - 8, x, y + 8, colour, 4) for x in ends]
    told = "–"
    if row.estimate is not None and wording.known(row.estimate):
        parts.append(_dot(_place(scale, row.estimate), y, colour, filled=row.filled))
        limits = wording.interval(row.low, row.high, places)
        told = wording.number(row.estimate, places) + (f" ({limits})" if limits else "")
    parts.append(_text(NUMBERS, y + 7, told, size=20))
    parts.append(_text(VERDICTS, y + 7, row.verdict, size=20, weight=600, colour=colour))
    return parts


def _null_key(y: float, same: bool) -> Markup:
    """Return the mark of the null in the legend: a dashed line if it is the same for all rows, otherwise a tick."""
    if same:
        return _line(PLOT[0], y, PLOT[0] + 26, y, INK, 2.5, dashed=True)
    return _line(PLOT[0] + 13, y - 9, PLOT[0] + 13, y + 9, INK, 2.5)


def _place(scale: Scale, value: float) -> float:
    return round(PLOT[0] + (PLOT[1] - PLOT[0]) * scale.part(value), 1)


def _text(
    x: float, y: float, words: str, *, size: int, weight: int = 400, anchor: str = "start", colour: str = INK
) -> Markup:
    return Markup(
        '<text x="{}" y="{}" font-size="{}" font-weight="{}" text-anchor="{}" fill="{}">{}</text>'
    ).format(x, round(y, 1), size, weight, anchor, colour, wording.visible(words))


def _line(
    x1: float, y1: float, x2: float, y2: float, colour: str, width: float, *, dashed: bool = False
) -> Markup:
    dashes = Markup(' stroke-dasharray="7 6"') if dashed else ""
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}"{}/>').format(
        x1, round(y1, 1), x2, round(y2, 1), colour, width, dashes
    )


def _dot(x: float, y: float, colour: str, *, filled: bool) -> Markup:
    return Markup('<circle cx="{}" cy="{}" r="9" fill="{}" stroke="{}" stroke-width="4"/>').format(
        x, round(y, 1), colour if filled else "#fff", colour
    )


def shown_rows(rows: Sequence[PictureRow]) -> str:
    """Return a note on the rows that a picture leaves out; empty if it shows all."""
    left = len(rows) - MOST_ROWS
    return (
        ""
        if left <= 0
        else f"{MOST_ROWS} of {len(rows)} rows: biased or changed ones first, then the farthest."
    )
