"""Sentences on what was read from answers to counterfactual prompts: which group is given more, told more, refused.

Made from the findings of `counterfactual_outcomes` and its detail tables; nothing is decided here.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.caveats import name_of
from evenhand.benchmarks.analysis.headlines import Details, line_of
from evenhand.benchmarks.analysis.numbers_in_words import of_those_read
from evenhand.benchmarks.contract import Headline
from evenhand.stats import Harmful, Verdict

OUTCOME_HARMFUL: dict[str, Harmful] = {"refusal_difference": "above", "missing_difference": "above"}
"""On which side harm lies; of a number, a decision or a similarity that depends on what was asked."""
_KINDS = {
    "score_spread": "score",
    "answer_disparity": "rate",
    "refusal_disparity": "refusal",
    "missing_disparity": "missing",
}
_APART = 3
"""Groups named as standing apart; more are counted."""


def outcome_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
    """A sentence for each outcome and axis; that all can be read alike needs none."""
    lines = []
    for row in findings.filter(pl.col("group").is_null() & pl.col("stratum").is_not_null()).to_dicts():
        said = _said(row["stratum"])
        if row["measure"] == "similarity_gap":
            facts = _facts(details.get("similarity_axes"), row, None)
            apart = _stand_apart(findings, row)
            lines.append(line_of(row, partial(_differ, said, facts, apart), partial(_as_alike, said, facts)))
        elif row["measure"] in _KINDS:
            kind = _KINDS[row["measure"]]
            if kind == "missing" and row["verdict"] != Verdict.BIASED:
                continue
            facts = _facts(details.get("outcome_axes"), row, kind)
            line = line_of(row, partial(_unequal, said, kind, facts), partial(_alike, said, kind, facts))
            if kind in ("score", "rate") and row["verdict"] != Verdict.NOT_MEASURABLE:
                line = replace(
                    line, sentence=f"{line.sentence.rstrip('.')}{_unread(findings, details, row)}."
                )
            lines.append(line)
    return lines


def _unread(findings: pl.DataFrame, details: Details, row: Mapping[str, Any]) -> str:
    """What a comparison of read answers leaves out, where groups differ in that."""
    table = details.get("outcome_groups")
    if table is None:
        return ""
    kind = _KINDS[row["measure"]]
    mine = table.filter((pl.col("outcome") == row["stratum"]) & (pl.col("kind") == kind))
    # a category of an outcome shares what could be read of it
    of_it = findings.filter(pl.col("stratum") == str(row["stratum"]).partition(" = ")[0])
    return of_those_read(of_it, mine, row["axis"])


def _said(outcome: str) -> str:
    kind, colon, rest = outcome.partition(":")
    if kind == "json":
        return f"JSON field {rest}"
    return f"{kind} ({rest})" if colon else {"similarity": "words", "semantic": "meaning"}.get(kind, kind)


def _facts(table: pl.DataFrame | None, row: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
    """The row of the details that belongs to a finding."""
    if table is None:
        return {}
    mine = (pl.col("outcome") == row["stratum"]) & pl.col("axis").eq_missing(pl.lit(row["axis"], pl.String))
    found = table.filter(mine if kind is None else mine & (pl.col("kind") == kind)).to_dicts()
    return found[0] if found else {}


def _stand_apart(findings: pl.DataFrame, row: Mapping[str, Any]) -> list[str]:
    mine = (pl.col("measure") == "similarity_apart") & (pl.col("stratum") == row["stratum"])
    here = pl.col("axis").eq_missing(pl.lit(row["axis"], pl.String))
    named = findings.filter(mine & here & (pl.col("verdict") == str(Verdict.BIASED)))
    return [name_of(group) for group in named.sort("estimate", descending=True)["group"]]


def _differ(said: str, facts: Mapping[str, Any], apart: list[str], row: Mapping[str, Any]) -> str:
    who = ""
    if apart:
        shown = apart[:_APART] + ([f"{len(apart) - _APART} more"] if len(apart) > _APART else [])
        who = f"; apart from the others: {', '.join(shown)}"
    return (
        f"answers differ by group more than answers to the same prompt do ({said}: {_short(facts['across'])} points of "
        f"similarity across groups, {_short(facts['within'])} to the same prompt; {_short(row['estimate'])} apart, "
        f"{_short(row['low'])} to {_short(row['high'])}){who}"
    )


def _as_alike(said: str, facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    reach = row["minimum_detectable"]
    seen = "" if reach is None else f"; {_short(reach)} points less would have been found"
    return (
        f"answers about different groups are about as alike as answers to the same prompt ({said}: "
        f"{_short(facts['across'])} against {_short(facts['within'])} points of similarity){seen}"
    )


def _unequal(said: str, kind: str, facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if facts.get("gap") is None or facts.get("highest") is None:
        return f"{_subject(said, kind)} differs between groups (standard deviation {_limits(row)})"
    more, less = name_of(facts["highest"]), name_of(facts["lowest"])
    unit = " %" if kind != "score" else ""
    return (
        f"{_subject(said, kind)} {'higher' if kind == 'score' else 'more often'} for {more} than for {less}: "
        f"{_short(facts['highest_value'])}{unit} against {_short(facts['lowest_value'])}{unit} (gap {_gap(facts)})"
    )


def _alike(said: str, kind: str, facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    reach = row["minimum_detectable"]
    unit = facts.get("unit") or ""
    seen = "" if reach is None else f"; a standard deviation of {_short(reach)} {unit} would have been found"
    return f"{_subject(said, kind)}: no difference found{seen.replace(' as answered', '')}"


def _subject(said: str, kind: str) -> str:
    return {"refusal": "refused", "missing": f"no {said} to be read"}.get(kind, said)


def _gap(facts: Mapping[str, Any]) -> str:
    return f"{_short(facts['gap'])}, {_short(facts['gap_low'])} to {_short(facts['gap_high'])}"


def _limits(row: Mapping[str, Any]) -> str:
    return f"{_short(row['estimate'])}, {_short(row['low'])} to {_short(row['high'])}"


def _short(value: float) -> str:
    """Three digits, thousands with commas."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value + 0.0:.3g}"
