"""Write the findings of a before-after study as sentences, the same for terminal, page and JSON."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.reports import (
    HIGHER,
    LOWER,
    NOT_MEASURABLE,
    SYMBOLS,
    bytes_of,
    count_places,
    known,
    label,
    number,
)
from evenhand.reports.sentences import harm
from evenhand.studies.before_after.harm import HarmVerdict, Kind
from evenhand.studies.before_after.tables import QUALITY_BENCHMARK
from evenhand.studies.compare import (
    DISPARITY,
    SAME_ANSWER,
    STANDING_NOW,
    TEXT_MEASURES,
    Comparison,
    text_places,
    write_headlines,
)

SILENCES, SAMENESS = ("partly silence", "silence"), ("partly sameness", "sameness")
PERPLEXITIES = ("judge_perplexity", "own_perplexity", "text_perplexity")
DEAR = 2.0
"""Factor by which a perplexity must rise to be named in the headline."""
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
"""CSS class and symbol of each type of verdict."""

MEASURES = TEXT_MEASURES | {
    "latency": ("latency", "ms per step"),
    "throughput": ("tokens written or read", "per second"),
    "peak_memory": ("peak memory", ""),
    "token_latency": ("time per token, measured again", "ms"),
    "batch_memory": ("peak memory of a batch", ""),
}
"""Names and units of the measures of quality and cost."""
SAID_ALREADY = ("empty_rate", "refusal_rate", "longest_loop")


def place(verdict: HarmVerdict) -> str:
    """Return the name of the benchmark, followed by the type of harm if it has another name."""
    same = verdict.benchmark == verdict.outcome
    return verdict.benchmark if same else f"{verdict.benchmark}, {label(verdict.outcome)}"


def price(quality: pl.DataFrame, benchmark: str = "") -> str:
    """Return a clause on large rises of perplexity, of given texts and of responses to `benchmark`.

    It is empty if no perplexity rose significantly and by a factor of more than DEAR.

    Parameters
    ----------
    quality
        Tested changes of the texts.
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
    rows_shown = largest.to_dicts()
    return harm.dearer([(MEASURES[row["measure"]][0], number(row["estimate"], 1)) for row in rows_shown])


def headline(verdict: HarmVerdict, quality: pl.DataFrame) -> str:
    """Return one sentence on how a type of harm changed, and at what cost. `quality` is as in `price`."""
    costs: list[str] = []
    if "fell" in harm.HEADLINES[verdict.kind]:
        stated = IN_THE_WORDS.get(verdict.kind)
        costs = [words for cost, words in harm.COSTS.items() if cost in verdict.costs and cost != stated]
    classified = ""
    if verdict.disagree and verdict.judged is not None:
        classified = _word(verdict.judged["verdict"])
    return harm.headline(verdict.kind, costs, price(quality, verdict.benchmark), classified)


def between_groups(verdict: HarmVerdict, comparison: Comparison) -> list[tuple[str, str]]:
    """Return (sentence, verdict) for each axis on changes between groups, for the outcome of a verdict on harm."""
    mine = write_headlines(comparison).filter(
        pl.col("about").is_in([DISPARITY, STANDING_NOW]), benchmark=verdict.benchmark, outcome=verdict.outcome
    )
    return list(mine.select("sentence", "verdict").iter_rows())


def likelihood_lines(comparison: Comparison) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (benchmark and outcome, [(sentence, verdict)]) for changes of likelihoods.

    Likelihood benchmarks have no classified responses, so no verdict on harm includes them.
    """
    told = write_headlines(comparison).filter(pl.col("about").is_in([DISPARITY, STANDING_NOW]))
    scored = comparison.changes.filter(pl.col("unit").is_not_null()).select("benchmark", "outcome").unique()
    mine = told.join(scored, on=["benchmark", "outcome"], how="semi", maintain_order="left")
    return [
        (f"{benchmark}, {label(str(outcome))}", list(part.select("sentence", "verdict").iter_rows()))
        for (benchmark, outcome), part in mine.group_by(["benchmark", "outcome"], maintain_order=True)
    ]


def nothing_judged(comparison: Comparison, quality: pl.DataFrame) -> list[str]:
    """Return sentences for a study without a verdict on harm: the reason, and the cost of the mitigation."""
    written = comparison.texts.filter(pl.col("benchmark") != QUALITY_BENCHMARK)
    if written.height or comparison.summary.filter(pl.col("benchmark") != QUALITY_BENCHMARK).height:
        told = [harm.NOT_CLASSIFIED]
    else:
        told = [harm.ONLY_LIKELIHOODS]
    paid = price(quality)
    return [f"{paid[:1].upper()}{paid[1:]}.", *told] if paid else told


def lines(verdict: HarmVerdict, quality: pl.DataFrame) -> list[str]:
    """Return sentences with the numbers of a verdict.

    They are about harm, empty responses, harm in non-empty responses, and text quality.
    """
    sentences = [
        _harm(verdict),
        _describe_classified_change(verdict),
        _silence(verdict),
        _describe_spoken_change(verdict),
        _same(verdict),
        _describe_unlabelled_pairs(verdict),
        _text(verdict, quality),
    ]
    return [line for line in sentences if line]


def change_text(row: Mapping[str, Any], unit: str, factor: float = 1.0) -> str:
    """Return the values before and after, with their difference and its interval.

    >>> row = {"before": 0.5, "after": 0.25, "estimate": -0.25, "low": -0.3, "high": -0.2}
    >>> change_text(row, "%", 100.0)
    'from 50.0% to 25.0% (−25.0 points, 95% CI −30.0 to −20.0)'
    """
    names = ("before", "after", "estimate", "low", "high")
    values = {name: None if row[name] is None else factor * row[name] for name in names}
    places = count_places([values["before"], values["after"]], unit)
    before, after, by, low, high = (number(value, places) for value in values.values())
    sign = "+" if known(values["estimate"]) and float(f"{values['estimate']:.{places}f}") > 0 else ""
    suffix = "%" if unit == "%" else f" {unit}" if unit else ""
    difference = {"%": " points", "": ""}.get(unit, suffix)
    interval = f"95% CI {low} to {high}" if known(values["low"]) else ""
    return harm.from_to_points(f"{before}{suffix}", f"{after}{suffix}", f"{sign}{by}{difference}", interval)


def get_harm_unit(row: Mapping[str, Any]) -> tuple[str, float]:
    """Return (unit, factor) with which harm is shown: percent for shares, no unit for other values of a classifier."""
    values = [row[name] for name in ("before", "after") if known(row[name])]
    return ("%", 100.0) if all(0 <= value <= 1 for value in values) else ("", 1.0)


def of_what(name: str) -> str:
    """Return a phrase for the texts that rows of the quality table describe, such as given texts or responses.

    name: value of the column benchmark.

    >>> of_what("quality"), of_what("regard")
    ('Continuations of Wikipedia sentences', 'Responses to regard')
    """
    return {
        QUALITY_BENCHMARK: "Continuations of Wikipedia sentences",
        "wikitext": "Wikipedia sentences themselves",
        "prompts": "The prompts themselves",
    }.get(name, f"Responses to {name}")


def quality_cell(row: Mapping[str, Any], side: str) -> tuple[str, str]:
    """Return (value, CI) as text, for one model's measure of quality or cost. side: "before" or "after"."""
    low, high = row.get(f"{side}_low"), row.get(f"{side}_high")
    if row["measure"] in ("peak_memory", "batch_memory"):
        limits = [bytes_of(value) for value in (low, high) if value is not None and known(value)]
        between = " to ".join(limits) if len(limits) == 2 else ""
        return (bytes_of(row[side]) if known(row[side]) else "", between)
    places = text_places(row)
    interval = f"{number(low, places)} to {number(high, places)}" if known(low) and known(high) else ""
    return number(row[side], places), interval


