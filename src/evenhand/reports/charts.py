"""Charts as inline SVG with positions in per cent: one drawing fits a phone, a screen and a page.

Text keeps its size while the drawing stretches, which scaled pictures (and so chart libraries that
draw at a fixed width) cannot do. Colours are Paul Tol's, safe for colour-blind readers.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

SUNSET = (
    "#364B9A", "#4A7BB7", "#6EA6CD", "#98CAE1", "#C2E4EF", "#EAECCC",
    "#FEDA8B", "#FDB366", "#F67E4B", "#DD3D2D", "#A50026",
)  # fmt: skip
"""Paul Tol's diverging scheme, low to high (https://personal.sron.nl/~pault/)."""

MARGIN = 3.0  # per cent left free at both ends, so that markers and tick labels are not cut


@dataclass(frozen=True)
class Scale:
    """A linear axis from `low` to `high` with round ticks.

    >>> scale_over([0.02, 0.98]).ticks
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Horizontal position of a value in per cent, kept inside the drawing."""
        part = (value - self.low) / (self.high - self.low)
        return round(MARGIN + (100 - 2 * MARGIN) * min(1.0, max(0.0, part)), 2)


def scale_over(values: Iterable[float | None], *, include: Sequence[float] = (), ticks: int = 5) -> Scale:
    """The smallest scale with round ends that holds all values.

    values: numbers, of which None and NaN are passed over. include: values that must be on it (a
    null). ticks: about how many. Returns a scale from 0 to 1 if there is no value.

    >>> scale_over([3.0, None], include=[0.0]).high
    3.0
    """
    finite = [v for v in [*values, *include] if v is not None and math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.5 * max(abs(low), 0.1), high + 0.5 * max(abs(high), 0.1)
    raw = (high - low) / ticks
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(first * step, last * step, tuple(round(i * step, 12) for i in range(first, last + 1)))


def factor_scale(logs: Iterable[float | None]) -> tuple[Scale, list[str]]:
    """A scale of log-ratios around 0 whose ticks are round factors, and their labels.

    >>> factor_scale([-0.6, 0.5])[1]
    ['×0.67', '×1', '×1.5']
    """
    finite = [v for v in logs if v is not None and math.isfinite(v)]
    low, high = min([-0.05, *finite]), max([0.05, *finite])
    widest = max(-low, high)
    step = next(
        (f for f in (1.1, 1.25, 1.5, 2, 3, 5, 10) if widest / math.log(f) < 2.6), math.exp(widest / 2.5)
    )
    first, last = math.ceil(low / math.log(step)), math.floor(high / math.log(step))
    ticks = tuple(i * math.log(step) for i in range(first, last + 1))
    return Scale(low, high, ticks), [f"×{math.exp(t):.{3 if step < 1.5 else 2}g}" for t in ticks]


def tick_text(value: float, ticks: Sequence[float]) -> str:
    """A tick's label with just the decimals its neighbours need."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else max(abs(value), 1.0)
    places = next((p for p in range(7) if abs(round(step, p) - step) < 1e-9 * max(1.0, step)), 6)
    return f"{value:.{places}f}".replace("-", "−") if value else "0"


def axis_svg(scale: Scale, labels: Sequence[str] | None = None) -> Markup:
    """The scale itself: tick labels under a chart's rows. Hidden from screen readers, who get numbers."""
    texts = labels or [tick_text(t, scale.ticks) for t in scale.ticks]
    parts = [
        Markup('<text x="{}%" y="14">{}</text>').format(scale.at(t), text)
        for t, text in zip(scale.ticks, texts, strict=True)
    ]
    return Markup('<svg class="axis" height="20" aria-hidden="true">{}</svg>').format(Markup("").join(parts))


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
) -> Markup:
    """One row of a forest plot: gridlines, null (line or band), interval, estimate.

    described: what a screen reader says. null: drawn as a dashed line. band: range of values an
    unbiased model would give. kind: class that colours the marker. filled: a hollow marker says
    "not significant" without colour.
    """
    parts = [_line("grid", scale.at(t), 0, 30) for t in scale.ticks]
    if (spread := _ends(scale, *band)) is not None:
        parts.append(
            Markup('<rect class="band" x="{}%" width="{}%" y="4" height="22"/>').format(
                spread[0], round(spread[1] - spread[0], 2)
            )
        )
    if null is not None and math.isfinite(null):
        parts.append(_line("null", scale.at(null), 1, 29))
    if (ends := _ends(scale, low, high)) is not None:
        parts.append(Markup('<line class="whisker" x1="{}%" x2="{}%" y1="15" y2="15"/>').format(*ends))
        parts += [_line("whisker", x, 11, 19) for x in ends]
    if estimate is not None and math.isfinite(estimate):
        parts.append(
            Markup('<circle class="dot{}" cx="{}%" cy="15" r="4.5"/>').format(
                "" if filled else " hollow", scale.at(estimate)
            )
        )
    return Markup('<svg class="row {}" height="30" role="img" aria-label="{}">{}</svg>').format(
        kind, described, Markup("").join(parts)
    )


def histogram_svg(
    scale: Scale, bins: Sequence[tuple[float, float, float]], *, described: str, mark: float | None = None
) -> Markup:
    """A histogram as one row: bins are (low, high, count); `mark` is drawn as a line (a median)."""
    height = 38
    tallest = max((count for _, _, count in bins), default=0.0) or 1.0
    parts = [_line("grid", scale.at(t), 0, height) for t in scale.ticks]
    for low, high, count in bins:
        if count > 0:
            tall = max(0.75, (height - 4) * count / tallest)
            left, right = scale.at(low), scale.at(high)
            parts.append(
                Markup('<rect class="bar" x="{}%" width="{}%" y="{}" height="{}"/>').format(
                    left, round(right - left, 2), round(height - tall, 1), round(tall, 1)
                )
            )
    if mark is not None:
        parts.append(_line("median", scale.at(mark), 2, height))
    return Markup('<svg class="row" height="{}" role="img" aria-label="{}">{}</svg>').format(
        height, described, Markup("").join(parts)
    )


def diverging_class(value: float | None, largest: float) -> str:
    """The CSS class (`h0` … `h10`, colours of SUNSET) of a value between -largest and +largest.

    >>> diverging_class(0.0, 2.0), diverging_class(-5.0, 2.0), diverging_class(None, 2.0)
    ('h5', 'h0', 'hx')
    """
    if value is None or not math.isfinite(value):
        return "hx"
    part = 0.0 if largest <= 0 else max(-1.0, min(1.0, value / largest))
    return f"h{round(5 + 5 * part)}"


def sunset_css() -> str:
    """Rules for the classes of `diverging_class`, white text only where the colour is dark."""
    dark = {0, 10}
    return "\n".join(
        f".h{i}{{background:{colour}{';color:#fff' if i in dark else ''}}}" for i, colour in enumerate(SUNSET)
    )


def _ends(scale: Scale, low: float | None, high: float | None) -> tuple[float, float] | None:
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    return scale.at(low), scale.at(high)


def _line(kind: str, x: float, top: float, bottom: float) -> Markup:
    return Markup('<line class="{}" x1="{}%" x2="{}%" y1="{}" y2="{}"/>').format(kind, x, x, top, bottom)
