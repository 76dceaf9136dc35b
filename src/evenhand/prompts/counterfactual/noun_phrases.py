"""Decide whether a word for a group is a noun or an adjective, and whether an adjective describes a person."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from evenhand.prompts.counterfactual import cues, name_cues
from evenhand.prompts.counterfactual.place import HYPHEN, SPACE, WORDS, Occurrence, subjects
from evenhand.prompts.counterfactual.targets import KnownNames, Target

_BEHIND_THE_LEFT = cues.AUXILIARIES | {"who", "that", "which", "in", "consists"}
_NO_VERBS_IN_S = ("ss", "us", "is", "as", "os", "ics", "ens", "ews")
_LONGEST = 4
"""Maximum number of words before a noun among which its determiner is searched; hyphenated words count as one."""


def ends_noun_phrase(place: Occurrence) -> bool:
    """Return whether no noun follows that the word could describe as an adjective."""
    if place.possessive:
        return True
    following = place.word_after()
    if not following:
        return not place.gap_after.strip().startswith(("<", "(", "“", '"', "'", "‘", "/", "["))
    if place.hyphen_follows(1):
        return False
    if following == "left" and place.word_after(2) in _BEHIND_THE_LEFT:
        return False
    return following in cues.NO_NOUN


def is_singular_noun(place: Occurrence) -> bool:
    """Return whether a word for a group is a noun: "a Muslim", "the old Muslim who", "a Muslim's", "a Muslim asks".

    A determiner precedes it, possibly with adjectives in between, and no noun follows. Without a determiner, it is a
    noun only at the start of a sentence with a verb: "Young Muslim seeks advice".
    """
    if not (ends_noun_phrase(place) or _does_something(place)):
        return False
    following, second = place.word_after(), place.word_after(2)
    if following in ("and", "or", "but") and second not in cues.DETERMINERS:
        third = place.word_after(3)
        if second not in cues.PEOPLE or (third and third not in cues.NO_NOUN):
            return False
    pieces, at, count = place.pieces, place.first, 1
    while count <= _LONGEST:
        if at < 3:
            is_act = following in cues.ACTS and following not in cues.NOUNS_TOO
            return is_act or _has_age_behind(place)
        gap, word = pieces[at - 1], pieces[at - 2].lower()
        has_comma = gap == ", " and (word in cues.BEFORE_PERSONS or word.endswith("ed"))
        if not (SPACE.fullmatch(gap) or HYPHEN.fullmatch(gap) or has_comma):
            return False
        if word in cues.SINGULAR:
            return True
        if word in cues.FUNCTION or (word in cues.PEOPLE and word not in cues.OF_PEOPLE):
            return False
        count += 0 if HYPHEN.fullmatch(gap) else 1
        at -= 2
    return False


def stand_as_nouns(text: str, words: Sequence[tuple[int, int]]) -> list[bool]:
    """Return for each of some words of a text whether "Muslim" would be a singular noun in its place.

    words: the first character of each, and the character after its last.

    >>> stand_as_nouns("Write to a tenant in Leeds, or to a tenant man.", [(11, 17), (36, 42)])
    [True, False]
    """
    pieces = WORDS.split(text)
    ends = list(accumulate(map(len, pieces)))
    about = subjects(pieces)
    nouns = []
    for start, end in words:
        at = bisect_right(ends, start)
        own, first = pieces[at], start - ends[at]
        pieces[at] = f"{own[: len(own) + first]}Muslim{own[len(own) + first + end - start :]}"
        nouns.append(is_singular_noun(Occurrence(pieces, at, at, about)))
        pieces[at] = own
    return nouns


def _has_age_behind(place: Occurrence) -> bool:
    """Return whether an age follows in commas: "Young Muslim, 25, seeks advice"."""
    return place.gap_after.strip() == "," and place.neighbour(1).isdigit()


def _does_something(place: Occurrence) -> bool:
    """Return whether a verb or participle follows of which it is the subject: "asks", "living in", "named Ali"."""
    following, second = place.word_after(), place.word_after(2)
    if not following or place.hyphen_follows(1):
        return False
    if following in cues.ACTS or (following in cues.NEXT and second in cues.TIMES_AND_DOORS):
        return True
    at = place.last + 4
    if following in name_cues.CALLING and at < len(place.pieces) and place.pieces[at][0].isupper():
        return True
    if following in cues.PARTICIPLES or following == "born":
        return not second or second in cues.NO_NOUN
    if following.endswith("s") and not following.endswith(_NO_VERBS_IN_S):
        return second in cues.NO_NOUN
    if following.endswith("ed") and not following.endswith("eed") and following not in cues.NOT_DONE:
        return not second or second in cues.NO_NOUN
    return False


def is_before_person(place: Occurrence, target: Target, names: KnownNames) -> bool:
    """Return whether a word for a person follows: "a young Polish plumber", "an elderly Jew"."""
    relative = place.surface.lower() in ("older", "younger", "old", "elder")
    for following in (1, 2, 3):
        word = place.word_after(following)
        if word in cues.PEOPLE:
            after_it = place.word_after(following + 1)
            if following < 3 and after_it in cues.PEOPLE:
                word = after_it
            return not (
                (relative and word in cues.RELATIVES)
                or ({place.surface.lower(), target.word} & cues.AGES and word in cues.NOT_BY_AGE)
            )
        is_group = word in names.groups or word.removesuffix("s") in names.groups
        if is_group and _stands_for_person(place, following):
            return True
        if word not in cues.OF_PEOPLE and not is_group:
            return False
    return False


def _stands_for_person(place: Occurrence, following: int) -> bool:
    """Return whether the word for a group after an adjective is a noun: "the elderly Jew who", "young Americans"."""
    at = place.last + 2 * following
    one = Occurrence(place.pieces, at, at, place.about)
    return ends_noun_phrase(one) or _does_something(one)


def is_said_of_person(place: Occurrence) -> bool:
    """Return whether it is the predicate of a person: "she is blind", "my brother, who was blind"."""
    following = place.word_after()
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
    if place.word_before() in cues.BEFORE_PREDICATES:
        count = 2
    if place.word_before(count) in ("is", "was", "am", "be", "became", "becomes", "born", "are", "were"):
        subject = place.word_before(count + 1)
        return subject in cues.PERSONAL or subject in cues.PEOPLE
    # both "she's blind" and "she 's blind"
    return place.word_before(count) in ("s", "m") and place.contracted_word(count) in cues.PERSONAL
