"""What a before/after study found, in sentences: one wording for terminal, page and JSON."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.reports import (
    HIGHER,
    LOWER,
    NOT_MEASURABLE,
    SYMBOLS,
    bytes_of,
    known,
    label,
    listing,
    number,
    places_of,
)
from evenhand.studies.before_after.harm import HarmVerdict, Kind
from evenhand.studies.before_after.tables import QUALITY_BENCHMARK
from evenhand.studies.compare import (
    DISPARITY,
    SAME_ANSWER,
    STANDING_NOW,
    TEXT_MEASURES,
    Comparison,
    headlines_of,
    text_places,
)

SILENCES, SAMENESS = ("partly silence", "silence"), ("partly sameness", "sameness")
HEADLINES: dict[Kind, str] = {
    "fell": "Harm fell",
    "shorter": "Harm fell",
    "less varied": "Harm fell",
    "partly sameness": "Harm fell, in part because many prompts get one and the same answer",
    "sameness": "Harm fell because prompts get one and the same answer",
    "partly silence": "Harm fell, in part because answers fell silent",
    "silence": "Harm fell because answers fell silent",
    "not detected": "No change of harm was detected",
    "rose": "Harm rose",
    "not measurable": "Harm cannot be compared",
}
PERPLEXITIES = ("judge_perplexity", "own_perplexity", "text_perplexity")
DEAR = 2.0
"""From this factor a perplexity that rose is named in the headline."""
COSTS = {
    "silent": "more often silent",
    "same": "often one and the same text",
    "less varied": "far less varied",
    "shorter": "much shorter",
}
"""What befell the answers of a harm that fell."""
IN_THE_WORDS = {**dict.fromkeys(SILENCES, "silent"), **dict.fromkeys(SAMENESS, "same")}
MARKS: dict[Kind, tuple[str, str]] = {
    "fell": ("lower", "↓"),
    "shorter": ("lower", "↓"),
    "less varied": ("biased", "◇"),
    "partly sameness": ("biased", "◇"),
    "sameness": ("biased", "◇"),
    "partly silence": ("biased", "◇"),
    "silence": ("biased", "◇"),
    "not detected": ("clear", "○"),
    "rose": ("higher", "↑"),
    "not measurable": ("blank", "–"),
}
"""Class and shape of each kind."""

MEASURES = TEXT_MEASURES | {
    "latency": ("latency", "ms a step"),
    "throughput": ("tokens written or read", "a second"),
    "peak_memory": ("peak memory", ""),
    "token_latency": ("time a token, timed anew", "ms"),
    "batch_memory": ("peak memory of a batch", ""),
}
"""Names and units of the measures of quality and cost."""
NO_CHANGE = "No change of its length, repetition or perplexity was detected."
SAID_ALREADY = ("empty_rate", "refusal_rate", "longest_loop")
ASKED = "over all answers"
"""The denominator of harm as it is told first: a silent answer harms nobody."""


def place(verdict: HarmVerdict) -> str:
    """Where: the benchmark, and the kind of harm where that is not its name."""
    same = verdict.benchmark == verdict.outcome
    return verdict.benchmark if same else f"{verdict.benchmark}, {label(verdict.outcome)}"


def price(quality: pl.DataFrame, benchmark: str = "") -> str:
    """By how much perplexities rose, where that is much: of given texts, and of the answers to `benchmark`.

    quality: judged changes of the texts. Empty where none rose by a factor beyond DEAR.
    """
    asked = pl.col("benchmark").is_in([benchmark, QUALITY_BENCHMARK]) | (
        pl.col("measure") == "text_perplexity"
    )
    rows = quality.filter(asked & pl.col("measure").is_in(PERPLEXITIES) & (pl.col("estimate") > DEAR))
    if rows.is_empty():
        return ""
    largest = (
        rows.filter(pl.col("verdict") == HIGHER)
        .sort("estimate", descending=True)
        .unique("measure", keep="first", maintain_order=True)
    )
    told = [f"{MEASURES[row['measure']][0]} ×{number(row['estimate'], 1)}" for row in largest.to_dicts()]
    return f"at the price of {listing(told)}" if told else ""


def headline(verdict: HarmVerdict, quality: pl.DataFrame) -> str:
    """What became of a harm, and at what price, in one sentence. quality: as `price` takes it."""
    text = HEADLINES[verdict.kind]
    if "fell" in text:
        said = IN_THE_WORDS.get(verdict.kind)
        costs = [words for cost, words in COSTS.items() if cost in verdict.costs and cost != said]
        text += f", and answers are {listing(costs)}" if costs else ""
    if paid := price(quality, verdict.benchmark):
        text += f", {paid}"
    if verdict.disagree and verdict.judged is not None:
        text += f" ({ASKED}; among those that were judged: {_word(verdict.judged['verdict'])})"
    return text


def between_groups(verdict: HarmVerdict, comparison: Comparison) -> list[tuple[str, str]]:
    """(sentence, verdict) of what changed between groups: the first question, before any level."""
    mine = headlines_of(comparison).filter(
        pl.col("about").is_in([DISPARITY, STANDING_NOW]), benchmark=verdict.benchmark, outcome=verdict.outcome
    )
    return list(mine.select("sentence", "verdict").iter_rows())


def likelihood_lines(comparison: Comparison) -> list[tuple[str, list[tuple[str, str]]]]:
    """(where, sentences with verdicts) of what changed in likelihoods, which have no judged answers."""
    told = headlines_of(comparison).filter(pl.col("about").is_in([DISPARITY, STANDING_NOW]))
    scored = comparison.changes.filter(pl.col("unit").is_not_null()).select("benchmark", "outcome").unique()
    mine = told.join(scored, on=["benchmark", "outcome"], how="semi", maintain_order="left")
    return [
        (f"{benchmark}, {label(str(outcome))}", list(part.select("sentence", "verdict").iter_rows()))
        for (benchmark, outcome), part in mine.group_by(["benchmark", "outcome"], maintain_order=True)
    ]


def nothing_judged(comparison: Comparison, quality: pl.DataFrame) -> list[str]:
    """What is said where there is no verdict on harm: why, and what the mitigation cost all the same."""
    written = comparison.texts.filter(pl.col("benchmark") != QUALITY_BENCHMARK)
    if written.height or comparison.summary.filter(pl.col("benchmark") != QUALITY_BENCHMARK).height:
        told = ["No answers of both models were judged: nothing can be said of harm."]
    else:
        told = ["These benchmarks compare likelihoods; nothing was written to be judged."]
    paid = price(quality)
    return [f"{paid[:1].upper()}{paid[1:]}.", *told] if paid else told


def lines(verdict: HarmVerdict, quality: pl.DataFrame) -> list[str]:
    """The verdict's numbers in sentences: harm, silence, harm among answers that say something, the text."""
    sentences = [
        _harm(verdict),
        _judged(verdict),
        _silence(verdict),
        _spoken(verdict),
        _same(verdict),
        _unlabelled(verdict),
        _text(verdict, quality),
    ]
    return [line for line in sentences if line]


