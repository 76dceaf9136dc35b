"""Sentences on the rates of groups: who is treated worse, by how much, and how certain that is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evenhand.reports.sentences.caveats import ADJUSTED_FOR_PAIR, CLASSIFIER
from evenhand.reports.sentences.slots import (
    Estimate,
    GroupRate,
    ci,
    clear_places,
    difference_in_points,
    effect_range,
    name_list,
    outcome_responses,
    outcome_verb,
    people,
    percent,
    places_of_rates,
    points,
    q_value,
)
from evenhand.reports.sentences.verdicts import TOO_FEW_RESPONSES, joined
from evenhand.reports.wording import decimals, number


@dataclass(frozen=True)
class RateWords:
    """Words for responses and groups in sentences on rates.

    Attributes
    ----------
    outcome : str
        What the classifier detects: an adjective such as "toxic".
    about : str
        Preposition before a group.
    name : callable
        Returns the display name of a group.
    judge : str
        Source of the labels, whose errors could explain a difference, such as "the classifier".
    study : str
        Type of the study, such as "audit", in sentences on its power.
    part : str
        Part of the axis that the sentences describe, if others describe other parts.
    """

    outcome: str
    about: str = "about"
    name: Callable[[object], str] = people
    judge: str = CLASSIFIER
    study: str = "audit"
    part: str = ""

    @property
    def condition(self) -> str:
        """Return the condition under which a response counts, if it is a number above a threshold without a harmful
        side; else "".
        """
        return self.outcome if self.outcome.startswith("with ") else ""


def two_groups(
    worse: GroupRate, better: GroupRate, difference: Estimate, outcome: str, about: str = "about"
) -> str:
    """Return the finding on the rates of two groups.

    worse, better: the groups with their rates. outcome: such as "negative". about: the preposition before
    the group.
    """
    places = places_of_rates(difference)
    first, second = (percent(group.rate or 0.0, places) for group in (worse, better))
    return (
        f"Responses {about} {worse.name} {outcome_verb(outcome)} in {first} of cases, against {second} for "
        f"{better.name} (difference {difference_in_points(difference, places)})."
    )


def two_groups_without_rates(spread: Estimate) -> str:
    """Return a sentence stating that two groups differ, for results without their rates."""
    return f"The rates of the two groups differ ({_standard_deviation(spread)})."


def several_groups(
    worse: Sequence[GroupRate],
    better: Sequence[GroupRate],
    reference: str = "",
    mean: float | None = None,
    condition: str = "",
) -> str:
    """Return a sentence that lists the groups that are treated worse or better.

    reference: what they are compared with, such as "the 8 groups that do not stand out"; empty: all other groups. mean:
    the mean rate of all groups in percent. condition: as in `RateWords`; groups then have more or fewer such responses.
    """
    than = f" than {reference}" if reference else ""
    sides = [
        f"{word}{than}: {_with_rates(groups)}"
        for word, groups in zip(_sides(condition), (worse, better), strict=True)
        if groups
    ]
    whole = "" if mean is None or not sides else f"Mean of all groups: {percent(mean, _places([mean]))}"
    return joined(*sides, whole)


def one_of_three(group: GroupRate, others: float | None, difference: Estimate, condition: str = "") -> str:
    """Return a sentence on how one of three groups differs from the mean of the other two.

    others: that mean in percent; None if the rates do not differ by `difference`. condition: as in `RateWords`.

    >>> one_of_three(GroupRate("a", 45.3), 16.7, Estimate(28.6, 19.6, 37.4, 0.002))
    'Treated worse than the other two groups: a (45% against 17%, difference 29 points, 95% CI 20 to 37, q = 0.002).'
    """
    word = _sides(condition)[difference.value < 0]
    places = places_of_rates(difference)
    size = f"difference {difference_in_points(difference.size, places)}"
    if group.rate is not None and others is not None:
        size = f"{percent(group.rate, places)} against {percent(others, places)}, {size}"
    return f"{word} than the other two groups: {group.name} ({size})."


def largest_gap(worst: str, best: str, difference: Estimate) -> str:
    """Return the largest gap between two of several groups."""
    places = places_of_rates(difference)
    interval = ci(difference.low, difference.high, places)
    return f"Largest gap: {worst} against {best}, {points(difference.value, places)} ({interval}, {ADJUSTED_FOR_PAIR})."


def groups_differ(outcome: str, groups: int | None, q: float | None) -> str:
    """Return a sentence stating that rates differ, with the q of the axis.

    It precedes the sentence on the largest gap if no single group is named.
    """
    which = f"the {groups} groups" if groups else "groups"
    evidence = q_value(q).removeprefix(", ")
    shown = f" ({evidence})" if evidence else ""
    return f"Rates of {outcome_responses(outcome)} differ between {which}{shown}."


def no_single_group(spread: Estimate, outcome: str, groups: int | None, *, or_pair: bool = False) -> str:
    """Return a sentence stating that rates differ between groups, but no single group can be named."""
    which = f"the {groups} groups" if groups else "groups"
    named = "no single group or pair" if or_pair else "no single group"
    return (
        f"Rates of {outcome_responses(outcome)} differ between {which} ({_standard_deviation(spread)}), but {named} "
        "can be named with confidence."
    )


def detectable(sizes: Sequence[float], groups: int | None) -> str:
    """Return the minimum detectable difference of rates in words; empty if it is unknown.

    Rates differ by at most 100 points, so larger effects are not stated.

    Parameters
    ----------
    sizes
        The minimum detectable effect of each group in points.
    groups
        Number of groups of the axis.

    Examples
    --------
    >>> detectable([25.0, 101.0], 3)
    'a group that differs from the others by 25 points or more'
    >>> detectable([101.0], 2)
    'There are too few responses to detect any possible difference with 80% power.'
    """
    if not sizes:
        return ""
    possible = [size for size in sizes if size < 100]
    if not possible:
        return TOO_FEW_RESPONSES
    least, most = effect_range(possible)
    if groups == 2:
        return f"a difference of {most} points or more"
    if least == most:
        return f"a group that differs from the others by {most} points or more"
    size = f"{least} to {most} points or more (depending on the size of the group)"
    return f"a group that differs from the others by {size}"


def similar_units(worse: str, better: str, difference: Estimate, units: str) -> str:
    """Return a sentence stating that a difference generalises to other units, such as other templates.

    units: plural name of the units from which a sample was drawn.
    """
    places = places_of_rates(difference)
    return (
        f"Compared within the same {units}, {worse} are treated worse than {better} (difference "
        f"{difference_in_points(difference, places)}). The result generalises to similar {units}."
    )


def not_confirmed(units: str) -> str:
    """Return a sentence stating that a difference was not confirmed for other units, such as other templates."""
    return f"The difference was not confirmed for similar {units}."


FAILURES = {
    "missing": ("Responses were missing or unusable", "Rates of missing or unusable responses"),
    "refusal": ("The model refused", "Refusal rates"),
}
"""Words for the event, and for its rates, by type of failure."""
FAILURE_PARTS = {"missing": "missing responses", "refusal": "refusals"}
"""Words after the axis in the heading of the verdict, by type of failure."""


def failures(
    what: str, groups: Sequence[str], largest: Estimate, rates: tuple[GroupRate, GroupRate] | None = None
) -> str:
    """Return a sentence stating for which groups responses failed more often.

    Parameters
    ----------
    what
        Words for the event, as in FAILURES.
    groups
        Names of the groups, the one with the largest difference first.
    largest
        Difference of the first group from those that it is compared with.
    rates
        Rates of the first group and of those that it is compared with. None if their difference is not `largest`.
    """
    places = places_of_rates(largest)
    if rates is not None:
        first, others = (percent(side.rate or 0.0, places) for side in rates)
        shown = f"in {first} of cases, against {others} for {rates[1].name}"
        size = f"difference {difference_in_points(largest, places)}"
        if len(groups) == 1:
            return f"{what} more often for {groups[0]}: {shown} ({size})."
        return (
            f"{what} more often for {name_list(groups)}. Largest difference: {groups[0]}, {shown} ({size})."
        )
    interval = ci(largest.low, largest.high, places)
    size = f"{points(largest.value, places)} more often than for the other groups, {interval}"
    first = "" if len(groups) == 1 else f"largest difference: {groups[0]}, "
    return f"{what} more often for {name_list(groups)} ({first}{size})."


def failures_without_group(rates: str, spread: Estimate) -> str:
    """Return a sentence stating that rates of failures differ between groups, but no single group can be named.

    rates: words for the rates, as in FAILURES.
    """
    return (
        f"{rates} differ between groups ({_standard_deviation(spread)}), but no single group can be named with "
        "confidence."
    )


def differing(what: str, unit: str, estimate: Estimate) -> str:
    """Return a sentence with the finding of a measure of an axis as a whole.

    what: subject and verb, such as "Styles differ". unit: name of the estimate.

    >>> differing("Styles differ", "variance", Estimate(0.0213, 0.0121, 0.0342))
    'Styles differ (variance 0.021, 95% CI 0.012 to 0.034).'
    """
    places = clear_places(
        (estimate.low, estimate.high), decimals([estimate.value, estimate.low, estimate.high])
    )
    return f"{what} ({unit} {number(estimate.value, places)}, {ci(estimate.low, estimate.high, places)})."


def _sides(condition: str) -> tuple[str, str]:
    """Return the words for more and for fewer of the counted responses. condition: as in `RateWords`."""
    if condition:
        return f"More responses {condition}", f"Fewer responses {condition}"
    return "Treated worse", "Treated better"


def _with_rates(groups: Sequence[GroupRate]) -> str:
    places = _places([group.rate for group in groups if group.rate is not None])
    texts = [
        group.name if group.rate is None else f"{group.name} ({percent(group.rate, places)})"
        for group in groups
    ]
    return name_list(texts)


def _places(rates: Sequence[float]) -> int:
    return 0 if max(rates, default=0.0) >= 10 else 1


def _standard_deviation(spread: Estimate) -> str:
    places = clear_places((spread.low, spread.high), 1)
    return f"standard deviation {points(spread.value, places)}, {ci(spread.low, spread.high, places)}"
