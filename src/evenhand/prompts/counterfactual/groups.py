"""Whether a word for a group is used of people: religions, nations, and adjectives that have other senses besides.

Each function answers with the counterpart that fits there, an adjective or a noun, or None where the word is to stay.
"""

from evenhand.prompts.counterfactual import cues
from evenhand.prompts.counterfactual.place import Place
from evenhand.prompts.counterfactual.targets import Names, Target

FIRST_NAMES = ("Christian", "Maya")
"""Groups that are first names, too."""


def group(place: Place, target: Target, names: Names, languages: frozenset[str]) -> str | None:
    """Groups with capitals (religions, nations): adjectives and nouns, not parts of names, not languages."""
    if not _free_of_names(place, names):
        return None
    if place.hyphen_after and place.after_hyphen() in ("speaking", "language"):
        return None
    if place.surface.lower() in languages and _is_language(place):
        return None
    if place.after() in cues.FIXED_AFTER or (place.surface in FIRST_NAMES and is_first_name(place)):
        return None
    if place.hyphen_after or place.cut:
        return target.word
    joined = (
        place.after() in ("and", "or") and place.after(2) in names.groups and not place.after(2).endswith("s")
    )
    if place.before() == "the" and place.before(2) in names.first:
        return None  # John the Baptist
    if place.surface == "New Zealand" and _ends_noun_phrase(place):
        return None
    if target.nouns and not joined and _stands_for_people(place):
        return target.nouns
    if target.noun and (_is_singular_noun(place) or (place.before() == "fellow" and place.capital_after)):
        return target.noun
    return target.word


def group_noun(place: Place, target: Target, names: Names) -> str | None:
    """Groups with capitals, as nouns: "Muslims", "Poles", "Islam"."""
    if place.case == "lower" and place.before() in ("egg", "the") and place.surface == "whites":
        return None
    return target.word if _free_of_names(place, names) else None


def of_person(place: Place, target: Target, names: Names) -> str | None:
    """Adjectives that say something of a person beside other senses: "a white man", "she is blind"."""
    if place.case == "title" and (
        (place.capital_after and place.capital_after not in names.groups)
        or (place.capital_before and place.capital_before not in names.groups)
    ):
        return None
    if place.hyphen_after or place.before() in cues.SPANS_OF_TIME:
        return None
    if place.hyphen_before and place.before_hyphen() not in ("non", "half"):
        return None
    return target.word if _before_person(place, target) or _said_of_person(place) else None


def _free_of_names(place: Place, names: Names) -> bool:
    """Whether a capitalised group is not part of a longer name ("American Airlines", "West German Radio")."""
    word = place.surface.lower()
    if (place.neighbour(-1), word.removesuffix("s")) in names.compounds:
        return False
    if (word, place.neighbour(1).removesuffix("s")) in names.compounds:
        return False
    if place.hyphen_before and place.before_hyphen() == "all":
        return False
    if place.case == "upper":
        return True
    if place.hyphen_before and len(place.before_hyphen()) == 1:
        return False
    if place.in_title or place.in_capitals or (place.capital_before and place.gap_after.strip() == ":"):
        return False  # the Nation of Islam; "Conservative Judaism: A History"
    if place.gap_after.startswith(" <") and place.no_person:
        return False
    before, after = place.capital_before, place.capital_after
    if before and before not in names.groups and not place.hyphen_before:
        weak = place.opener_before and before not in cues.BEFORE_PEOPLES and before not in names.first
        if not weak:
            return False
    if after and not after[0].isdigit() and after not in names.groups and after not in names.first:
        return False
    return not (after and after[0].isdigit())


