"""Sentences on the evidence behind a finding: the classifier, missing responses, the reference, the sample."""

from evenhand.reports.sentences.slots import count, number_of_points, percent

CORRECTED = "Rates are corrected for the classifier's known errors."
CORRECTED_EQUALLY = (
    "Rates are corrected for the classifier's known errors, which are assumed to be equal for all groups."
)
NO_COMMON_LEVEL = "No group is named, because about as many groups differ as do not."
ADJUSTED_FOR_PAIR = "adjusted for choosing this pair"
"""Explains why the CI of the largest gap is wider than that of the same pair of groups in a table."""
CLASSIFIER, JUDGEMENTS = "the classifier's false-positive rate", "the false-positive rate of the judgements"
"""Source of errors that could explain a finding: a classifier, or the judgements in a user's own responses."""


def reference_groups(reference: int, what: str) -> str:
    """Return a sentence on the comparison groups, if they are not all other groups."""
    return f"the {reference} {what} that do not stand out"


def undecided_side(named: int, reference: int, what: str) -> str:
    """Return a sentence stating that the data do not show which side is treated differently."""
    these = "this one is" if named == 1 else f"these {named} {what} are"
    return f"This comparison cannot decide whether {these} treated differently or the other {reference}."


def robustness(size: float, group: str, than: str, *, worse: bool, judge: str = CLASSIFIER) -> str:
    """Return a sentence on how large the classifier's error about a group would have to be to explain the finding.

    Parameters
    ----------
    size
        Size of the error in percentage points.
    group, than
        The group, and the comparison group or groups.
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
    """Return a sentence on how the missing responses would have to be distributed to explain the finding.

    share: in percent. condition: what is counted, such as "with rating of 7 or more", if there is no label.
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
    """Return a sentence stating that only a sample was tested; empty if everything was.

    >>> sample(8, 121), sample(8, 8)
    ('Tested on a sample of 8 of 121 descriptors.', '')
    """
    if not drawn or not defined or drawn >= defined:
        return ""
    return f"Tested on a sample of {drawn:,} of {count(defined, what)}."


def only_read(more: str, most: float, fewer: str, least: float, about: str = "for") -> str:
    """Return a sentence stating that a comparison covers only readable responses, if groups differ in their share."""
    return (
        f"This comparison covers only the responses that could be read: {percent(most)} are missing {about} {more} and "
        f"{percent(least)} {about} {fewer}."
    )