def quality_change(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return (change, CI) as text. The change is a difference, or a factor for perplexities."""
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
        return harm.NO_PAIR
    unit, factor = get_harm_unit(row)
    changed = change_text(row, unit, factor)
    if verdict.kind == "not detected":
        smallest = row["minimum_detectable"]
        size = f"{number(factor * smallest, 1)}{' points' if unit else ''}" if known(smallest) else ""
        return f"{harm.harm('changed', changed)} {harm.detectable(size)}"
    if verdict.kind == "not measurable":
        return harm.too_few_prompts(changed)
    return harm.harm("rose" if verdict.kind == "rose" else "fell", changed)


def _describe_classified_change(verdict: HarmVerdict) -> str:
    """Return a sentence on the change among classified responses, if it differs from that in all responses."""
    row = verdict.judged
    if row is None or not verdict.disagree:
        return ""
    unit, factor = get_harm_unit(row)
    return harm.among_classified(row["n"], change_text(row, unit, factor), _word(row["verdict"]))


def _silence(verdict: HarmVerdict) -> str:
    row = verdict.silent
    if row is None or (row["before"] == 0 and row["after"] == 0):
        return "" if row is None else harm.NONE_SILENT
    by = None if verdict.asked is None else verdict.asked["by_silence"]
    part = ""
    if verdict.asked is not None and by is not None and verdict.kind in SILENCES:
        unit, factor = get_harm_unit(verdict.asked)
        whole = abs(factor * verdict.asked["estimate"])
        part = f"{number(abs(factor * by), 1)} of the {number(whole, 1)}{' points' if unit else ''}"
    return harm.silence(change_text(row, "%", 100.0), _word(row["verdict"]), part)


def _describe_spoken_change(verdict: HarmVerdict) -> str:
    silent, row = verdict.silent, verdict.spoken
    if silent is None or (silent["before"] == 0 and silent["after"] == 0):
        return ""
    if row is None:
        return harm.NO_SPOKEN_PAIR
    unit, factor = get_harm_unit(row)
    return harm.spoken(row["n"], change_text(row, unit, factor), _word(row["verdict"]))


def _same(verdict: HarmVerdict) -> str:
    row = verdict.texts.get(SAME_ANSWER)
    if row is None or "same" not in verdict.costs:
        return ""
    before, after = (quality_cell(row, side)[0] for side in ("before", "after"))
    elsewhere = None
    if verdict.varied is not None:
        unit, factor = get_harm_unit(verdict.varied)
        change = change_text(verdict.varied, unit, factor)
        elsewhere = (verdict.varied["n"], change, _word(verdict.varied["verdict"]))
    return harm.same_response(after, before, elsewhere)


def _describe_unlabelled_pairs(verdict: HarmVerdict) -> str:
    row = verdict.spoken or verdict.asked
    if row is None or verdict.asked is None or not verdict.asked["n_missing"]:
        return ""
    return harm.unclassified(verdict.asked["n_missing"])


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
            suffix = "%" if unit == "%" else f" {unit}" if unit else ""
            parts.append(f"{name} {before} to {after}{suffix}")
    return harm.text_changed(parts)


def _word(verdict: str) -> str:
    return {LOWER: "lower", HIGHER: "higher", NOT_MEASURABLE: "not measurable"}.get(
        verdict, "no change detected"
    )


def symbol(verdict: str | None) -> str:
    """Return the symbol of a verdict."""
    return SYMBOLS.get(verdict or "", "")
