"""Formatting of sizes, the same in sentences and tables."""

import math
from collections.abc import Iterable

from evenhand.reports.wording import decimals, known


def smallest_effect(value: float) -> str:
    """Return a minimum detectable effect as text.

    It has two significant digits. Values of 10 or more are whole numbers.

    Examples
    --------
    >>> [smallest_effect(value) for value in (123.4, 10.6, 6.65, 0.378, 0.0597, 7.0)]
    ['123', '11', '6.7', '0.38', '0.060', '7']
    >>> smallest_effect(float("nan"))
    '–'
    """
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 9.95:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.2e}".replace("e+", "e")
    text = f"{value:#.2g}" if 0 < abs(value) < 1 else f"{value:.2g}"
    return f"{value:.1e}" if "e" in text else text


def count_places(values: Iterable[float | None], unit: str | None) -> int:
    """Return the number of decimals for the values of a column in a unit.

    Percents have one decimal, as in sentences, or two if no value reaches 1%.

    Examples
    --------
    >>> count_places([3.18, 1.92, 5.24], "% of responses"), count_places([0.0167, 0.2], "%")
    (1, 2)
    >>> count_places([0.835], "nats")
    3
    >>> count_places([0.00003], "percentage points")
    3
    """
    numbers = [value for value in values if value is not None and known(value)]
    if unit and unit.startswith("%"):
        return 1 if max(map(abs, numbers), default=0.0) >= 1 else 2
    places = decimals(numbers)
    # a thousandth of a point counts as zero
    return min(places, 3) if unit and unit.startswith("percent") else places


def short_count(value: int | None) -> str:
    """Return a count as text of at most four characters; empty for None.

    Examples
    --------
    >>> short_count(123_456), short_count(None)
    ('123k', '')
    """
    if value is None:
        return ""
    if value < 10_000:
        return f"{value}"
    return f"{value / 1e3:.0f}k" if value < 999_500 else f"{value / 1e6:.1f}M"