def _stands_for_people(place: Place) -> bool:
    """Whether an adjective that no one is called by stands for the people: "the British retreated", "37 Japanese"."""
    ends = _ends_noun_phrase(place)
    if place.before() == "the" or (place.before(2) == "the" and ends and place.before() in cues.OF_THE):
        following = place.after()
        return ends or (following.endswith("ed") and following not in cues.NOT_DONE)
    if not ends or place.before() in cues.COPULAS:
        return False
    counted = place.before().isdigit() or place.before() in cues.COUNTED
    return (
        counted
        or place.after() in cues.OF_SEVERAL
        or place.after() in ("only", "also", "often", "never", "who")
    )


def is_first_name(place: Place) -> bool:
    """Whether "Christian" does something, without an article: "Christian transferred to Boston"."""
    acts = place.after() in cues.VERBS or place.after() in ("is", "was", "has", "had", "the")
    acts = acts or place.after().endswith("ed")
    return (acts or place.possessive) and place.before() in ("", *cues.JOINTS)


def _is_language(place: Place) -> bool:
    if place.after() in cues.LANGUAGE_AFTER or place.possessive:
        return place.after() in cues.LANGUAGE_AFTER
    if place.gap_before.endswith("(") and place.gap_after.strip() == ":":
        return True  # "(German: Haus)"
    ends = _ends_noun_phrase(place)
    if place.before() in cues.LANGUAGE_BEFORE or (
        place.before() in ("from", "of", "to", "and")
        and place.before(2) in cues.LANGUAGE_BEFORE | {"translation"}
    ):
        return ends
    # "German is her first language": a singular without article
    return (ends and place.opens and not place.before()) and place.after() in ("is", "was", "has", "belongs")


def _ends_noun_phrase(place: Place) -> bool:
    """Whether no noun follows, for which the word would be an adjective."""
    if place.possessive:
        return True
    following = place.after()
    if not following:
        return not place.gap_after.strip().startswith(("<", "(", "“", '"', "'", "‘", "/", "["))
    if place.hyphen_follows(1):
        return False
    return following in cues.FUNCTION or following in cues.ADVERBS or following in cues.VERBS


def _is_singular_noun(place: Place) -> bool:
    """Whether an adjective is used as a noun: "a Muslim", "the old Muslim who", "a Muslim's".

    A determiner stands before it, with at most two adjectives between, and no noun follows.
    """
    if not _ends_noun_phrase(place) or (
        place.after() in ("and", "or", "but") and place.after(2) not in cues.DETERMINERS
    ):
        return False
    for count in (1, 2, 3):
        word = place.before(count)
        if word in cues.SINGULAR:
            return not (word == "the" and count == 1 and place.after() in cues.OF_SEVERAL)
        if not word or word in cues.FUNCTION:
            return False
    return False


def _before_person(place: Place, target: Target) -> bool:
    following = 1
    relative = place.surface.lower() in ("older", "younger", "old", "elder")
    while following <= 3:
        word = place.after(following)
        if word in cues.PEOPLE:
            after_it = place.after(following + 1)
            if following < 3 and after_it in cues.PEOPLE:
                word = after_it
            return not (
                (relative and word in cues.RELATIVES)
                or ({place.surface.lower(), target.word} & cues.AGES and word in cues.NOT_BY_AGE)
            )
        if word not in cues.OF_PEOPLE:
            return False
        following += 1
    return False


def _said_of_person(place: Place) -> bool:
    """Whether a verb says it of somebody: "she is blind", "my brother, who was blind"."""
    following = place.after()
    if (following and following not in cues.FUNCTION) or following in (
        "to",
        "for",
        "with",
        "about",
        "of",
        "on",
    ):
        return False
    count = 1
    if place.before() in cues.BEFORE_PREDICATES:
        count = 2
    if place.before(count) in ("is", "was", "am", "be", "became", "becomes", "born", "are", "were"):
        subject = place.before(count + 1)
        return subject in cues.PERSONAL or subject in cues.PEOPLE
    # "she's blind", "she 's blind"
    return place.before(count) in ("s", "m") and place.contracted(count) in cues.PERSONAL
