"""Write sentences on pairs of group columns: where in one column the gap of the other is larger or reversed."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis import Headlines, axis_rows, by_axis, get_estimate, make_headline
from evenhand.benchmarks.contract import Headline
from evenhand.reports import label, sentences
from evenhand.reports.sentences import Estimate, Gap, Outcome, capitalised, group_name

CLOSE = 0.1
"""Largest relative difference between the estimate and a difference of gaps that still explains the estimate."""
MEANINGS = {
    "difference of gaps": "the estimate is the gap in one group of the column with several groups, minus the gap in "
    "its other groups.",
    "excess of a combination": "the estimate is the combination that differs most from what both columns explain, "
    "minus the value expected from both columns.",
    "root mean square departure": "the estimate is the typical distance of a combination from what both columns "
    "explain; it has no sign.",
}
"""Meaning of the estimate for each type of interaction in which a column has more than two groups."""


def interaction_headlines(what: str, *, is_rate: bool, held: str | None = None) -> Headlines:
    """Return the function that writes one sentence for each pair of columns.

    what: name of the outcome. is_rate: whether sizes are in percentage points. held: column that is held fixed in
    addition to the other columns of groups, such as "question".
    """
    outcome = Outcome(what, is_rate)

    def write_headlines(findings: pl.DataFrame, details: Mapping[str, pl.DataFrame]) -> list[Headline]:
        pairs = by_axis(details.get("interactions"))
        if not pairs:
            return []
        rows = {name: details[name].rows(named=True) for name in ("interaction_cells", "interaction_gaps")}
        lines = []
        axes = axis_rows(findings, "disparity" if is_rate else "score_spread")
        for row in axis_rows(findings, "interaction"):
            facts = pairs[row["axis"]]
            cells, gaps = (
                [one for one in rows[name] if one["axis"] == row["axis"]]
                for name in ("interaction_cells", "interaction_gaps")
            )
            own = (facts["first"], facts["second"])
            others = [label(axis["axis"]) for axis in axes if axis["axis"] not in own]
            others += [held] if held else []
            lines.append(
                make_headline(
                    row,
                    partial(_describe_detected, outcome, facts, cells, gaps, others),
                    partial(_describe_undetected, outcome, facts),
                )
            )
        return lines

    return write_headlines


def interaction_directions(details: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return a sentence for each interaction on what its estimate means: which gap is subtracted from which.

    details: the detail tables `interactions`, `interaction_gaps` and `design` of responses.
    """
    pairs, design = details.get("interactions"), details.get("design")
    if pairs is None or design is None:
        return []
    outcome = Outcome(str(design["outcome"][0]), bool(design["rates"][0]))
    lines = []
    for pair in pairs.filter(pl.col("estimate").is_not_null()).rows(named=True):
        gaps = details["interaction_gaps"].filter(axis=pair["axis"]).rows(named=True)
        is_of_gaps = pair["kind"] == "difference of gaps" and len(gaps) > 1
        direction = _direction(pair, gaps, outcome) if is_of_gaps else None
        lines.append(direction or f"{capitalised(label(pair['axis']))}: {MEANINGS[pair['kind']]}")
    return lines


def _direction(pair: Mapping[str, Any], gaps: Sequence[Mapping[str, Any]], outcome: Outcome) -> str | None:
    """Return a sentence on the two gaps whose difference is the estimate; None if no two gaps explain it."""
    high, low = (group_name(gaps[0][side]) for side in ("high_group", "low_group"))
    found = []
    for gap in gaps[::-1]:  # of two groups, the estimate is the gap of the second minus that of the first
        others = [other for other in gaps if other is not gap]
        rest = sum(other["gap"] for other in others) / len(others)
        is_single = len(others) == 1
        called = (
            group_name(others[0]["level"])
            if is_single
            else f"the other groups of {pair['among']}, on average"
        )
        found.append((gap["gap"] - rest, (group_name(gap["level"]), gap["gap"]), (called, rest)))
    difference, minuend, rest_of = min(found, key=lambda one: abs(abs(one[0]) - abs(pair["estimate"])))
    if abs(abs(difference) - abs(pair["estimate"])) > CLOSE * abs(pair["estimate"]):
        return None
    groups = (high, low)
    if difference * pair["estimate"] < 0:
        groups, minuend, rest_of = (low, high), (minuend[0], -minuend[1]), (rest_of[0], -rest_of[1])
    return sentences.direction_of_interaction(label(pair["axis"]), groups, minuend, rest_of, outcome)


