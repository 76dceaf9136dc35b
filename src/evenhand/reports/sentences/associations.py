"""Sentences on frequency and treatment: whether descriptors that are more frequent in a corpus are treated better."""

from collections.abc import Sequence

from evenhand.reports.sentences.slots import capitalised, name_list, uncapitalised
from evenhand.reports.sentences.verdicts import full_stop

QUESTION = "Are groups that are mentioned more often treated better?"
LIKELIHOOD = (
    "Likelihood follows frequency in every model that has learnt from its data. This alone is not a bias."
)
NO_KINDER_SIDE = "For this outcome, neither direction is kinder."
NOT_HERE = "This run has no outcome with a kinder side."


def answer(better: Sequence[str], worse: Sequence[str], unseen: Sequence[str], *, asked: bool) -> str:
    """Return the sentence on whether more frequent groups are treated better.

    better, worse: outcomes by which more frequent groups are treated better or worse. unseen: outcomes without a
    detected association. asked: whether any outcome of treatment was analysed.
    """
    if better and worse:
        found = f"Better by {name_list(better, len(better))}, worse by {name_list(worse, len(worse))}."
    elif better or worse:
        named = better or worse
        found = f"{'Yes' if better else 'No, worse'}, by {name_list(named, len(named))}."
    elif unseen:
        found = f"No association detected for {name_list(unseen, len(unseen))}."
    else:
        found = "Not measurable." if asked else NOT_HERE
    return f"{QUESTION} {found}"


def related(name: str, outcome: str, correlation: str, interval: str, chance: str, *, rises: bool) -> str:
    """Return a sentence stating that an outcome is associated with frequency.

    name: the outcome. correlation, interval, chance: rank correlation, its 95% CI, and the largest correlation that is
    expected by chance.
    """
    way = "higher" if rises else "lower"
    return (
        f"{capitalised(name)}: more frequent descriptors have {way} {outcome} within their axis (rank correlation "
        f"{correlation}, {interval}; by chance alone up to {chance})."
    )


def not_related(name: str, correlation: str, interval: str, smallest: str, *, within_chance: bool) -> str:
    """Return a sentence stating that no association was detected. smallest: the minimum detectable correlation."""
    chance = "; over all tested outcomes, this is within chance" if within_chance else ""
    return (
        f"{capitalised(name)}: no association with frequency detected (rank correlation {correlation}, {interval}"
        f"{chance}). This study had 80% power to detect a correlation of {smallest} or more."
    )


def not_measurable_association(name: str, reason: str) -> str:
    """Return a sentence stating that an association is not measurable, and why."""
    return f"{capitalised(name)}: not measurable: {full_stop(uncapitalised(reason))}"


def treated_kindly(*, more: bool) -> str:
    """Return sentences on what an association means.

    more: whether descriptors that are more frequent are treated more kindly.
    """
    return (
        f"The model treats descriptors that are more frequent in this corpus {'more' if more else 'less'} kindly. "
        "This is "
        "an association, not a causal effect."
    )


def near_people(correlation: str, *, same: bool) -> str:
    """Return a sentence on the association if only documents with a word for people near the descriptor are counted.

    correlation: text with the correlation in these documents. same: whether it shows the same association.
    """
    holds = "the association is the same" if same else "the association is not significant"
    return f" If only documents with a word for people near the descriptor count, {holds} ({correlation})."


def near_people_unknown(reason: str) -> str:
    """Return a sentence stating that `near_people` is not measurable, and why."""
    return f" For documents with a word for people near the descriptor: {uncapitalised(reason) or 'not measurable.'}"
