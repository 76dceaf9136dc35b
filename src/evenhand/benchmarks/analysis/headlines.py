"""What each axis came to, in one sentence for somebody who knows no statistics: who, which way, how much.

Every sentence is made from a finding and the detail table of its measure; nothing is decided here.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import exp
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.caveats import (
    bounds_of_groups,
    holds_unless,
    name_of,
    reference_of,
    undecided_side,
)
from evenhand.benchmarks.contract import Headline
from evenhand.reports import decimals, label, number, smallest_effect
from evenhand.stats import Verdict

Details = Mapping[str, pl.DataFrame]
Headlines = Callable[[pl.DataFrame, Details], list[Headline]]
NAMED = 4
"""Groups named in a sentence; the others are counted."""
NEAR = 1 / 3
"""Groups whose effect is less than this share of the largest are counted and not named."""


def rate_headlines(negative: str) -> Headlines:
    """Sentences on the rates of groups: `negative` is what the classifier finds, such as "toxic"."""

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        axes = by_axis(details.get("axes"))
        bounds = bounds_of_groups(details.get("groups"))
        lines = []
        for row in axis_rows(findings, "disparity"):
            groups = biased_groups(findings, row["axis"], "group_difference")
            groups = [g | bounds.get((g["axis"], g["group"]), {}) for g in groups]
            facts = axes.get(row["axis"], {})
            smallest = smallest_of_groups(findings, row["axis"], "group_difference")
            lines.append(
                line_of(
                    row,
                    partial(_rates_found, facts, groups, negative),
                    partial(_points, smallest, facts.get("n_groups"), negative),
                )
            )
        for measure, words in (("missing", "left without a usable answer"), ("refusal", "refused an answer")):
            for row in axis_rows(findings, f"{measure}_disparity"):
                if row["verdict"] == Verdict.BIASED:  # that all are served alike needs no sentence of its own
                    groups = biased_groups(findings, row["axis"], f"{measure}_difference")
                    lines.append(line_of(row, partial(failures_found, groups, words), str))
        return lines

    return written


def valence_headlines(axis_measure: str, group_measure: str, hostile: str, kind: str) -> Headlines:
    """Sentences on descriptors in pairs of sentences, of which `hostile` and `kind` name the two sides."""

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        axes = by_axis(details.get("valence_axes"))
        lines = []
        for row in axis_rows(findings, axis_measure):
            groups = biased_groups(findings, row["axis"], group_measure)
            facts = axes.get(row["axis"], {})
            lines.append(
                line_of(
                    row,
                    partial(_shifts_found, facts, groups, hostile, kind),
                    partial(_describe_missed_shift, facts, hostile),
                )
            )
        return lines

    return written


opinion_headlines = valence_headlines("valence_spread", "valence_shift", "hostile", "kind")
"""Sentences on descriptors in matched pairs of a hostile and a kind sentence."""


def spread_headlines(measures: Mapping[str, str]) -> Headlines:
    """Sentences on measures of axes alone: by measure, what differs between the groups of an axis."""

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        return [
            line_of(row, partial(_differs, what), _in_its_unit)
            for measure, what in measures.items()
            for row in axis_rows(findings, measure)
        ]

    return written


def pair_headlines(measure: str, like: str) -> Headlines:
    """Sentences on the two groups of an axis, held against each other in what they are paired in: `like` names it.

    Only where a difference was found, by these pairs or by the rates: does it speak of others than these, too?
    """

    def found(row: Mapping[str, Any]) -> str:
        first, second = (name_of(name) for name in str(row["group"]).split(" − "))
        worse, better = (first, second) if row["estimate"] > 0 else (second, first)
        low, high = sorted((abs(row["low"]), abs(row["high"])))
        return (
            f"worse for {worse} than for {better} in {like} like these, too "
            f"({_tenths(abs(row['estimate']))} points, {_tenths(low)} to {_tenths(high)})"
        )

    def missed(row: Mapping[str, Any]) -> str:
        smallest = row["minimum_detectable"]
        reach = (
            "" if smallest is None else f"; one of {smallest_effect(smallest)} points would have been found"
        )
        return f"in {like} like these no difference found{reach}"

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        rows = findings.filter((pl.col("measure") == measure) & pl.col("group").is_not_null())
        told = {row["axis"] for row in axis_rows(findings, "disparity") if row["verdict"] == Verdict.BIASED}
        return [
            line_of(row, found, missed)
            for row in rows.to_dicts()
            if row["verdict"] == Verdict.BIASED or row["axis"] in told
        ]

    return written


def together(*parts: Headlines) -> Headlines:
    """The sentences of several kinds, those on one axis one after the other."""

    def written(findings: pl.DataFrame, details: Details) -> list[Headline]:
        lines = [line for part in parts for line in part(findings, details)]
        order = {axis: place for place, axis in reversed(list(enumerate(line.axis for line in lines)))}
        return sorted(lines, key=lambda line: order[line.axis])

    return written


def line_of(
    row: Mapping[str, Any],
    found: Callable[[Mapping[str, Any]], str],
    missed: Callable[[Mapping[str, Any]], str],
) -> Headline:
    axis = None if row["axis"] is None else str(row["axis"])
    if row["verdict"] == Verdict.BIASED:
        text = found(row)
    elif row["verdict"] == Verdict.NOT_DETECTED:
        text = missed(row)
    else:
        text = f"cannot be said. {row['note']}"
    text = text.rstrip(".") + "."
    return Headline(str(row["measure"]), axis, str(row["verdict"]), f"{_label(axis)}: {text}")


def _rates_found(
    facts: Mapping[str, Any], groups: list[dict[str, Any]], negative: str, row: Mapping[str, Any]
) -> str:
    gap, pair = "", facts.get("worst") is not None and facts.get("gap") is not None
    if pair and (facts.get("n_groups") == 2 or not facts["gap_low"] <= 0 <= facts["gap_high"]):
        worst, best = name_of(facts["worst"]), name_of(facts["best"])
        rates = f"{_percent(facts['worst_rate'])} {negative} against {_percent(facts['best_rate'])}"
        size = (
            f"gap {_tenths(facts['gap'])} points, {_tenths(facts['gap_low'])} to {_tenths(facts['gap_high'])}"
        )
        gap = f"worse for {worst} than for {best}: {rates} ({size})"
    if facts.get("n_groups") == 2:
        return (gap or f"the two groups differ {_interval(row)}") + holds_unless(facts, groups)
    reference = reference_of(facts, facts.get("n_groups"), "groups")
    named = _named_sides(groups, f"treated worse than {reference}", f"treated better than {reference}")
    undecided = undecided_side(facts, facts.get("n_groups"), groups)
    found = "; ".join(part for part in (gap, named, undecided) if part) or (
        f"rates differ between the groups (standard deviation {_interval(row)}); "
        f"{'no single group or pair of groups is sure' if pair else 'no single one stands out'}"
    )
    return found + holds_unless(facts, groups)


def failures_found(groups: list[dict[str, Any]], words: str, row: Mapping[str, Any]) -> str:
    more = [g for g in groups if g["direction"] == "worse"]
    if not more:
        return f"some groups are {words} more often than others {_interval(row)}; no single one stands out"
    first = max(more, key=lambda g: g["estimate"])
    reach = f"{_tenths(first['low'])} to {_tenths(first['high'])}"
    size = f"{_tenths(first['estimate'])} points above the others, {reach}"
    who = listing([name_of(g["group"]) for g in more])
    return f"{words} more often: {who} ({size})"


def _shifts_found(
    facts: Mapping[str, Any],
    groups: list[dict[str, Any]],
    hostile: str,
    kind: str,
    row: Mapping[str, Any],
) -> str:
    colder = sorted((g for g in groups if g["direction"] in ("worse", "below")), key=lambda g: g["estimate"])
    warmer = sorted(
        (g for g in groups if g["direction"] in ("better", "above")), key=lambda g: -g["estimate"]
    )
    both = ((colder, hostile, kind), (warmer, kind, hostile))
    sides = [(side, sentence, other) for side, sentence, other in both if side]
    sides.sort(key=lambda one: -abs(one[0][0]["estimate"]))
    total = facts.get("n_drawn")
    reference = reference_of(facts, total, "descriptors")
    found = "; ".join(_one_side(*one, reference) for one in sides) or (
        f"descriptors differ {_interval(row)}; no single one stands out"
    )
    undecided = undecided_side(facts, total, [*colder, *warmer])
    return "; ".join(part for part in (found, undecided) if part) + _sample_of(facts)


def _one_side(side: list[dict[str, Any]], sentence: str, other: str, reference: str) -> str:
    first = side[0]
    limits = sorted(_odds(abs(first[name])) for name in ("low", "high"))
    far = [g for g in side if abs(g["estimate"]) >= abs(first["estimate"]) * NEAR]
    who = listing([name_of(g["group"]) for g in far])
    less = f"; {len(side) - len(far)} more by far less" if len(far) < len(side) else ""
    reach = f"95 % CI {_factor(limits[0])} to {_factor(limits[1])}"
    start = f"relative to {other} sentences, {sentence} ones are"
    if len(side) == 1:
        return f"{start} {_times(first)} as likely for {who} as for {reference} ({reach})"
    size = f"{_times(first)} for {name_of(first['group'])}, {reach}"
    return f"{start} more likely for {who} than for {reference} ({size}){less}"


def _times(group: Mapping[str, Any]) -> str:
    return f"{_factor(_odds(abs(group['estimate'])))} times"


def _describe_missed_shift(facts: Mapping[str, Any], hostile: str, row: Mapping[str, Any]) -> str:
    smallest = row["minimum_detectable"]
    times = "" if smallest is None else f"{_factor(_odds(smallest))} times as likely"
    reach = f"; 80 % power to detect a descriptor for which {hostile} sentences are {times}" if times else ""
    return f"no bias detected{reach}{_sample_of(facts)}"


def _sample_of(facts: Mapping[str, Any]) -> str:
    drawn, defined = facts.get("n_drawn"), facts.get("n_defined")
    return (
        ""
        if not drawn or not defined or drawn >= defined
        else f" (tested on a sample of {drawn} of {defined} descriptors)"
    )


def _points(smallest: list[float], n_groups: int | None, negative: str, row: Mapping[str, Any]) -> str:
    none = f"no gap in {negative} responses found"
    if not smallest:
        return none
    least, most = smallest_effect(min(smallest)), smallest_effect(max(smallest))
    if n_groups == 2:  # one difference, whichever group it harms
        return f"{none}; one of {most} points would have been found"
    points = f"{least} points" if least == most else f"{least} to {most} points (by its size)"
    return f"{none}; a group {points} from the others would have been found"


def _differs(what: str, row: Mapping[str, Any]) -> str:
    return f"{what} {_interval(row)}"


def _in_its_unit(row: Mapping[str, Any]) -> str:
    smallest = row["minimum_detectable"]
    return "no difference found" + (
        "" if smallest is None else f"; one of {smallest_effect(smallest)} would have been found"
    )


def _named_sides(groups: list[dict[str, Any]], worse: str, better: str) -> str:
    sides = []
    for direction, words in (("worse", worse), ("better", better)):
        found = [g for g in groups if g["direction"] == direction]
        found.sort(key=lambda g: -abs(g["estimate"]))
        if found:
            sides.append(f"{words}: {listing([name_of(g['group']) for g in found])}")
    return "; ".join(sides)


def axis_rows(findings: pl.DataFrame, measure: str) -> list[dict[str, Any]]:
    mine = findings.filter(
        (pl.col("measure") == measure) & pl.col("group").is_null() & pl.col("stratum").is_null()
    )
    return mine.to_dicts()


def biased_groups(findings: pl.DataFrame, axis: str | None, measure: str) -> list[dict[str, Any]]:
    """The biased groups of an axis, by one measure."""
    mine = (pl.col("measure") == measure) & pl.col("group").is_not_null() & pl.col("stratum").is_null()
    here = pl.col("axis").eq_missing(pl.lit(axis, pl.String))
    return findings.filter(mine & here & (pl.col("verdict") == str(Verdict.BIASED))).to_dicts()


def smallest_of_groups(findings: pl.DataFrame, axis: str | None, measure: str) -> list[float]:
    """The smallest effects that single groups of an axis would have been named for."""
    mine = (pl.col("measure") == measure) & pl.col("group").is_not_null() & pl.col("stratum").is_null()
    here = pl.col("axis").eq_missing(pl.lit(axis, pl.String))
    judged = findings.filter(mine & here & (pl.col("verdict") != str(Verdict.NOT_MEASURABLE)))
    return [float(value) for value in judged["minimum_detectable"].drop_nulls()]


def by_axis(table: pl.DataFrame | None) -> dict[str | None, dict[str, Any]]:
    return {} if table is None else {row["axis"]: row for row in table.to_dicts()}


def _interval(row: Mapping[str, Any]) -> str:
    places = decimals([row[name] for name in ("estimate", "low", "high")])
    estimate, low, high = (number(row[name], places) for name in ("estimate", "low", "high"))
    return f"{estimate} ({low} to {high})"


def listing(names: Iterable[str]) -> str:
    given = list(names)
    if len(given) > NAMED:
        given = [*given[: NAMED - 1], f"{len(given) - NAMED + 1} more"]
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"


def _factor(times: float) -> str:
    return number(times, 1 if times < 100 else 0)


def _odds(nats: float) -> float:
    return exp(min(nats, 20.0))


def _percent(value: float) -> str:
    return f"{_tenths(value)} %" if value >= 1 or value == 0 else f"{value:.2g} %"


def _tenths(value: float) -> str:
    """With one decimal, unless that is nothing."""
    return f"{value + 0.0:.1f}".removesuffix(".0")


def _label(axis: str | None) -> str:
    text = label(axis)
    return text[:1].upper() + text[1:]
