"""Sentences and numbers for the page and the terminal."""

from collections.abc import Mapping

import polars as pl
from scipy.stats import binom

from evenhand.studies.calibration.holding import LARGEST_FALSE, POWER, Holds

CHANCE = 0.05
"""Probability that a quick study reports any failure if everything holds."""


def percent(share: float | None) -> str:
    """Return a share (0 to 1) in percent.

    >>> percent(0.031), percent(None)
    ('3.1%', '–')
    """
    return "–" if share is None else f"{100 * share:.1f}%"


def between(low: float | None, high: float | None) -> str:
    """Return two shares as a range in percent.

    >>> between(0.94, 0.987), between(None, None), between(0.5, 0.5)
    ('94 to 99%', '–', '50%')
    """
    if low is None or high is None:
        return "–"
    ends = [f"{100 * share:.0f}" for share in (low, high)]
    return f"{ends[0]}%" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}%"


def conclusive(tables: Mapping[str, pl.DataFrame], size: str) -> pl.DataFrame:
    """Return the rows of designs that fail.

    For a quick study, a Bonferroni correction over its designs is applied. Few data sets of many designs would
    otherwise show failures by chance.
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
    """Return the result for all measures in one or two sentences, with failures first."""
    measures = tables["measures"]
    if measures.is_empty():
        return "No measure was calibrated."
    names = measures["measure"].to_list()
    tried = f"{len(names)} measure{'s' if len(names) > 1 else ''}"
    failing = set(conclusive(tables, size)["measure"])
    failed = [name for name in names if name in failing]
    if size == "quick":
        if failed:
            verb = "fails" if len(failed) == 1 else "fail"
            return (
                f"{len(failed)} of {tried} {verb} in at least one design: {', '.join(failed)} (quick check)."
            )
        return f"The quick check found no failure in {tried}. Run with --full to decide whether they hold."
    open_names = set(
        tables["designs"].filter((pl.col("verdict") == Holds.UNDECIDED) & (pl.col("role") == "standard"))[
            "measure"
        ]
    )
    undecided = [name for name in names if name in open_names and name not in failing]
    holding = len(names) - len(failed) - len(undecided)
    if holding == len(names):
        return f"{tried[0].upper()}{tried[1:]}: all hold in every design."
    parts = []
    if failed:
        parts.append(
            f"{len(failed)} fail{'s' if len(failed) == 1 else ''} in at least one design ({', '.join(failed)})"
        )
    if undecided:
        parts.append(
            f"{len(undecided)} {'is' if len(undecided) == 1 else 'are'} undecided in at least one design"
        )
    parts.append(f"{holding} hold{'s' if holding == 1 else ''} in every design")
    return f"{tried}: {', '.join(parts)}."


def overall_state(row: Mapping[str, object]) -> str:
    """Return the state of a measure over its designs: "fails", "undecided", "holds" or "not measurable".

    Parameters
    ----------
    row
        A row of the table `measures`.
    """
    if row["failing"]:
        return str(Holds.FAILS)
    if not row["designs"]:
        return "not measurable"
    return str(Holds.UNDECIDED if row["undecided"] else Holds.HOLDS)
