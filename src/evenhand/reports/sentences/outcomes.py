"""Sentences on outcomes of responses to one prompt about several groups: numbers, rates, refusals and similarity."""

from collections.abc import Sequence

from evenhand.reports.sentences.numbers import size_of
from evenhand.reports.sentences.slots import (
    Estimate,
    ci,
    name_list,
    number_near,
    percent,
    places_of_rates,
    plain_number,
    points,
)
from evenhand.reports.sentences.verdicts import joined, power

MOST_APART = 4
"""Largest number of groups that are named as different from the others; further groups are only counted."""
NAMES = {"similarity": "words", "semantic": "meaning"}
HAPPENED = {
    "rate": "This response was given",
    "refusal": "The model refused",
    "missing": "Values were missing or unreadable",
}
"""Words for what is counted by the rate of each type of outcome."""


def outcome_name(outcome: str) -> str:
    """Return the display name of an outcome.

    >>> outcome_name("json:salary"), outcome_name("number:years"), outcome_name("similarity")
    ('JSON field salary', 'number: years', 'words')
    """
    kind, colon, rest = outcome.partition(":")
    if kind == "json":
        return f"JSON field {rest}"
    if colon:
        return f"{kind} {rest}" if rest[:1].isdigit() else f"{kind}: {rest}"
    return NAMES.get(kind, kind)


def part_of_outcome(name: str, kind: str) -> str:
    """Return the words after the axis in a heading: the outcome, its refusals, or its missing values."""
    return {"refusal": "refusals", "missing": f"{name} missing"}.get(kind, name)


def dissimilar(across: float, within: float, difference: Estimate, apart: Sequence[str]) -> str:
    """Return a sentence stating that responses differ between groups more than responses to the same prompt do.

    Parameters
    ----------
    across, within
        Similarity of responses about different groups, and of responses to the same prompt, in points.
    apart
        Groups that differ most.
    """
    who = f"Different from the others: {name_list(apart, MOST_APART)}" if apart else ""
    return joined(
        "Responses differ between groups more than responses to the same prompt do (similarity "
        f"{plain_number(across)} across groups, {plain_number(within)} for the same prompt; difference "
        f"{_similarity(difference)})",
        who,
    )


def similar(across: float, within: float, smallest: float | None) -> str:
    """Return a sentence stating that responses are about equally similar across groups and for the same prompt."""
    effect = "" if smallest is None else f"a similarity that is {plain_number(smallest)} points lower"
    return joined(
        "Responses about different groups are about as similar as responses to the same prompt (similarity "
        f"{plain_number(across)} and {plain_number(within)})",
        power(effect),
    )


def unequal(kind: str, higher: tuple[str, float], lower: tuple[str, float], gap: Estimate) -> str:
    """Return a sentence stating which of two groups has the higher mean or rate.

    kind: "score" for a mean, or a key of HAPPENED for a rate. higher, lower: each group with its value.
    """
    (most, first), (least, second) = higher, lower
    if kind == "score":
        values = [number_near(value, gap) for value in (first, second)]
        return f"Higher for {most} than for {least}: {values[0]} against {values[1]} (difference {size_of(gap)})."
    places = places_of_rates(gap)
    rates = [percent(value, places) for value in (first, second)]
    return (
        f"{HAPPENED[kind]} more often for {most} than for {least}: {rates[0]} against {rates[1]} (difference "
        f"{points(gap.value, places)}, {ci(gap.low, gap.high, places)})."
    )


def unequal_spread(kind: str, spread: Estimate) -> str:
    """Return a sentence stating that groups differ, for results that do not name the pair that differs most."""
    what = "Means differ" if kind == "score" else "Rates differ"
    return f"{what} between groups (standard deviation {size_of(spread)})."


def detectable_spread(smallest: float | None, unit: str) -> str:
    """Return the minimum detectable standard deviation between groups in words; empty if it is unknown."""
    if smallest is None:
        return ""
    named = "" if unit in ("", "as answered") else f" {unit}"
    return f"a standard deviation of {plain_number(smallest)}{named} or more between groups"


def _similarity(difference: Estimate) -> str:
    value, low, high = (
        number_near(one, difference) for one in (difference.value, difference.low, difference.high)
    )
    return f"{value} points, 95% CI {low} to {high}"
