"""Write sentences on outcomes of counterfactual prompts: length, numbers, refusals and similarity.

The sentences are made from the findings and detail tables of `counterfactual_outcomes`; no verdict changes here.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.headlines import Details, get_estimate, make_headline
from evenhand.benchmarks.analysis.numbers_in_words import only_read
from evenhand.benchmarks.contract import Headline
from evenhand.reports import sentences
from evenhand.reports.sentences import Estimate, group_name
from evenhand.stats import Harmful, Verdict

OUTCOME_HARMFUL: dict[str, Harmful] = {"refusal_difference": "above", "missing_difference": "above"}
"""Harmful side of each outcome. Numbers, decisions and similarity are absent: it depends on the question."""
_KINDS = {
    "score_spread": "score",
    "answer_disparity": "rate",
    "refusal_disparity": "refusal",
    "missing_disparity": "missing",
}


def outcome_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
    """Return a sentence for each outcome and axis.

    An outcome has no sentence on unreadable responses if the same share could be read for all groups.
    """
    lines = []
    for row in findings.filter(pl.col("group").is_null() & pl.col("stratum").is_not_null()).to_dicts():
        name = sentences.outcome_name(row["stratum"])
        if row["measure"] == "similarity_gap":
            facts = _facts(details.get("similarity_axes"), row, None)
            apart = _set_apart(findings, row)
            lines.append(
                make_headline(
                    row, partial(_dissimilar, facts, apart), partial(_similar, facts), f"similarity of {name}"
                )
            )
        elif row["measure"] in _KINDS:
            kind = _KINDS[row["measure"]]
            if kind == "missing" and row["verdict"] != Verdict.BIASED:
                continue
            facts = _facts(details.get("outcome_axes"), row, kind)
            part = sentences.part_of_outcome(name, kind)
            line = make_headline(row, partial(_unequal, kind, facts), partial(_alike, facts), part)
            if kind in ("score", "rate") and row["verdict"] != Verdict.NOT_MEASURABLE:
                line = replace(
                    line, sentence=sentences.joined(line.sentence, _unread(findings, details, row))
                )
            lines.append(line)
    return lines


def _unread(findings: pl.DataFrame, details: Details, row: Mapping[str, Any]) -> str:
    """Return a caveat if groups differ in the share of responses that could be read; otherwise ""."""
    table = details.get("outcome_groups")
    if table is None:
        return ""
    kind = _KINDS[row["measure"]]
    mine = table.filter((pl.col("outcome") == row["stratum"]) & (pl.col("kind") == kind))
    # all categories of an outcome have the same readable responses, so the caveat appears once
    of_it = findings.filter(pl.col("stratum") == str(row["stratum"]).partition(" = ")[0])
    return only_read(of_it, mine, row["axis"])


def _facts(table: pl.DataFrame | None, row: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
    """Return the row of a detail table that has the same axis and outcome as a finding."""
    if table is None:
        return {}
    mine = (pl.col("outcome") == row["stratum"]) & pl.col("axis").eq_missing(pl.lit(row["axis"], pl.String))
    found = table.filter(mine if kind is None else mine & (pl.col("kind") == kind)).to_dicts()
    return found[0] if found else {}


def _set_apart(findings: pl.DataFrame, row: Mapping[str, Any]) -> list[str]:
    mine = (pl.col("measure") == "similarity_apart") & (pl.col("stratum") == row["stratum"])
    here = pl.col("axis").eq_missing(pl.lit(row["axis"], pl.String))
    named = findings.filter(mine & here & (pl.col("verdict") == str(Verdict.BIASED)))
    return [group_name(group) for group in named.sort("estimate", descending=True)["group"]]


def _dissimilar(facts: Mapping[str, Any], apart: list[str], row: Mapping[str, Any]) -> str:
    return sentences.dissimilar(facts["across"], facts["within"], get_estimate(row), apart)


def _similar(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return sentences.similar(facts["across"], facts["within"], row["minimum_detectable"])


def _unequal(kind: str, facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if facts.get("gap") is None or facts.get("highest") is None:
        return sentences.unequal_spread(kind, get_estimate(row))
    higher, lower = ((group_name(facts[side]), facts[f"{side}_value"]) for side in ("highest", "lowest"))
    return sentences.unequal(kind, higher, lower, Estimate(facts["gap"], facts["gap_low"], facts["gap_high"]))


def _alike(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return sentences.power(sentences.detectable_spread(row["minimum_detectable"], facts.get("unit") or ""))
