"""Words and numbers that page and terminal share."""

import polars as pl


def percent(share: float | None) -> str:
    """A share of 1 in percent.

    >>> percent(0.031), percent(None)
    ('3.1 %', '–')
    """
    return "–" if share is None else f"{100 * share:.1f} %"


def between(low: float | None, high: float | None) -> str:
    """Two shares as a range in percent.

    >>> between(0.94, 0.987), between(None, None), between(0.5, 0.5)
    ('94 to 99 %', '–', '50 %')
    """
    if low is None or high is None:
        return "–"
    ends = [f"{100 * share:.0f}" for share in (low, high)]
    return f"{ends[0]} %" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]} %"


def headline(measures: pl.DataFrame) -> str:
    """What came out over all measures, in a sentence."""
    if measures.is_empty():
        return "No measure was calibrated."
    failing = measures.filter(pl.col("failing") > 0)["measure"].to_list()
    count = measures.height
    tried = f"{count} measure{'s' if count > 1 else ''}"
    if not failing:
        return f"The verdicts of {tried} held in every design tried."
    return f"The verdicts of {len(failing)} of {tried} do not hold in every design: {', '.join(failing)}."
