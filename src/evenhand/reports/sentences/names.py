"""Sentences on conversations that first names open: what shows the gender of the name, and which words differ."""

from collections.abc import Mapping, Sequence

from evenhand.reports.sentences.slots import (
    Estimate,
    capitalised,
    ci,
    clear_places,
    people,
    plain_number,
    points,
)
from evenhand.reports.sentences.verdicts import joined
from evenhand.reports.wording import number


def gender_inferred(opener: str, above_chance: Estimate) -> str:
    """Return a sentence stating that a classifier infers the gender of the opener from the rest of the conversation.

    opener: what shows the gender, such as "the name". above_chance: difference from chance in points. If it is
    negative, the sentence states that the classifier infers the other gender.
    """
    size = above_chance.size
    places = clear_places((size.low, size.high), 1)
    below = above_chance.value < 0
    which = "infers the other gender than that of" if below else "can infer the gender of"
    where = "below" if below else "above"
    return (
        f"A classifier {which} {opener} from the conversation ({points(size.value, places)} {where} chance, "
        f"{ci(size.low, size.high, places)})."
    )


def word_use_differs(women: str, men: str, distance: Estimate, words: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence stating that word use differs between conversations.

    women, men: openers of the conversations, such as "women's names"; "" if gender and race were compared. distance:
    word distance. words: typical words of each group.
    """
    by = (
        f"conversations opened by {women} and by {men}"
        if women
        else "the genders and races of the opener's name"
    )
    marked = [f"{capitalised(people(group))}: {', '.join(named)}" for group, named in words.items()]
    return joined(
        f"Word use differs between {by} (word distance {distance_text(distance)}; 0: the same words)", *marked
    )


def distance_text(distance: Estimate) -> str:
    """Return a distance with its interval.

    >>> distance_text(Estimate(0.0312, 0.0224, 0.0401))
    '0.031, 95% CI 0.022 to 0.040'
    """
    places = clear_places((distance.low, distance.high), 3)
    return f"{number(distance.value, places)}, {ci(distance.low, distance.high, places)}"


def words_worse_than_chance() -> str:
    """Return sentences stating that the words fit the genders worse than by chance, which is not a sign of bias."""
    return "Words fit the genders worse than by chance. No bias explains this; check the table of words."


def occupations_differ(women: str, men: str, lean: Estimate) -> str:
    """Return a sentence on the share of women in the occupations that conversations of each gender's names mention."""
    size = lean.size
    places = clear_places((size.low, size.high), 0)
    which = "more" if lean.value > 0 else "fewer"
    return (
        f"Conversations opened by {women} mention occupations in which {which} women work than conversations opened by "
        f"{men} (difference {points(size.value, places)}, {ci(size.low, size.high, places)})."
    )


def conversations_compared(compared: int, conversations: int) -> str:
    """Return a sentence on the number of conversations that were compared; "" if all were."""
    if compared >= conversations:
        return ""
    return (
        f"Genders are compared in {compared:,} of {conversations:,} conversations, so that each race has the same "
        "share "
        "in both genders."
    )


def detectable_above_chance(smallest: float | None, unit: str) -> str:
    """Return the minimum detectable effect in words; empty if it is unknown. unit: such as "{} points or more"."""
    if smallest is None:
        return ""
    return unit.format(plain_number(smallest))
