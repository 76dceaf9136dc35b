"""Words and numbers that page and terminal share."""

from collections.abc import Mapping

import polars as pl
from scipy.stats import binom

from evenhand.studies.calibration.holding import LARGEST_FALSE, POWER, Holds

INCONCLUSIVE = "nothing conclusive"
CHANCE = 0.05
"""Of a quick look that says "does not hold" of anything that holds."""


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


def conclusive(tables: Mapping[str, pl.DataFrame], size: str) -> pl.DataFrame:
    """Rows of designs that do not hold. Of a quick look only those that the error of the simulation excludes: so many
    false verdicts, or so few found, that chance would not make them in any of the designs looked at together.

    Coverage of so few data sets is not known well enough to be held against a measure.
    """
    designs = tables["designs"]
    failing = designs.filter((pl.col("verdict") == Holds.FAILS) & (pl.col("role") == "standard"))
    if size != "quick" or failing.is_empty():
        return failing
    level = CHANCE / (2 * designs.height)
    sure = []
    for row in failing.to_dicts():
        false = round((row["false"] or 0.0) * row["n"])
        by_false = row["n"] > 0 and float(binom.sf(false - 1, row["n"], LARGEST_FALSE)) <= level
        found, planted = row["power"], row["n_power"] or 0
        by_power = found is not None and float(binom.cdf(round(found * planted), planted, POWER[0])) <= level
        sure.append(bool(by_false or by_power))
    return failing.filter(pl.Series(sure, dtype=pl.Boolean))


def headline(tables: Mapping[str, pl.DataFrame], size: str) -> str:
    """What came out over all measures, in a sentence."""
    measures = tables["measures"]
    if measures.is_empty():
        return "No measure was calibrated."
    count = measures.height
    tried = f"{count} measure{'s' if count > 1 else ''}"
    sure = set(conclusive(tables, size)["measure"])
    failing = [name for name in measures["measure"] if name in sure]
    first = "A first look: " if size == "quick" else ""
    if failing:
        told = f"the verdicts of {len(failing)} of {tried} do not hold in every design: {', '.join(failing)}."
    elif size == "quick":
        told = f"{INCONCLUSIVE} against the verdicts of {tried}; --full tells."
    else:
        told = f"the verdicts of {tried} held in every design tried."
    return first + told if first else told[:1].upper() + told[1:]
