"""Drawings of a count: shares on a logarithmic scale, and odds ratios, as rows of tables."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from evenhand.reports import Scale, axis_svg, interval_svg
from evenhand.studies.frequencies.wording import figures

MOST_TICKS = 5


@dataclass(frozen=True)
class LogScale:
    """A logarithmic scale (base 10) with numbers at its ticks."""

    scale: Scale
    labels: tuple[str, ...]
    unit: str = ""

    @property
    def axis(self) -> Markup:
        """Return the scale for display under the rows."""
        return axis_svg(self.scale, self.labels)


def log_scale(values: Iterable[float | None]) -> LogScale | None:
    """Return a scale of powers of ten for all shares (percent) above 0; None without any.

    >>> log_scale([0.03, None, 4.0]).labels
    ('0.010 %', '0.10 %', '1.00 %', '10 %')
    """
    logs = [math.log10(value) for value in values if value is not None and math.isfinite(value) and value > 0]
    if not logs:
        return None
    low, high = math.floor(min(logs) + 1e-9), math.ceil(max(logs) - 1e-9)
    high = max(high, low + 1)
    step = math.ceil((high - low) / MOST_TICKS)
    ticks = tuple(float(tick) for tick in range(low, high + 1, step))
    return LogScale(Scale(low, high, ticks), tuple(f"{_tick(10**tick)} %" for tick in ticks))


def _tick(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else figures(value)


def share_svg(
    scale: LogScale,
    share: float | None,
    low: float | None,
    high: float | None,
    *,
    described: str,
    band: tuple[float | None, float | None] = (None, None),
) -> Markup:
    """Return a drawing of a share with its interval. `band` is the range over corpora. 0 is at the left end."""
    ends = (_log(band[0], scale), _log(band[1], scale))
    return interval_svg(
        scale.scale,
        _log(share, scale) if share else None,
        _log(low, scale),
        _log(high, scale),
        described=described,
        band=ends if ends[0] != ends[1] else (None, None),
        kind="clear",
    )


def _log(value: float | None, scale: LogScale) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return math.log10(value) if value > 0 else scale.scale.low