def _describe_detected(
    outcome: Outcome,
    facts: Mapping[str, Any],
    cells: Sequence[Mapping[str, Any]],
    gaps: Sequence[Mapping[str, Any]],
    others: Sequence[str],
    row: Mapping[str, Any],
) -> str:
    parts = [_gaps(outcome, facts, gaps, others, row) if gaps else _cells(outcome, facts, cells, others, row)]
    if facts["highest_p"] is not None and facts["highest_p"] <= 0.05:
        # report the combination that is treated worst first; the dependence of the gap on the other column explains it
        parts.insert(0, _highest(outcome, facts, cells))
    if facts["n_pairs"] > 1:
        parts.append(sentences.pairs_tested(facts["n_pairs"]))
    return sentences.joined(*parts)


def _highest(outcome: Outcome, facts: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> str:
    first, second = facts["highest_first"], facts["highest_second"]
    means = (cell["mean"] for cell in cells if (cell["first_group"], cell["second_group"]) == (first, second))
    return sentences.highest_combination(group_name(first), group_name(second), outcome, next(means, None))


def _gaps(
    outcome: Outcome,
    facts: Mapping[str, Any],
    gaps: Sequence[Mapping[str, Any]],
    others: Sequence[str],
    row: Mapping[str, Any],
) -> str:
    first = gaps[0]
    head = sentences.gap_pattern(
        str(facts["pattern"]), *(group_name(first[name]) for name in ("low_group", "high_group", "inside"))
    )
    order = sorted(gaps, key=lambda gap: (gap["gap_low"] <= 0 <= gap["gap_high"], -abs(gap["gap"])))
    each = [
        Gap(
            group_name(gap["level"]),
            (group_name(gap["high_group"]), gap["high_mean"]),
            (group_name(gap["low_group"]), gap["low_mean"]),
            Estimate(gap["gap"], gap["gap_low"], gap["gap_high"]),
        )
        for gap in order
    ]
    size = ""
    if len(gaps) == 2:
        larger, smaller = (group_name(gap["level"]) for gap in sorted(gaps, key=lambda gap: -gap["gap"]))
        size = sentences.difference_of_gaps((larger, smaller), get_estimate(row, with_q=False).size, outcome)
    return sentences.joined(head, sentences.gaps(each, outcome, others), size)


def _cells(
    outcome: Outcome,
    facts: Mapping[str, Any],
    cells: Sequence[Mapping[str, Any]],
    others: Sequence[str],
    row: Mapping[str, Any],
) -> str:
    named = sorted((cell for cell in cells if cell["excess"] is not None), key=lambda c: -abs(c["excess"]))
    if not named:
        first, second = (group_name(facts[side]) for side in ("first", "second"))
        return sentences.no_single_combination(first, second, get_estimate(row, with_q=False), outcome)
    shown = []
    for cell in named[: sentences.SHOWN_COMBINATIONS]:
        name = f"{cell['first_group']} × {cell['second_group']}"
        mirrors = [f"{c['first_group']} × {c['second_group']}" for c in cells if c["mirror_of"] == name]
        first, second = (group_name(cell[f"{side}_group"]) for side in ("first", "second"))
        excess = Estimate(cell["excess"], cell["low"], cell["high"])
        shown.append(sentences.combination(first, second, cell["mean"], excess, mirrors, outcome, others))
    return sentences.combinations(len(named), shown)


def _describe_undetected(outcome: Outcome, facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return sentences.no_interaction(
        of_gaps=facts["kind"] == "difference of gaps",
        least=facts["least_detectable"],
        most=facts["minimum_detectable"],
        blind=facts["n_blind"],
        outcome=outcome,
    )
