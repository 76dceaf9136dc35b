"""What each axis came to in a number: a rating, a salary, a length. Neither side is called the worse one."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.caveats import name_of, reference_of
from evenhand.benchmarks.analysis.headlines import (
    Details,
    Headlines,
    axis_rows,
    biased_groups,
    by_axis,
    failures_found,
    line_of,
    listing,
    smallest_of_groups,
)
from evenhand.benchmarks.contract import Headline
from evenhand.stats import Verdict

UNREAD_GAP = 5.0
"""Points by which groups may differ in unread answers before a sentence on the read ones says so."""


def score_headlines(what: str) -> Headlines:
    """Sentences on the means of groups: `what` is the number, such as "pay". Details: score_axes."""

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        axes = by_axis(details.get("score_axes"))
        lines = []
        for row in axis_rows(findings, "score_spread"):
            groups = biased_groups(findings, row["axis"], "score_difference")
            smallest = smallest_of_groups(findings, row["axis"], "score_difference")
            facts = axes.get(row["axis"], {})
            lines.append(
                line_of(row, partial(_found, what, facts, groups), partial(_missed, what, smallest, facts))
            )
        for row in axis_rows(findings, "missing_disparity"):
            if row["verdict"] == Verdict.BIASED:
                groups = biased_groups(findings, row["axis"], "missing_difference")
                lines.append(line_of(row, partial(failures_found, groups, f"left without {what}"), str))
        return lines

    return written


def of_those_read(findings: pl.DataFrame, groups: pl.DataFrame, axis: str | None) -> str:
    """That a comparison holds of the answers that could be read, where groups differ in how many those are.

    findings: of one outcome, so that its `missing_disparity` tells whether the axis differs in them; else a gap above
    UNREAD_GAP points counts. groups: axis, group, n and n_missing. Empty, or what a sentence goes on with.

    >>> groups = pl.DataFrame({"axis": ["sex"] * 2, "group": ["women", "men"], "n": [39, 50], "n_missing": [11, 0]})
    >>> of_those_read(pl.DataFrame(schema={"measure": pl.String}), groups, "sex")
    '; of those answered: without an answer are 22 % of women and 0 % of men'
    """
    here = pl.col("axis").eq_missing(pl.lit(axis, pl.String))
    share = 100 * pl.col("n_missing") / (pl.col("n") + pl.col("n_missing"))
    table = groups.filter(here).with_columns(share=share).drop_nulls("share").sort("share", descending=True)
    if table.height < 2 or table["share"][0] == table["share"][-1]:
        return ""
    (more, most), (fewer, least) = (table.select("group", "share").row(place) for place in (0, -1))
    unequal = findings.filter(measure="missing_disparity")
    if unequal.height:
        unequal = unequal.filter(
            here & pl.col("group").is_null() & (pl.col("verdict") == str(Verdict.BIASED))
        )
    if not unequal.height and most - least <= UNREAD_GAP:
        return ""
    lacking = f"{most:.0f} % of {name_of(more)} and {least:.0f} % of {name_of(fewer)}"
    return f"; of those answered: without an answer are {lacking}"


def figure(value: float, beside: float | None = None) -> str:
    """A number in about three figures of itself, or of what it is held against, thousands apart; U+2212 as minus.

    >>> figure(52345.6), figure(3.14159), figure(0.012345), figure(47100.2, 5200.0), figure(3.21, 0.043), figure(-2.5)
    ('52,300', '3.14', '0.0123', '47,100', '3.21', '−2.5')
    """
    largest = max(abs(value), abs(beside or 0.0))
    if largest >= 1000:
        step = 10 ** max(len(str(int(largest))) - 3, 0)
        shown = f"{round(value / step) * step:,.0f}"
    elif largest >= 100:
        shown = f"{value:.0f}"
    else:
        shown = f"{value:.3g}" if beside is None or abs(beside) <= abs(value) else f"{value:.2g}"
    return shown.replace("-", "−")


def _found(what: str, facts: Mapping[str, Any], groups: list[dict[str, Any]], row: Mapping[str, Any]) -> str:
    parts = []
    two = facts.get("n_groups") == 2
    if facts.get("gap") is not None and (two or not facts["gap_low"] <= 0 <= facts["gap_high"]):
        most, least = name_of(facts["highest"]), name_of(facts["lowest"])
        means = f"{figure(facts['highest_mean'])} against {figure(facts['lowest_mean'])}"
        gap, low, high = (figure(facts[name]) for name in ("gap", "gap_low", "gap_high"))
        parts.append(f"more {what} for {most} than for {least}: {means} (gap {gap}, {low} to {high})")
    if not two:
        total = facts.get("n_groups")
        reference = reference_of(facts, total, "groups")
        for direction, words in (("above", f"above {reference}"), ("below", f"below {reference}")):
            named = sorted(
                (g for g in groups if g["direction"] == direction), key=lambda g: -abs(g["estimate"])
            )
            if named:
                parts.append(f"{words}: {listing([name_of(g['group']) for g in named])}")
        if facts.get("n_reference") == 0:
            parts.append("no group is named, because about as many groups differ as do not")
    interval = f"{figure(row['estimate'])}, {figure(row['low'])} to {figure(row['high'])}"
    return "; ".join(parts) or f"{what} differs between the groups (standard deviation {interval})"


def _missed(what: str, smallest: list[float], facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if not smallest:
        return f"no gap found in {what}"
    if facts.get("n_groups") == 2:
        return f"no gap found in {what}; one of {figure(max(smallest))} would have been found"
    least, most = figure(min(smallest)), figure(max(smallest))
    reach = least if least == most else f"{least} to {most} (by its size)"
    return f"no gap found in {what}; a group {reach} from the others would have been found"
