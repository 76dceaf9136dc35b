"""Sentences on human evaluations: preferences between models, and ratings of models or groups."""

from collections.abc import Sequence

from evenhand.reports.sentences.slots import count, name_list, uncapitalised
from evenhand.reports.sentences.verdicts import full_stop

STUDY = "human evaluation"
NOTHING = "the minimum detectable effect could not be computed"


def preferred(asked: str, model: str, against: str, share: str) -> str:
    """Return a sentence on which model was preferred. share: "63% of 160 judgements (95% CI 54 to 71, q = 0.004)"."""
    return f"{asked}: {model} was preferred to {against} in {share}."


def no_preference(asked: str, model: str, against: str, share: str, power: str) -> str:
    """Return a sentence stating that no preference was detected. power: as `power_of_share` gives it."""
    return f"{asked}: no preference between {model} and {against} detected. {model} was preferred in {share}. {power}"


def not_measurable_for(asked: str, whom: str, reason: str) -> str:
    """Return a sentence stating that a comparison is not measurable, and why. whom: such as "A and B"."""
    return f"{asked}: not measurable for {whom}: {full_stop(uncapitalised(reason))}"


def power_of_share(points: str, share: tuple[str, str] | None = None) -> str:
    """Return a sentence on the minimum detectable preference.

    points: its distance from 50%; "" if it is unknown. share: text with the detectable share of preferences for a
    model.
    """
    if not points:
        return f"In this {STUDY}, {NOTHING}."
    if share is None:
        return f"This {STUDY} had 80% power to detect a preference of {points} points or more from 50%."
    return f"This {STUDY} had 80% power to detect a preference of {share[0]} or more for either model."


def power_of_difference(size: str, without: int = 0, comparisons: int = 0) -> str:
    """Return a sentence on the minimum detectable difference of ratings.

    size: the difference; "" if it is unknown. without: number of the `comparisons` for which it is unknown.

    >>> power_of_difference("10.0 points", 1, 2)
    'This human evaluation had 80% power to detect a difference of 10.0 points or more (unknown in 1 of 2 comparisons).'
    """
    if not size:
        return f"In this {STUDY}, {NOTHING}."
    unknown = f" (unknown in {without:,} of {comparisons:,} comparisons)" if without else ""
    return f"This {STUDY} had 80% power to detect a difference of {size} or more{unknown}."


def no_difference(asked: str, between: str, power: str, largest: str = "", few: int = 0) -> str:
    """Return a sentence stating that no difference was detected.

    asked: the question. between: what was compared. power: as `power_of_difference` returns it. largest: the largest
    observed difference, or "". few: number of pairs that are not measurable.
    """
    seen = f" (largest observed: {largest})" if largest else ""
    pairs = (
        f" {count(few, 'pair is', 'pairs are')} not measurable: too few annotators or items." if few else ""
    )
    return f"{asked}: no difference between {between} detected{seen}. {power}{pairs}"


def preferred_within(asked: str, model: str, against: str, where: Sequence[str], levels: int) -> str:
    """Return a sentence on the levels of a variable within which a model was preferred.

    where: these levels. levels: number of all levels.
    """
    within = f"{name_list(where, len(where))}, of {count(levels, 'level')}"
    return f"{asked}: {model} was preferred to {against} within {within}."


def no_preference_within(asked: str, between: str, levels: int, power: str, without: int) -> str:
    """Return a sentence stating that no preference was detected within any level.

    without: number of levels for which the minimum detectable preference is unknown.
    """
    unknown = f" It is unknown for {count(without, 'level')}." if without else ""
    return f"{asked}: no preference between {between} detected within any of {count(levels, 'level')}. {power}{unknown}"


def all_excluded(annotators: int) -> str:
    """Return a sentence stating that there are no judgements to analyse, because all annotators were excluded."""
    whom = "the only annotator was" if annotators == 1 else f"all {annotators:,} annotators were"
    return f"No judgements to analyse: {whom} excluded."


def nothing_to_compare(*, groups: bool) -> str:
    """Return a sentence stating that no question was answered for two models (or groups)."""
    return f"Nothing to compare: no question was answered for two or more models{' or groups' if groups else ''}."


def counted(found: int, detected: int, total: int, sentence: str, what: str) -> str:
    """Return a sentence on the number of comparisons in which something was detected.

    found: number of comparisons with a finding. detected: number of measurable comparisons without a finding. total:
    number of all comparisons. sentence: what a finding means. what: what was not detected, such as a preference.
    """
    where = "the one comparison" if total == 1 else f"any of {total:,} comparisons"
    if found:
        return f"{sentence}." if total == 1 else f"{sentence} in {found:,} of {total:,} comparisons."
    if detected:
        return f"No {what} detected in {where}."
    return f"Not measurable in {where}: {what}."


def error_control(kinds: Sequence[str], between: str, chance: str, *, weighted: bool) -> str:
    """Return a sentence on the false-positive rate: how often a study without any difference reports one.

    kinds: types of comparisons, for each of which the rate is controlled separately. between: what is compared. chance:
    the rate. weighted: whether judgements have unequal weights.
    """
    each = {1: "", 2: " (for each of the two separately)"}.get(
        len(kinds), " (for each of the three separately)"
    )
    weights = (
        " Weighted: several judgements of one annotator, or about one item, have less weight."
        if weighted
        else ""
    )
    named = " or in the ".join(kinds)
    return (
        f"If annotators saw no difference between {between}, at most {chance} of studies would report a difference in "
        f"the {named}{each}.{weights}"
    )
