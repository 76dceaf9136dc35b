"""Write the verdict on each axis of a numeric outcome, such as a rating, a salary or a length.

Neither direction counts as harmful.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.caveats import describe_reference, undecided_side
from evenhand.benchmarks.analysis.headlines import (
    Details,
    Headlines,
    axis_rows,
    biased_groups,
    by_axis,
    failure_headlines,
    get_estimate,
    make_headline,
    smallest_of_groups,
)
from evenhand.benchmarks.contract import Headline
from evenhand.reports import sentences
from evenhand.reports.sentences import Estimate, group_name
from evenhand.stats import Verdict

OTHER_TWO = "the other two groups"
"""Words for what a group is compared with if its axis has three groups."""
UNREAD_GAP = 5.0
"""Gap in the share of unreadable responses, in percentage points, above which a sentence on means mentions it."""


def score_headlines(what: str, study: str = "analysis") -> Headlines:
    """Return the function that writes sentences on the means of groups, from the detail table `score_axes`.

    `what` is the name of the outcome, such as "pay". `study` is the type of the study, such as "audit", which sentences
    on power name.
    """

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        axes = by_axis(details.get("score_axes"))
        lines = []
        for row in axis_rows(findings, "score_spread"):
            groups = biased_groups(findings, row["axis"], "score_difference")
            smallest = smallest_of_groups(findings, row["axis"], "score_difference")
            facts = axes.get(row["axis"], {})
            effect = sentences.detectable_mean(what, smallest, facts.get("n_groups"))
            means = _means_of_others(details.get("score_groups"), row["axis"])
            found = partial(_describe_detected, what, facts, groups, means)
            lines.append(make_headline(row, found, partial(_describe_undetected, effect, study)))
        missing = (f"Values of {what} were missing", f"Rates of missing values of {what}")
        return lines + failure_headlines(findings, "missing", *missing, group_name)

    return write_headlines


def only_read(
    findings: pl.DataFrame,
    groups: pl.DataFrame,
    axis: str | None,
    name: Callable[[object], str] = group_name,
) -> str:
    """Return a caveat if groups differ in the share of responses that could be read; otherwise "".

    `findings` are those of one outcome. Without the measure `missing_disparity` among them, a gap above UNREAD_GAP
    percentage points counts as a difference. `groups` has the columns axis, group, n and n_missing.

    >>> groups = pl.DataFrame({"axis": ["sex"] * 2, "group": ["women", "men"], "n": [39, 50], "n_missing": [11, 0]})
    >>> only_read(pl.DataFrame(schema={"measure": pl.String}), groups, "sex")
    'This comparison covers only the responses that could be read: 22% are missing for women and 0% for men.'
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
    return sentences.only_read(name(more), most, name(fewer), least)


def _means_of_others(groups: pl.DataFrame | None, axis: str | None) -> dict[str, tuple[float, float]]:
    """Return, for each group of an axis, its mean and the mean of the groups that it is compared with."""
    if groups is None:
        return {}
    here = groups.filter(pl.col("axis").eq_missing(pl.lit(axis, pl.String))).drop_nulls(["mean", "others"])
    return {
        group: (mean, others) for group, mean, others in here.select("group", "mean", "others").iter_rows()
    }


def _describe_detected(
    what: str,
    facts: Mapping[str, Any],
    groups: list[dict[str, Any]],
    means: Mapping[str, tuple[float, float]],
    row: Mapping[str, Any],
) -> str:
    parts = []
    two = facts.get("n_groups") == 2
    if facts.get("n_groups") == 3 and groups and all(group["group"] in means for group in groups):
        ranked = sorted(groups, key=lambda group: -abs(group["estimate"]))
        return sentences.joined(*(_one_of_three(what, group, *means[group["group"]]) for group in ranked))
    if facts.get("gap") is not None and (two or not facts["gap_low"] <= 0 <= facts["gap_high"]):
        higher, lower = ((group_name(facts[side]), facts[f"{side}_mean"]) for side in ("highest", "lowest"))
        gap = Estimate(facts["gap"], facts["gap_low"], facts["gap_high"], row["q"] if two else None)
        parts.append(sentences.higher_mean(what, higher, lower, gap, chosen=not two))
    if not two:
        total = facts.get("n_groups")
        above, below = (
            [
                group_name(g["group"])
                for g in sorted(groups, key=lambda g: -abs(g["estimate"]))
                if g["direction"] == direction
            ]
            for direction in ("above", "below")
        )
        reference = describe_reference(facts, total, "groups") or "the other groups"
        parts.append(sentences.above_and_below(above, below, reference))
        if facts.get("n_reference") == 0:
            parts.append(undecided_side(facts, total, groups, "groups"))
    return sentences.joined(*parts) or sentences.no_single_mean(what, get_estimate(row))


def _one_of_three(what: str, group: Mapping[str, Any], mean: float, others: float) -> str:
    sides = [(group_name(group["group"]), mean), (OTHER_TWO, others)]
    higher, lower = sides if group["estimate"] > 0 else sides[::-1]
    return sentences.higher_mean(what, higher, lower, get_estimate(group).size)


def _describe_undetected(effect: str, study: str, row: Mapping[str, Any]) -> str:
    return sentences.power(effect, study)
