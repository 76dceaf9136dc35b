"""Sentences on pairs of sentences: which of two is likelier, how often or by how much."""

from collections.abc import Mapping
from functools import partial
from math import exp
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.caveats import name_of
from evenhand.benchmarks.analysis.headlines import Details, Headlines, axis_rows, by_axis, line_of
from evenhand.benchmarks.contract import Headline


def preference_headlines(measure: str, sentences: str = "sentence") -> Headlines:
    """Sentences on pairs of which one is the stereotyped one, in percent of pairs."""

    def found(row: Mapping[str, Any]) -> str:
        side = "stereotyped" if row["estimate"] > 50 else "anti-stereotyped"
        return (
            f"prefers the {side} {sentences}: {row['estimate']:.0f} % ({row['low']:.0f} to {row['high']:.0f})"
        )

    def missed(row: Mapping[str, Any]) -> str:
        smallest = row["minimum_detectable"]
        reach = (
            "" if smallest is None else f"; {50 + smallest:.0f} % or more (or {50 - smallest:.0f} % or less) "
        )
        return f"no preference found{reach}{'would have been found' if reach else ''}"

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        return [line_of(row, found, missed) for row in axis_rows(findings, measure)]

    return written


def log_perplexity_headlines(*measures: str) -> Headlines:
    """Sentences on pairs of sentences about two groups, compared by their log-perplexities: first minus second.

    The table `bias_types` has the names of the groups and the share of phrases likelier of the first.
    """

    def found(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
        first, second = (name_of(facts.get(side) or f"the {side} group") for side in ("first", "second"))
        of_first = row["estimate"] < 0
        likelier, other = (first, second) if of_first else (second, first)
        size, *limits = (100 * (1 - exp(-abs(row[name]))) for name in ("estimate", "low", "high"))
        reach = " to ".join(f"{limit:.0f}" for limit in sorted(limits))
        share = facts.get("likelier")
        often = "" if share is None else f", in {share if of_first else 100 - share:.0f} % of phrases"
        return f"stereotypes are likelier of {likelier} than of {other}: perplexity {size:.0f} % lower ({reach}){often}"

    def missed(row: Mapping[str, Any]) -> str:
        smallest = row["minimum_detectable"]
        reach = (
            ""
            if smallest is None
            else f"; a perplexity {100 * (1 - exp(-smallest)):.0f} % lower of either group"
        )
        return f"no difference found{reach}{' would have been found' if reach else ''}"

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        types = by_axis(details.get("bias_types"))
        return [
            line_of(row, partial(found, types.get(row["axis"], {})), missed)
            for measure in measures
            for row in axis_rows(findings, measure)
        ]

    return written
