"""Draw shares with their Monte-Carlo intervals in the rows of tables, and power curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from evenhand.reports import PlotArea, Scale, dot, interval_svg, line, scale_over
from evenhand.studies.calibration.holding import LARGEST_FALSE

FALSE_SCALE = Scale(0.0, 0.2, (0.0, 0.05, 0.1, 0.15, 0.2))
POWER_SCALE = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
SHARES = Scale(0.0, 100.0, (0.0, 20.0, 40.0, 60.0, 80.0, 100.0))


@dataclass(frozen=True)
class Curve:
    """Detected shares in percent at positions on the x axis; None if nothing was counted."""

    places: tuple[float, ...]
    shares: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


def false_svg(
    share: float | None, low: float | None, high: float | None, *, fails: bool, described: str
) -> Markup:
    """Return a drawing of a false-positive rate on a scale up to 20%, with the allowed range."""
    band = (0.0, LARGEST_FALSE)
    kind = "biased" if fails else "clear"
    return interval_svg(FALSE_SCALE, share, low, high, described=described, band=band, kind=kind)


def curve_svg(
    curve: Curve, across: str, described: str, *, band: tuple[float, float] | None = None
) -> Markup | None:
    """Return a curve of the detected share; None with fewer than two points. `band` is the required range of shares."""
    known = [(x, y) for x, y in zip(curve.places, curve.shares, strict=True) if y is not None]
    if len(known) < 2:
        return None
    low, high = known[0][0], known[-1][0]
    ticks = scale_over([low, high], ticks=5).ticks
    aside = 0.04 * (high - low)
    scale = Scale(low - aside, high + aside, tuple(t for t in ticks if low - aside <= t <= high + aside))
    area = PlotArea(scale, SHARES, 13.0, 96.0, height=190, bottom=40)
    parts = area.grid("%")
    if band is not None:
        parts += [line("null", area.left, area.y(edge), area.right, area.y(edge)) for edge in band]
    points = [(area.x(x), area.y(y)) for x, y in known]
    parts += [line("trend", *start, *end) for start, end in pairwise(points)]
    for place, (x, y) in zip(curve.places, zip(curve.low or (), curve.high or (), strict=True), strict=False):
        parts.append(area.interval_up("whisker", area.x(place), x, y))
    parts += [dot("dot", *point) for point in points]
    parts.append(area.under((area.left + area.right) / 2, across, 1))
    return area.drawn(parts, described=described)


def percents(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return shares (0 to 1) in percent."""
    return tuple(None if value is None else 100 * value for value in values)
