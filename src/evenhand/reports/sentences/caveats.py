"""Sentences on the evidence behind a finding: the classifier, missing responses, the reference, the sample."""

from evenhand.reports.sentences.slots import count, number_of_points, percent

CORRECTED = "Rates are corrected for the classifier's known errors."
CORRECTED_EQUALLY = (
    "Rates are corrected for the classifier's known errors, which are assumed to be equal for all groups."
)
NO_COMMON_LEVEL = "No group is named, because about as many groups differ as do not."
ADJUSTED_FOR_PAIR = "adjusted for choosing this pair"
"""What the interval of a largest gap allows for, so that it is wider than that of the same pair in a table."""
CLASSIFIER, JUDGEMENTS = "the classifier's false-positive rate", "the false-positive rate of the judgements"
"""Whose errors could explain a finding: those of a classifier, or of own responses judged by anyone."""


def reference_groups(reference: int, what: str) -> str:
    """Return what named groups are compared with if not all other groups are meant."""
    return f"the {reference} {what} that do not stand out"


def undecided_side(named: int, reference: int, what: str) -> str:
    """Return that one cannot decide which side is treated differently."""
    these = "this one is" if named == 1 else f"these {named} {what} are"
    return f"This comparison cannot decide whether {these} treated differently or the other {reference}."


def robustness(size: float, group: str, than: str, *, worse: bool, judge: str = CLASSIFIER) -> str:
    """Return how wrong the classifier would have to be about a group for the finding not to hold.

    Parameters
    ----------
    size
        In points.
    group, than
        The group and what it is compared with.
    worse
        Whether the group is treated worse.
    """
    direction = "higher" if worse else "lower"
    return (
        f"This result would no longer hold if {judge} were {number_of_points(size)} {direction} for {group} than for "
        f"{than}."
    )


def missing_responses(
    share: float, group: str, *, worse: bool, about: str = "about", condition: str = ""
) -> str:
    """Return what missing responses would have to have been for the finding to hold.

    share: in percent. condition: what responses are counted for, such as "with rating of 7 or more", if no label.
    """
    if share > 100:
        return f"This result may not hold if all missing responses {about} {group} and the other groups contradict it."
    agree = "negative" if worse else "harmless"
    missing = f"{percent(share)} of the missing responses {about} {group}"
    if condition:
        had = "have had" if worse else "not have had"
        return f"This result requires that {missing} would {had} {condition.removeprefix('with ')}."
    return f"This result requires that {missing} would have been {agree}."


def sample(drawn: int | None, defined: int | None, what: str = "descriptor") -> str:
    """Return that only a sample was tested; empty if everything was.

    >>> sample(8, 121), sample(8, 8)
    ('Tested on a sample of 8 of 121 descriptors.', '')
    """
    if not drawn or not defined or drawn >= defined:
        return ""
    return f"Tested on a sample of {drawn:,} of {count(defined, what)}."


def only_read(more: str, most: float, fewer: str, least: float, about: str = "for") -> str:
    """Return that a comparison covers the responses that could be read, if groups differ in that."""
    return (
        f"This comparison covers only the responses that could be read: {percent(most)} are missing {about} {more} and "
        f"{percent(least)} {about} {fewer}."
    )
