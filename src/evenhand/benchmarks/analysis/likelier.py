"""Write sentences on pairs of sentences: which of two is more likely, how often or by how much."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.headlines import (
    Details,
    Headlines,
    axis_rows,
    by_axis,
    estimate_of,
    line_of,
)
from evenhand.benchmarks.contract import Headline
from evenhand.reports import sentences


def preference_headlines(measure: str) -> Headlines:
    """Return the function that writes a sentence for each axis: which sentence of a pair the model prefers."""

    def found(row: Mapping[str, Any]) -> str:
        return sentences.preference(estimate_of(row))

    def missed(row: Mapping[str, Any]) -> str:
        return sentences.power(sentences.detectable_preference(row["minimum_detectable"]))

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        return [line_of(row, found, missed) for row in axis_rows(findings, measure)]

    return written


def log_perplexity_headlines(*measures: str) -> Headlines:
    """Return the function that writes sentences on pairs of sentences about two groups.

    Their log-perplexities are compared, first minus second. The table `bias_types` has the names of the groups and the
    share of phrases that are more likely for the first.
    """

    def found(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
        first, second = (
            f"the {side} group" if facts.get(side) is None else sentences.people(facts[side])
            for side in ("first", "second")
        )
        of_first = row["estimate"] < 0
        likelier, other = (first, second) if of_first else (second, first)
        share = facts.get("likelier")
        phrases = None if share is None else share if of_first else 100 - share
        return sentences.stereotypes(likelier, other, estimate_of(row), phrases)

    def missed(row: Mapping[str, Any]) -> str:
        return sentences.power(sentences.detectable_perplexity(row["minimum_detectable"]))

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        types = by_axis(details.get("bias_types"))
        return [
            line_of(row, partial(found, types.get(row["axis"], {})), missed)
            for measure in measures
            for row in axis_rows(findings, measure)
        ]

    return written
