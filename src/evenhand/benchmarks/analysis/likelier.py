"""Write verdict sentences for sentence pairs: which sentence is more likely, in how many pairs or by how much."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.headlines import (
    Details,
    Headlines,
    axis_rows,
    by_axis,
    get_estimate,
    make_headline,
)
from evenhand.benchmarks.contract import Headline
from evenhand.reports import sentences


def preference_headlines(measure: str) -> Headlines:
    """Return the function that writes a sentence for each axis: which sentence of a pair the model prefers."""

    def describe_detected(row: Mapping[str, Any]) -> str:
        return sentences.preference(get_estimate(row))

    def describe_undetected(row: Mapping[str, Any]) -> str:
        return sentences.power(sentences.detectable_preference(row["minimum_detectable"]))

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        return [
            make_headline(row, describe_detected, describe_undetected) for row in axis_rows(findings, measure)
        ]

    return write_headlines


def log_perplexity_headlines(*measures: str) -> Headlines:
    """Return the function that writes verdict sentences for sentence pairs about two groups.

    Their log-perplexities are compared, first minus second. The table `bias_types` has the names of the groups and the
    share of phrases that are more likely for the first.
    """

    def describe_detected(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
        first, second = (
            f"the {side} group" if facts.get(side) is None else sentences.people(facts[side])
            for side in ("first", "second")
        )
        of_first = row["estimate"] < 0
        likelier, other = (first, second) if of_first else (second, first)
        share = facts.get("likelier")
        phrases = None if share is None else share if of_first else 100 - share
        return sentences.stereotypes(likelier, other, get_estimate(row), phrases)

    def describe_undetected(row: Mapping[str, Any]) -> str:
        return sentences.power(sentences.detectable_perplexity(row["minimum_detectable"]))

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        types = by_axis(details.get("bias_types"))
        return [
            make_headline(row, partial(describe_detected, types.get(row["axis"], {})), describe_undetected)
            for measure in measures
            for row in axis_rows(findings, measure)
        ]

    return write_headlines
