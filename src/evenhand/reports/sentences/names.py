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
    """Return that a classifier infers the gender of the opener, or the other gender, from the conversation.

    opener: what shows the gender, such as "the name".
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
    """Return that word use differs between conversations. women, men: what opened them. words: of each gender."""
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
    """Return that words fit the genders worse than by chance, which no bias explains."""
    return "Words fit the genders worse than by chance. No bias explains this; check the table of words."


def occupations_differ(women: str, men: str, lean: Estimate) -> str:
    """Return in which conversations occupations with more women are mentioned."""
    size = lean.size
    places = clear_places((size.low, size.high), 0)
    which = "more" if lean.value > 0 else "fewer"
    return (
        f"Conversations opened by {women} mention occupations in which {which} women work than conversations opened by "
        f"{men} (difference {points(size.value, places)}, {ci(size.low, size.high, places)})."
    )


def conversations_compared(compared: int, conversations: int) -> str:
    """Return how many conversations were compared, if not all were."""
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
