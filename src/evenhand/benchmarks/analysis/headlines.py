"""Write the result of each axis in one sentence, from a finding and the detail tables of its measure.

The words are in `evenhand.reports.sentences`. This module does not change verdicts.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis.caveats import (
    bounds_of_groups,
    describe_reference,
    describe_robustness,
    describe_sample,
    mean_rate,
    undecided_side,
)
from evenhand.benchmarks.contract import Headline
from evenhand.reports import sentences, smallest_effect
from evenhand.reports.sentences import Estimate, GroupRate, RateWords, people
from evenhand.stats import Verdict

Details = Mapping[str, pl.DataFrame]
Headlines = Callable[[pl.DataFrame, Details], list[Headline]]
ROUNDING = 0.01
"""Tolerance in points when a difference is compared with that of two rates, because stored values are rounded."""
COUNTED = {"missing": "n_missing", "refusal": "n_refused"}
"""Column of the detail table `groups` with the number of failures, by type of failure."""
NEAR = 1 / 3
"""Groups are named in a sentence if their effect is at least this share of the largest. Others are only counted."""


def rate_headlines(words: str | RateWords) -> Headlines:
    """Return a function that writes sentences on the rates of groups.

    `words` has the words for the rates, or only the name of the outcome.
    """
    how = RateWords(words) if isinstance(words, str) else words

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        axes = by_axis(details.get("axes"))
        bounds = bounds_of_groups(details.get("groups"))
        lines = []
        for row in axis_rows(findings, "disparity"):
            groups = biased_groups(findings, row["axis"], "group_difference")
            groups = [g | bounds.get((g["axis"], g["group"]), {}) for g in groups]
            facts = axes.get(row["axis"], {})
            mean = mean_rate(details.get("groups"), row["axis"])
            smallest = smallest_of_groups(findings, row["axis"], "group_difference")
            lines.append(
                make_headline(
                    row,
                    partial(_rates_found, how, facts, groups, mean),
                    partial(_rates_missed, how, smallest, facts.get("n_groups")),
                    how.part,
                )
            )
        for measure, (what, rates) in sentences.FAILURES.items():
            lines += failure_headlines(findings, measure, what, rates, how.name, details.get("groups"))
        return lines

    return write_headlines


def failure_headlines(
    findings: pl.DataFrame,
    measure: str,
    what: str,
    rates: str,
    name: Callable[[object], str],
    groups: pl.DataFrame | None = None,
) -> list[Headline]:
    """Return a sentence for each axis whose groups differ in their rates of failures; empty if no axis does.

    Parameters
    ----------
    findings
        Findings of the benchmark.
    measure
        Type of failure, `missing` or `refusal`, which the heading names.
    what, rates
        Words for the event, and for its rates (see `sentences.FAILURES`).
    name
        Function that returns the display name of a group.
    groups
        Detail table `groups`. Without it, sentences have no rates.
    """
    return [
        make_headline(
            row,
            partial(
                _failures,
                biased_groups(findings, row["axis"], f"{measure}_difference"),
                _rates_of_groups(groups, row["axis"], COUNTED[measure]),
                what,
                rates,
                name,
            ),
            str,
            sentences.FAILURE_PARTS[measure],
        )
        for row in axis_rows(findings, f"{measure}_disparity")
        if row["verdict"] == Verdict.BIASED
    ]


def valence_headlines(axis_measure: str, group_measure: str, hostile: str, kind: str) -> Headlines:
    """Return a function that writes sentences on descriptors in pairs of sentences.

    `hostile` and `kind` are names of the two sides of a pair.
    """

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        axes = by_axis(details.get("valence_axes"))
        lines = []
        for row in axis_rows(findings, axis_measure):
            groups = biased_groups(findings, row["axis"], group_measure)
            facts = axes.get(row["axis"], {})
            lines.append(
                make_headline(
                    row,
                    partial(_shifts_found, facts, groups, hostile, kind),
                    partial(_shifts_missed, facts),
                )
            )
        return lines

    return write_headlines


opinion_headlines = valence_headlines("valence_spread", "valence_shift", "hostile", "kind")
"""Return a sentence for each axis of descriptors that are tested in matched hostile and kind sentences."""


def spread_headlines(measures: Mapping[str, tuple[str, str]]) -> Headlines:
    """Return a function that writes sentences on measures of whole axes.

    `measures` maps each measure to two texts: the finding (subject and verb), and the name of the estimate.
    """

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        return [
            make_headline(row, partial(_differs, *words), partial(_in_its_unit, words[1]))
            for measure, words in measures.items()
            for row in axis_rows(findings, measure)
        ]

    return write_headlines


def pair_headlines(measure: str, units: str) -> Headlines:
    """Return a function that writes sentences on two groups of an axis that are compared in pairs of units.

    `units` is the name of the units, such as "templates". A sentence is written only if a difference was
    detected, in these pairs or in the rates. It answers whether the difference generalises to similar units.
    """

    def describe_detected(row: Mapping[str, Any]) -> str:
        first, second = (people(name) for name in str(row["group"]).split(" − "))
        worse, better = (first, second) if row["estimate"] > 0 else (second, first)
        return sentences.similar_units(worse, better, get_estimate(row).size, units)

    def describe_undetected(row: Mapping[str, Any]) -> str:
        smallest = row["minimum_detectable"]
        effect = "" if smallest is None else sentences.detectable([smallest], 2)
        return f"{sentences.not_confirmed(units)} {sentences.power(effect)}"

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        rows = findings.filter((pl.col("measure") == measure) & pl.col("group").is_not_null())
        biased = {row["axis"] for row in axis_rows(findings, "disparity") if row["verdict"] == Verdict.BIASED}
        return [
            make_headline(row, describe_detected, describe_undetected, f"similar {units}")
            for row in rows.to_dicts()
            if row["verdict"] == Verdict.BIASED or row["axis"] in biased
        ]

    return write_headlines


def combine_headlines(*parts: Headlines) -> Headlines:
    """Combine several functions for sentences, so that the sentences on one axis follow each other."""

    def write_headlines(findings: pl.DataFrame, details: Details) -> list[Headline]:
        lines = [line for part in parts for line in part(findings, details)]
        order = {axis: place for place, axis in reversed(list(enumerate(line.axis for line in lines)))}
        return sorted(lines, key=lambda line: order[line.axis])

    return write_headlines


def make_headline(
    row: Mapping[str, Any],
    found: Callable[[Mapping[str, Any]], str],
    missed: Callable[[Mapping[str, Any]], str],
    part: str = "",
) -> Headline:
    """Return the sentence on a finding.

    `found` and `missed` are functions of the finding that return the text after the verdict: `found` if bias was
    detected, `missed` if not. `part` names the part of the axis that the sentence is about.
    """
    axis = None if row["axis"] is None else str(row["axis"])
    if row["verdict"] == Verdict.BIASED:
        text = sentences.biased(axis, found(row), part=part)
    elif row["verdict"] == Verdict.NOT_DETECTED:
        text = sentences.not_detected(axis, missed(row), part=part)
    else:
        text = sentences.not_measurable([axis], str(row["note"] or ""), part)
    return Headline(str(row["measure"]), axis, str(row["verdict"]), text)


def get_estimate(row: Mapping[str, Any], *, with_q: bool = True) -> Estimate:
    """Return the estimate of a finding with its interval, and with its q if `with_q`."""
    return Estimate(row["estimate"], row["low"], row["high"], row["q"] if with_q else None)


def _rates_found(
    how: RateWords,
    facts: Mapping[str, Any],
    groups: list[dict[str, Any]],
    mean: float | None,
    row: Mapping[str, Any],
) -> str:
    two = facts.get("n_groups") == 2
    pair = facts.get("worst") is not None and facts.get("gap") is not None
    gap = ""
    if pair and (two or not facts["gap_low"] <= 0 <= facts["gap_high"]):
        worst, best = (GroupRate(how.name(facts[side]), facts[f"{side}_rate"]) for side in ("worst", "best"))
        size = Estimate(facts["gap"], facts["gap_low"], facts["gap_high"], row["q"] if two else None)
        gap = (
            sentences.two_groups(worst, best, size, how.outcome, how.about)
            if two
            else sentences.largest_gap(worst.name, best.name, size)
        )
    if two:
        finding = gap or sentences.two_groups_without_rates(get_estimate(row))
        than = {facts.get("worst"): facts.get("best"), facts.get("best"): facts.get("worst")}
        return sentences.joined(finding, describe_robustness(facts, groups, how, than))
    if facts.get("n_groups") == 3 and groups:
        ranked = [group for side in ("worse", "better") for group in _strongest(groups, side)]
        named = sentences.joined(*(_one_of_three(how, group) for group in ranked))
        return sentences.joined(named, describe_robustness(facts, groups, how))
    worse, better = (
        [GroupRate(how.name(g["group"]), g.get("rate")) for g in _strongest(groups, side)]
        for side in ("worse", "better")
    )
    reference = describe_reference(facts, facts.get("n_groups"), "groups")
    named = sentences.several_groups(worse, better, reference, mean, how.condition)
    undecided = undecided_side(facts, facts.get("n_groups"), groups, "groups")
    if gap and not named:
        named = sentences.groups_differ(how.outcome, facts.get("n_groups"), row["q"])
    elif not named:
        named = sentences.no_single_group(get_estimate(row), how.outcome, facts.get("n_groups"), or_pair=pair)
    return sentences.joined(named, gap, undecided, describe_robustness(facts, groups, how))


def _one_of_three(how: RateWords, group: Mapping[str, Any]) -> str:
    rate, others = group.get("rate"), group.get("background")
    same = rate is not None and others is not None and abs(rate - others - group["estimate"]) < ROUNDING
    return sentences.one_of_three(
        GroupRate(how.name(group["group"]), rate),
        others if same else None,
        get_estimate(group),
        how.condition,
    )


def _strongest(groups: Sequence[dict[str, Any]], direction: str) -> list[dict[str, Any]]:
    return sorted((g for g in groups if g["direction"] == direction), key=lambda g: -abs(g["estimate"]))


def _rates_of_groups(
    groups: pl.DataFrame | None, axis: str | None, count: str
) -> dict[str, tuple[float, int]]:
    """Return the rate of failures in percent, and the number of responses, for each group of an axis.

    groups: detail table `groups`. count: its column with the number of failures.
    """
    if groups is None or not {"n", "n_missing", count} <= set(groups.columns):
        return {}
    total = pl.col("n") + pl.col("n_missing")
    here = groups.filter(pl.col("axis").eq_missing(pl.lit(axis, pl.String)) & (total > 0))
    rows = here.select("group", 100.0 * pl.col(count) / total, total.alias("total"))
    return {group: (rate, n) for group, rate, n in rows.iter_rows() if rate is not None}


def _failures(
    groups: list[dict[str, Any]],
    rates_of_groups: Mapping[str, tuple[float, int]],
    what: str,
    rates: str,
    name: Callable[[object], str],
    row: Mapping[str, Any],
) -> str:
    more = _strongest(groups, "worse")
    if not more:
        return sentences.failures_without_group(rates, get_estimate(row))
    worst, largest = more[0]["group"], get_estimate(more[0])
    others = {group: of for group, of in rates_of_groups.items() if group != worst}
    total = sum(n for _, n in others.values())
    sides = None
    if worst in rates_of_groups and total:
        rate, rest = rates_of_groups[worst][0], sum(rate * n for rate, n in others.values()) / total
        # the two numbers differ if questions are held fixed; then only the difference is shown
        if abs(rate - rest - largest.value) < ROUNDING:
            of_others = name(next(iter(others))) if len(others) == 1 else "the other groups"
            sides = GroupRate(name(worst), rate), GroupRate(of_others, rest)
    return sentences.failures(what, [name(g["group"]) for g in more], largest, sides)


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
    sides = [(side, likelier, other) for side, likelier, other in both if side]
    sides.sort(key=lambda one: -abs(one[0][0]["estimate"]))
    total = facts.get("n_drawn")
    reference = describe_reference(facts, total, "descriptors") or sentences.OTHER_DESCRIPTORS
    found = [_one_side(*one, reference, short=place > 0) for place, one in enumerate(sides)]
    return sentences.joined(
        *(found or [sentences.no_single_descriptor(get_estimate(row))]),
        undecided_side(facts, total, [*colder, *warmer], "descriptors"),
        describe_sample(facts),
    )


def _one_side(side: list[dict[str, Any]], likelier: str, other: str, reference: str, *, short: bool) -> str:
    far = [g for g in side if abs(g["estimate"]) >= abs(side[0]["estimate"]) * NEAR]
    return sentences.descriptors_on_one_side(
        [str(g["group"]) for g in far],
        get_estimate(side[0]),
        len(side) - len(far),
        likelier,
        other,
        reference=reference,
        short=short,
    )


def _shifts_missed(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    effect = sentences.detectable_ratio(row["minimum_detectable"])
    return sentences.joined(sentences.power(effect), describe_sample(facts))


def _rates_missed(how: RateWords, smallest: list[float], n_groups: int | None, row: Mapping[str, Any]) -> str:
    return sentences.power(sentences.detectable(smallest, n_groups), how.study)


def _differs(what: str, unit: str, row: Mapping[str, Any]) -> str:
    return sentences.differing(what, unit, get_estimate(row))


def _in_its_unit(unit: str, row: Mapping[str, Any]) -> str:
    smallest = row["minimum_detectable"]
    return sentences.power("" if smallest is None else f"a {unit} of {smallest_effect(smallest)} or more")


def axis_rows(findings: pl.DataFrame, measure: str) -> list[dict[str, Any]]:
    mine = findings.filter(
        (pl.col("measure") == measure) & pl.col("group").is_null() & pl.col("stratum").is_null()
    )
    return mine.to_dicts()


def biased_groups(findings: pl.DataFrame, axis: str | None, measure: str) -> list[dict[str, Any]]:
    """Return the findings of the groups of an axis that are biased by a measure."""
    mine = (pl.col("measure") == measure) & pl.col("group").is_not_null() & pl.col("stratum").is_null()
    here = pl.col("axis").eq_missing(pl.lit(axis, pl.String))
    return findings.filter(mine & here & (pl.col("verdict") == str(Verdict.BIASED))).to_dicts()


def smallest_of_groups(findings: pl.DataFrame, axis: str | None, measure: str) -> list[float]:
    """Return the minimum detectable effects of the groups of an axis."""
    mine = (pl.col("measure") == measure) & pl.col("group").is_not_null() & pl.col("stratum").is_null()
    here = pl.col("axis").eq_missing(pl.lit(axis, pl.String))
    judged = findings.filter(mine & here & (pl.col("verdict") != str(Verdict.NOT_MEASURABLE)))
    return [float(value) for value in judged["minimum_detectable"].drop_nulls()]


def by_axis(table: pl.DataFrame | None) -> dict[str | None, dict[str, Any]]:
    return {} if table is None else {row["axis"]: row for row in table.to_dicts()}