def change_text(row: Mapping[str, Any], unit: str, factor: float = 1.0) -> str:
    """Before and after with their difference and its interval.

    >>> row = {"before": 0.5, "after": 0.25, "estimate": -0.25, "low": -0.3, "high": -0.2}
    >>> change_text(row, "%", 100.0)
    'from 50.0 % to 25.0 % (−25.0 points, 95 % interval −30.0 to −20.0)'
    """
    names = ("before", "after", "estimate", "low", "high")
    values = {name: None if row[name] is None else factor * row[name] for name in names}
    places = places_of([values["before"], values["after"]], unit)
    before, after, by, low, high = (number(value, places) for value in values.values())
    sign = "+" if known(values["estimate"]) and float(f"{values['estimate']:.{places}f}") > 0 else ""
    suffix = f" {unit}" if unit else ""
    difference = {"%": " points", "": ""}.get(unit, suffix)
    interval = f", 95 % interval {low} to {high}" if known(values["low"]) else ""
    return f"from {before}{suffix} to {after}{suffix} ({sign}{by}{difference}{interval})"


def share_of(row: Mapping[str, Any]) -> tuple[str, float]:
    """(unit, factor) of a harm: percent for shares, a classifier's own number as it is."""
    values = [row[name] for name in ("before", "after") if known(row[name])]
    return ("%", 100.0) if all(0 <= value <= 1 for value in values) else ("", 1.0)


def of_what(name: str) -> str:
    """Of which texts rows of quality are, in words.

    >>> of_what("quality"), of_what("regard")
    ('Continuations of Wikipedia sentences', 'Answers to regard')
    """
    return {
        QUALITY_BENCHMARK: "Continuations of Wikipedia sentences",
        "wikitext": "Wikipedia sentences themselves",
        "prompts": "The prompts themselves",
    }.get(name, f"Answers to {name}")


def quality_cell(row: Mapping[str, Any], side: str) -> tuple[str, str]:
    """(number, interval) of one model's measure of quality or cost."""
    low, high = row.get(f"{side}_low"), row.get(f"{side}_high")
    if row["measure"] in ("peak_memory", "batch_memory"):
        limits = [bytes_of(value) for value in (low, high) if value is not None and known(value)]
        between = " to ".join(limits) if len(limits) == 2 else ""
        return (bytes_of(row[side]) if known(row[side]) else "", between)
    places = text_places(row)
    interval = f"{number(low, places)} to {number(high, places)}" if known(low) and known(high) else ""
    return number(row[side], places), interval


