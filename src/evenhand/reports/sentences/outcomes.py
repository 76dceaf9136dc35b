"""Sentences on what is read from responses to one prompt about several groups: numbers, rates, refusals, similarity."""

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
"""Groups that are named as different from the others; if there are more, the last ones are counted."""
NAMES = {"similarity": "words", "semantic": "meaning"}
HAPPENED = {
    "rate": "This response was given",
    "refusal": "The model refused",
    "missing": "Values were missing or unreadable",
}
"""By kind of outcome, what its rate counts."""


def outcome_name(outcome: str) -> str:
    """Return an outcome in words.

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
    """Return which part of an axis a sentence is about."""
    return {"refusal": "refusals", "missing": f"{name} missing"}.get(kind, name)


def dissimilar(across: float, within: float, difference: Estimate, apart: Sequence[str]) -> str:
    """Return that responses differ between groups more than responses to the same prompt do.

    Parameters
    ----------
    across, within
        Similarity across groups and to the same prompt, in points.
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
    """Return that responses about different groups are about as similar as responses to the same prompt."""
    effect = "" if smallest is None else f"a similarity that is {plain_number(smallest)} points lower"
    return joined(
        "Responses about different groups are about as similar as responses to the same prompt (similarity "
        f"{plain_number(across)} and {plain_number(within)})",
        power(effect),
    )


def unequal(kind: str, higher: tuple[str, float], lower: tuple[str, float], gap: Estimate) -> str:
    """Return for which group a number or a rate is higher. kind: "score" or a key of HAPPENED."""
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
    """Return that groups differ although the pair that differs most is not stored."""
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
