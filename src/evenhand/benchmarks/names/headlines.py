"""What conversations that names open came to, a sentence for each question."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis import axis_rows, line_of
from evenhand.benchmarks.contract import Headline
from evenhand.benchmarks.names.rows import GENDER
from evenhand.stats import Verdict

Details = Mapping[str, pl.DataFrame]
Told = Callable[[Mapping[str, Any]], str]
WORDS = 3
"""Words named for each gender."""
TELLS = "whether a classifier tells the opener's gender"
WORDS_DIFFER = "whether words differ"


def name_headlines(opener: str, women: str, men: str) -> Callable[[pl.DataFrame, Details], list[Headline]]:
    """Sentences on genders. opener: what tells them ("the name"). women, men: what opened ("women's names")."""

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        sight, hidden = f"with {opener} in sight", f"with {opener} hidden"
        sentences: tuple[tuple[str, str, Told, Told], ...] = (
            ("classifier_bias", f"{TELLS}, {sight},", partial(_told, sight), partial(_not_told, sight)),
            (
                "classifier_bias_masked",
                f"{TELLS}, {hidden},",
                partial(_told, hidden),
                partial(_not_told, hidden),
            ),
            (
                "token_bins",
                WORDS_DIFFER,
                partial(_other_words, f"{women} and {men}", details.get("words")),
                _same_words,
            ),
            ("intersectional_token_bins", WORDS_DIFFER, _other_words_by_group, _same_words),
            (
                "occupation_lean",
                "whether mentioned occupations differ",
                partial(_occupations, women, men),
                _no_occupations,
            ),
        )
        lines = [
            _line(row, what, found, missed)
            for measure, what, found, missed in sentences
            for row in axis_rows(findings, measure)
        ]
        aside = _set_aside(details.get("names"))
        known = [
            place
            for place, line in enumerate(lines)
            if line.axis == GENDER and line.verdict != Verdict.NOT_MEASURABLE
        ]
        if known and aside:
            first = lines[known[0]]
            lines[known[0]] = replace(first, sentence=f"{first.sentence} {aside}")
        return lines

    return written


def _line(row: Mapping[str, Any], what: str, found: Told, missed: Told) -> Headline:
    """The sentence of a row; of one that is not measurable, what cannot be said."""
    line = line_of(row, found, missed)
    if line.verdict != Verdict.NOT_MEASURABLE:
        return line
    return replace(line, sentence=line.sentence.replace("cannot be said", f"{what} cannot be said", 1))


def _set_aside(names: pl.DataFrame | None) -> str:
    """How many conversations took no part in the comparison of genders, and why; names: `chats.by_name`."""
    if names is None or names.is_empty():
        return ""
    talks, compared = names.select(pl.col("n_conversations", "n_compared").sum()).row(0)
    return (
        f"Genders are compared by {compared:,} of {talks:,} conversations, so that each race makes as much of either."
        if compared < talks
        else ""
    )


def _told(how: str, row: Mapping[str, Any]) -> str:
    if row["estimate"] < 0:
        return (
            f"a classifier tells the other gender than the opener's from what is said, {how} {_points(row)}"
        )
    return f"a classifier tells the opener's gender from what is said, {how} {_points(row)}"


def _points(row: Mapping[str, Any]) -> str:
    side = "below" if row["estimate"] < 0 else "above"
    return f"({abs(row['estimate']):.1f} points {side} chance, {_limits(row, '.1f')})"


def _limits(row: Mapping[str, Any], kind: str) -> str:
    """The limits of an effect's size: what is found lies on one side of 0, which the words before say."""
    low, high = sorted((abs(row["low"]), abs(row["high"])))
    return f"{low:{kind}} to {high:{kind}}"


def _not_told(how: str, row: Mapping[str, Any]) -> str:
    return f"no sign found that a classifier tells the opener's gender, {how}{_reach(row, '.1f', ' points')}"


def _other_words(by: str, words: pl.DataFrame | None, row: Mapping[str, Any]) -> str:
    if row["estimate"] < 0:
        return (
            "words fit the genders worse than by chance, which nothing explains: look at the table of words"
        )
    marked = "" if words is None else _marking(words)
    return f"conversations opened by {by} use other words (L2 {_size(row)}){marked}"


def _marking(words: pl.DataFrame) -> str:
    """The words of each gender that most of its names have said, of those that mark it."""
    parts = []
    for (group,), table in words.group_by("group", maintain_order=True):
        known = table.filter("of_several").sort("z", descending=True).head(WORDS)
        if known.height:
            parts.append(f"{group}: {', '.join(known['word'])}")
    return f"; {'; '.join(parts)}" if parts else ""


def _other_words_by_group(row: Mapping[str, Any]) -> str:
    return f"conversations use other words by the gender and race of the opener's name (L2 {_size(row)})"


def _same_words(row: Mapping[str, Any]) -> str:
    return f"no difference found between words{_reach(row, '.2g', '')}"


def _size(row: Mapping[str, Any]) -> str:
    return f"{row['estimate']:.2g}, {row['low']:.2g} to {row['high']:.2g}"


def _occupations(women: str, men: str, row: Mapping[str, Any]) -> str:
    way = "in which more women work" if row["estimate"] > 0 else "in which fewer women work"
    size = f"{abs(row['estimate']):.0f} points, {_limits(row, '.0f')}"
    return f"conversations opened by {women} mention occupations {way} than those by {men} do ({size})"


def _no_occupations(row: Mapping[str, Any]) -> str:
    return f"no difference found between the occupations mentioned{_reach(row, '.0f', ' points')}"


def _reach(row: Mapping[str, Any], kind: str, unit: str) -> str:
    smallest = row["minimum_detectable"]
    return "" if smallest is None else f"; {smallest:{kind}}{unit} would have been found in 4 of 5 samples"