def quality_change(row: Mapping[str, Any]) -> tuple[str, str]:
    """(change, interval): a difference, or a factor for perplexities."""
    if not known(row["estimate"]):
        return "", ""
    if row["scale"] == "ratio":
        between = f"×{number(row['low'], 2)} to ×{number(row['high'], 2)}" if known(row["low"]) else ""
        return f"×{number(row['estimate'], 2)}", between
    places = text_places(row)
    sign = "+" if float(f"{row['estimate']:.{places}f}") > 0 else ""
    between = f"{number(row['low'], places)} to {number(row['high'], places)}" if known(row["low"]) else ""
    return sign + number(row["estimate"], places), between


def _harm(verdict: HarmVerdict) -> str:
    row = verdict.asked
    if row is None:
        return "No prompt has an answer of both models that was judged."
    unit, factor = share_of(row)
    changed = change_text(row, unit, factor)
    if verdict.kind == "not detected":
        smallest = row["minimum_detectable"]
        seen = (
            f" A change of {number(factor * smallest, 1)}{' points' if unit else ''} would probably have been seen."
            if known(smallest)
            else " The answers to nearly all prompts are judged as before."
        )
        return f"{ASKED.capitalize()} it went {changed}.{seen}"
    if verdict.kind == "not measurable":
        return f"{ASKED.capitalize()} it went {changed}: too few prompts for an interval."
    return f"{ASKED.capitalize()} it {'rose' if verdict.kind == 'rose' else 'fell'} {changed}."


def _judged(verdict: HarmVerdict) -> str:
    """Where the denominators tell different stories, both are told."""
    row = verdict.judged
    if row is None or not verdict.disagree:
        return ""
    unit, factor = share_of(row)
    told = change_text(row, unit, factor)
    judged = f"Among the answers that were judged, silent or not ({row['n']:,} pairs)"
    return f"{judged}, it went {told}, {_word(row['verdict'])}."


def _silence(verdict: HarmVerdict) -> str:
    row = verdict.silent
    if row is None or (row["before"] == 0 and row["after"] == 0):
        return "" if row is None else "Neither model left an answer empty or refused."
    sentence = f"Empty or refused answers: {change_text(row, '%', 100.0)}, {_word(row['verdict'])}."
    by = None if verdict.asked is None else verdict.asked["by_silence"]
    if verdict.asked is None or by is None or verdict.kind not in SILENCES:
        return sentence
    unit, factor = share_of(verdict.asked)
    points = f"{number(factor * by, 1)}{' points' if unit else ''}"
    return f"{sentence} Falling silent accounts for {points} of the {number(factor * verdict.asked['estimate'], 1)}."


def _spoken(verdict: HarmVerdict) -> str:
    silent, row = verdict.silent, verdict.spoken
    if silent is None or (silent["before"] == 0 and silent["after"] == 0):
        return ""
    if row is None:
        return "There is no pair in which both models say something: whether their words got better cannot be said."
    unit, factor = share_of(row)
    changed = change_text(row, unit, factor)
    return f"Where both say something ({row['n']:,} pairs), harm went {changed}, {_word(row['verdict'])}."


def _same(verdict: HarmVerdict) -> str:
    row = verdict.texts.get(SAME_ANSWER)
    if row is None or "same" not in verdict.costs:
        return ""
    before, after = (quality_cell(row, side)[0] for side in ("before", "after"))
    sentence = f"One and the same text answers {after} % of the prompts (before: {before} %)."
    if verdict.varied is None:
        return f"{sentence} There is no pair in which neither model gives its stock answer."
    unit, factor = share_of(verdict.varied)
    told = change_text(verdict.varied, unit, factor)
    return f"{sentence} Elsewhere ({verdict.varied['n']:,} pairs) harm went {told}, {_word(verdict.varied['verdict'])}."


def _unlabelled(verdict: HarmVerdict) -> str:
    row = verdict.spoken or verdict.asked
    if row is None or verdict.asked is None or not verdict.asked["n_missing"]:
        return ""
    missing = verdict.asked["n_missing"]
    return f"{missing:,} pair{'' if missing == 1 else 's'} could not be judged and count nowhere."


def _text(verdict: HarmVerdict, quality: pl.DataFrame) -> str:
    rows = quality.filter(
        (pl.col("benchmark") == verdict.benchmark)
        & ~pl.col("measure").is_in([*SAID_ALREADY, *([SAME_ANSWER] if "same" in verdict.costs else [])])
        & pl.col("verdict").is_in([LOWER, HIGHER])
    ).to_dicts()
    parts = []
    for row in rows:
        name, unit = MEASURES[row["measure"]]
        before, after = (quality_cell(row, side)[0] for side in ("before", "after"))
        if before != after:
            parts.append(f"{name} {before} → {after}{f' {unit}' if unit else ''}")
    return f"The text changed: {'; '.join(parts)}." if parts else NO_CHANGE


def _word(verdict: str) -> str:
    return {LOWER: "lower", HIGHER: "higher", NOT_MEASURABLE: "not measurable"}.get(
        verdict, "no change detected"
    )


def symbol(verdict: str | None) -> str:
    """The shape of a verdict."""
    return SYMBOLS.get(verdict or "", "")
