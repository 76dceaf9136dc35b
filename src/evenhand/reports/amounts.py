"""Sizes that a sentence and a table both tell, by one rule."""

import math


def smallest_effect(value: float) -> str:
    """The smallest effect that would have been found: two figures, and whole numbers from ten on.

    >>> [smallest_effect(value) for value in (123.4, 10.6, 6.65, 0.378, 0.0123, 7.0)]
    ['123', '11', '6.7', '0.38', '0.012', '7']
    >>> smallest_effect(float("nan"))
    '–'
    """
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 9.95:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.2e}".replace("e+", "e")
    text = f"{value:.2g}"
    return f"{value:.1e}" if "e" in text else text
