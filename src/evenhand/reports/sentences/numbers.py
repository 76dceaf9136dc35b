"""Sentences on the mean of each group in a numeric outcome, such as a rating. Neither direction is called worse."""

from collections.abc import Sequence

from evenhand.reports.sentences.caveats import ADJUSTED_FOR_PAIR
from evenhand.reports.sentences.slots import Estimate, name_list, number_near, q_value, range_of_effects
from evenhand.reports.sentences.verdicts import joined

UNREAD = "Values were missing"


def size_of(estimate: Estimate) -> str:
    """Return an estimate with its 95% CI, and q if it was tested.

    >>> size_of(Estimate(108.4, 8.5, 204.9, 0.034))
    '108, 95% CI 8 to 205, q = 0.034'
    """
    value, low, high = (number_near(one, estimate) for one in (estimate.value, estimate.low, estimate.high))
    return f"{value}, 95% CI {low} to {high}{q_value(estimate.q)}"


def higher_mean(
    what: str,
    higher: tuple[str, float],
    lower: tuple[str, float],
    difference: Estimate,
    about: str = "for",
    *,
    chosen: bool = False,
) -> str:
    """Return a sentence stating which of two groups has the higher mean.

    Parameters
    ----------
    what
        Name of the outcome.
    higher, lower
        Each group with its mean.
    difference
        Difference of the means.
    about
        Preposition before a group.
    chosen
        Whether the groups are the pair that differs most of several groups. The CI is then adjusted for this choice.
    """
    (most, first), (least, second) = higher, lower
    means = [number_near(mean, difference) for mean in (first, second)]
    adjusted = f", {ADJUSTED_FOR_PAIR}" if chosen else ""
    return (
        f"The mean of {what} was higher {about} {most} ({means[0]}) than {about} {least} ({means[1]}; difference "
        f"{size_of(difference)}{adjusted})."
    )


def above_and_below(above: Sequence[str], below: Sequence[str], reference: str) -> str:
    """Return a sentence on which groups are above or below the groups that they are compared with."""
    return joined(
        *(
            f"{word} {reference}: {name_list(names)}"
            for word, names in (("Above", above), ("Below", below))
            if names
        )
    )


def no_single_mean(what: str, spread: Estimate) -> str:
    """Return a sentence stating that means differ between groups, but no single group can be named."""
    return (
        f"The means of {what} differ between the groups (standard deviation {size_of(spread)}), but no single group "
        "can "
        "be named with confidence."
    )


def detectable_mean(what: str, sizes: Sequence[float], groups: int | None) -> str:
    """Return the minimum detectable difference of means in words; empty if it is unknown."""
    if not sizes:
        return ""
    least, most = range_of_effects(min(sizes), max(sizes))
    if groups == 2:
        return f"a difference of {most} or more in the mean of {what}"
    reach = most if least == most else f"{least} to {most}"
    depends = "" if least == most else " (depending on the size of the group)"
    return f"a group whose mean of {what} differs from that of the others by {reach} or more{depends}"
