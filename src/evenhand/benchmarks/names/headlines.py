"""Write verdict sentences for self-chats that begin with a name: inferred gender, word use and occupations."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis import axis_rows, get_estimate, make_headline
from evenhand.benchmarks.contract import Headline
from evenhand.benchmarks.names.rows import GENDER
from evenhand.reports import sentences
from evenhand.stats import Verdict

Details = Mapping[str, pl.DataFrame]
Words = Callable[[Mapping[str, Any]], str]
WORDS = 3
"""Number of words that a sentence names for each gender."""


def name_headlines(opener: str, women: str, men: str) -> Callable[[pl.DataFrame, Details], list[Headline]]:
    """Return the function that writes verdict sentences on differences between genders.

    opener: what shows the gender, such as "the name". women, men: openers of the conversations, such as "women's
    names".
    """
    short = opener.removeprefix("the ")
    inferred = partial(_gender_inferred, opener)
    distance, above_chance = "a word distance of {} or more", "{} or more points above or below chance"

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        parts: tuple[tuple[str, str, Words, str], ...] = (
            ("classifier_bias", "inferred from replies", inferred, above_chance),
            ("classifier_bias_masked", f"inferred from replies, {short} hidden", inferred, above_chance),
            ("token_bins", "word use", partial(_word_use, women, men, details.get("words")), distance),
            ("intersectional_token_bins", "word use", partial(_word_use, "", "", None), distance),
            (
                "occupation_lean",
                "occupations mentioned",
                partial(_occupations, women, men),
                "a difference of {} points or more",
            ),
        )
        lines = [
            make_headline(row, found, partial(_describe_undetected, unit), part)
            for measure, part, found, unit in parts
            for row in axis_rows(findings, measure)
        ]
        compared = _describe_comparison(details.get("names"))
        known = [
            place
            for place, line in enumerate(lines)
            if line.axis == GENDER and line.verdict != Verdict.NOT_MEASURABLE
        ]
        if known and compared:
            first = lines[known[0]]
            lines[known[0]] = replace(first, sentence=f"{first.sentence} {compared}")
        return lines

    return write_headlines


def _describe_comparison(names: pl.DataFrame | None) -> str:
    """Return a sentence on the number of conversations that were used to compare genders; "" if all were.

    names: result of `chats.by_name`.
    """
    if names is None or names.is_empty():
        return ""
    talks, compared = names.select(pl.col("n_conversations", "n_compared").sum()).row(0)
    return sentences.conversations_compared(compared, talks)


def _gender_inferred(opener: str, row: Mapping[str, Any]) -> str:
    return sentences.gender_inferred(opener, get_estimate(row))


def _word_use(women: str, men: str, words: pl.DataFrame | None, row: Mapping[str, Any]) -> str:
    if row["estimate"] < 0:
        return sentences.words_worse_than_chance()
    return sentences.word_use_differs(women, men, get_estimate(row), {} if words is None else _marking(words))


def _marking(words: pl.DataFrame) -> dict[str, list[str]]:
    """Return the most typical words of each gender, among the words that are not due to a single name."""
    marking = {}
    for (group,), table in words.group_by("group", maintain_order=True):
        known = table.filter("of_several").sort("z", descending=True).head(WORDS)
        if known.height:
            marking[str(group)] = known["word"].to_list()
    return marking


def _occupations(women: str, men: str, row: Mapping[str, Any]) -> str:
    return sentences.occupations_differ(women, men, get_estimate(row))


def _describe_undetected(unit: str, row: Mapping[str, Any]) -> str:
    return sentences.power(sentences.detectable_above_chance(row["minimum_detectable"], unit))
