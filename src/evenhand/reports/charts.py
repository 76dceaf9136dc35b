"""Drawings for table rows: intervals, histograms, axes and colours of a heat map.

Colours are Paul Tol's, which are suitable for colour-blind readers.
"""

import math
from collections.abc import Sequence

from markupsafe import Markup

from evenhand.reports.drawing import Scale, box, dot, line, svg, text, tick_text

SUNSET = (
    "#364B9A", "#4A7BB7", "#6EA6CD", "#98CAE1", "#C2E4EF", "#EAECCC",
    "#FEDA8B", "#FDB366", "#F67E4B", "#DD3D2D", "#A50026",
)  # fmt: skip
"""Colours of Paul Tol's diverging scheme, from low to high values (https://personal.sron.nl/~pault/)."""


def axis_svg(scale: Scale, labels: Sequence[str] | None = None) -> Markup:
    """Return the scale below the rows of a chart, with tick labels.

    It is hidden from screen readers, which read the numbers of each row instead.
    """
    words = labels or [tick_text(tick, scale.ticks) for tick in scale.ticks]
    ticks = [text(scale.at(tick), 14, word) for tick, word in zip(scale.ticks, words, strict=True)]
    return svg("axis", 20, ticks)


def interval_svg(
    scale: Scale,
    estimate: float | None,
    low: float | None,
    high: float | None,
    *,
    described: str,
    null: float | None = None,
    band: tuple[float | None, float | None] = (None, None),
    kind: str = "",
    filled: bool = True,
    others: Sequence[tuple[float, str]] = (),
) -> Markup:
    """Return one row of a forest plot: gridlines, value without bias, interval and estimate.

    Parameters
    ----------
    scale : Scale
        The horizontal scale.
    estimate, low, high : float or None
        The estimate and its interval.
    described : str
        Text for screen readers.
    null : float, optional
        Value without bias, drawn as a dashed line.
    band : tuple of (float or None, float or None)
        Range to shade, such as the values that a model without bias would give.
    kind : str, default ""
        CSS class that colours the marker.
    filled : bool, default True
        Whether the marker is filled. A hollow marker means "not significant", so that colour is not needed.
    others : sequence of (float, str)
        Further estimates, drawn as small dots, each with its CSS class ("higher" or "lower").
    """
    parts = _grid(scale, 30)
    if (ends := _ends(scale, *band)) is not None:
        parts.append(box("band", *ends, 4, 26))
    if null is not None and math.isfinite(null):
        parts.append(line("null", scale.at(null), 1, scale.at(null), 29))
    parts += [
        dot(f"small {side}", scale.at(value), 15, 2.5) for value, side in others if math.isfinite(value)
    ]
    if (ends := _ends(scale, low, high)) is not None:
        parts.append(line("whisker", ends[0], 15, ends[1], 15))
        parts += [line("whisker", x, 11, x, 19) for x in ends]
    if estimate is not None and math.isfinite(estimate):
        parts.append(dot("dot" if filled else "dot hollow", scale.at(estimate), 15))
    return svg(f"row {kind}", 30, parts, described=described)


def histogram_svg(
    scale: Scale, bins: Sequence[tuple[float, float, float]], *, described: str, mark: float | None = None
) -> Markup:
    """Return a histogram as a row of a chart. bins: (low, high, count) of each. mark: value marked by a line."""
    height = 38
    tallest = max((count for _, _, count in bins), default=0.0) or 1.0
    parts = _grid(scale, height)
    for low, high, count in bins:
        if count > 0:
            top = height - max(0.75, (height - 4) * count / tallest)
            parts.append(box("bar", scale.at(low), scale.at(high), top, height))
    if mark is not None:
        parts.append(line("median", scale.at(mark), 2, scale.at(mark), height))
    return svg("row", height, parts, described=described)


def diverging_class(value: float | None, largest: float) -> str:
    """Return the CSS class (`h0` to `h10`, colours of SUNSET) of a value between -largest and +largest.

    Examples
    --------
    >>> diverging_class(0.0, 2.0), diverging_class(-5.0, 2.0), diverging_class(None, 2.0)
    ('h5', 'h0', 'hx')
    """
    if value is None or not math.isfinite(value):
        return "hx"
    part = 0.0 if largest <= 0 else max(-1.0, min(1.0, value / largest))
    return f"h{round(5 + 5 * part)}"


def sunset_css() -> str:
    """Return CSS rules for the classes of `diverging_class`, with white text on dark colours."""
    dark = {0, 10}
    return "\n".join(
        f".h{i}{{background:{colour}{';color:#fff' if i in dark else ''}}}" for i, colour in enumerate(SUNSET)
    )


def _ends(scale: Scale, low: float | None, high: float | None) -> tuple[float, float] | None:
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    return scale.at(low), scale.at(high)


def _grid(scale: Scale, height: int) -> list[Markup]:
    return [line("grid", scale.at(tick), 0, scale.at(tick), height) for tick in scale.ticks]
