"""Decide whether a word for a group refers to people: religions, nations, and adjectives with other senses.

Each function returns the counterpart that fits, an adjective or a noun, or None if the word does not change.
"""

from evenhand.prompts.counterfactual import cues
from evenhand.prompts.counterfactual.noun_phrases import (
    ends_noun_phrase,
    is_before_person,
    is_said_of_person,
    is_singular_noun,
)
from evenhand.prompts.counterfactual.place import Occurrence
from evenhand.prompts.counterfactual.targets import KnownNames, Target

FIRST_NAMES = ("Christian", "Maya")
"""Groups whose names are also first names."""


def group(place: Occurrence, target: Target, names: KnownNames, languages: frozenset[str]) -> str | None:
    """Return the counterpart of a capitalised group (religion, nation), unless it is part of a name or a language."""
    if not _free_of_names(place, names):
        return None
    if place.hyphen_after and place.after_hyphen() in ("speaking", "language"):
        return None
    if place.surface.lower() in languages and _is_language(place):
        return None
    if not languages and place.word_after() in ("language", "languages", "dialect", "dialects"):
        return None
    if _is_fixed(place) or (place.surface in FIRST_NAMES and is_first_name(place)):
        return None
    if place.ends_unfinished and not any(place.word_before(count) in cues.BEFORE_CUT for count in (1, 2, 3)):
        return None  # the missing rest may be a title or a language
    if place.surface == "New Zealand" and ends_noun_phrase(place):
        return None
    if place.gap_before == "> " and place.gap_after.strip() == ",":
        return None  # after a hidden word, it may be a surname
    if place.hyphen_after or place.ends_unfinished or _is_coordinated(place, names):
        return target.word
    joined = (
        place.word_after() in ("and", "or")
        and place.word_after(2) in names.groups
        and not place.word_after(2).endswith("s")
    )
    if place.word_before() == "the" and place.word_before(2) in names.first:
        return None  # John the Baptist
    if target.nouns and not joined and _stands_for_people(place):
        return target.nouns
    if target.noun and (is_singular_noun(place) or (place.word_before() == "fellow" and place.capital_after)):
        return target.noun
    return target.word


def group_noun(place: Occurrence, target: Target, names: KnownNames) -> str | None:
    """Return the counterpart of a capitalised group noun: "Muslims", "Poles"."""
    before = place.word_before()
    if place.surface == "whites" and (
        before in ("egg", "the") or (before == "and" and place.word_before(2) == "blacks")
    ):
        return None
    return target.word if _free_of_names(place, names) and not _is_fixed(place) else None


def singular_noun(place: Occurrence, target: Target, names: KnownNames) -> str | None:
    """Return the counterpart of a noun that is not an adjective: "a Pole". Without an article it may
    be another word.
    """
    alone = not place.word_before() and not place.gap_before.endswith("> ")
    return None if alone and not place.capital_after else group_noun(place, target, names)


def faith(place: Occurrence, target: Target, names: KnownNames) -> str | None:
    """Return the counterpart of a religion's name, unless a branch is mentioned: "Reform Judaism is a
    form of Judaism".
    """
    pieces, word = place.pieces, place.surface
    key, known = ("branch", word, id(names)), place.about.known
    if key not in known:
        same = (Occurrence(pieces, at, at) for at in range(1, len(pieces), 2) if pieces[at] == word)
        known[key] = any(_is_branch(one, names) for one in same)
    return None if known[key] else group_noun(place, target, names)


def _is_branch(place: Occurrence, names: KnownNames) -> bool:
    """Return whether a word before the name of a religion names a branch: "Sunni Islam", "Pure Land Buddhism"."""
    before = place.capital_before
    if before and (before in names.peers or before in cues.DENOMINATIONS):
        return True
    other = place.word_before() not in cues.FUNCTION | cues.ADVERBS | names.groups
    return bool(before and other) or (place.word_before(2) == "pure" and place.word_before() == "land")


def of_person(place: Occurrence, target: Target, names: KnownNames) -> str | None:
    """Return the counterpart of an adjective with several senses if it describes a person: "a
    white man", "she is blind".
    """
    if place.case == "title" and (
        (place.capital_after and place.capital_after not in names.groups)
        or (place.capital_before and place.capital_before not in names.groups and not place.opener_before)
    ):
        return None
    if place.hyphen_after or place.word_before() in cues.SPANS_OF_TIME:
        return None
    if place.hyphen_before and place.before_hyphen() not in ("non", "half"):
        return None
    if place.last > place.first and place.pieces[place.last].lower() == "old" and is_singular_noun(place):
        return f"{target.word} person"  # "the 80-year-old asked"
    return target.word if is_before_person(place, target, names) or is_said_of_person(place) else None


def years_old(place: Occurrence, target: Target) -> str | None:
    """Return the counterpart of an age ("80 years old") if it describes a person: "she is 80 years old"."""
    return target.word if is_said_of_person(place) else None


def _free_of_names(place: Occurrence, names: KnownNames) -> bool:
    """Return whether a capitalised group is not part of a longer name ("American Airlines", "West German Radio")."""
    word = place.surface.lower()
    if (place.neighbour(-1), word.removesuffix("s")) in names.compounds:
        return False
    if (word, place.neighbour(1).removesuffix("s")) in names.compounds or _is_half(place, names):
        return False
    if place.case == "upper":
        return True
    if (
        "books" in place.about
        or place.in_title
        or place.in_capitals
        or (place.capital_before and place.gap_after.strip() == ":")
    ):
        return False  # for example "the Nation of Islam" and "Conservative Judaism: A History"
    if place.capital_before in cues.DENOMINATIONS or _before_hidden_name(place):
        return False
    before, after = place.capital_before, place.capital_after
    if before and before not in names.groups and not place.hyphen_before:
        weak = place.opener_before and before not in cues.BEFORE_PEOPLES and before not in names.first
        if not weak or (ends_noun_phrase(place) and place.word_after() in ("is", "was", "has")):
            return False  # "Bradford English is"
    if after and (after[0].isdigit() or (after not in names.groups and after not in names.first)):
        return False
    return not _in_longer_name(place, names)


def _is_half(place: Occurrence, names: KnownNames) -> bool:
    """Return whether a word for another group of the axis is next to it: "French Canadian", "Arab-Indian", "Shia
    Islam".

    Not what says where somebody's family came from: "a Polish-American actor".
    """
    if place.hyphen_before:
        before = place.before_hyphen()
        if before in ("all", "unk") or len(before) == 1 or before in names.peers:
            return True
        if before.endswith("o") and before not in (*cues.BEFORE_HYPHEN, *names.groups):
            return True  # Austro-Hungarian
    if place.hyphen_after and (place.after_hyphen() == "unk" or place.surface.lower() == "anglo"):
        return True
    if place.capital_before in names.peers:
        return True
    after = place.after_hyphen() if place.hyphen_after else place.capital_after
    after = after if after in names.peers else after.removesuffix("s")
    if after not in names.peers:
        return False
    return after not in cues.SETTLED or (place.surface == "French" and after == "canadian")


def _before_hidden_name(place: Occurrence) -> bool:
    """Return whether hidden words follow, as in names: "the Jewish <unk> <unk>", "the Persian <unk> Empire"."""
    if not place.gap_after.startswith(" <"):
        return False
    at = place.last + 2
    last = at
    while last < len(place.pieces) and place.pieces[last] == "unk":
        last += 2
    hidden = (last - at) // 2
    if hidden == 0:
        return False
    following = (
        place.pieces[last].lower() if last < len(place.pieces) and place.pieces[last - 1] == "> " else ""
    )
    return hidden > 1 or place.no_person or following in cues.REALMS


def _in_longer_name(place: Occurrence, names: KnownNames) -> bool:
    """Return whether adjacent groups lead to a capital: "Muslim Canadian Congress", "Progressive British Muslims"."""
    if place.capital_after in names.groups:
        behind = Occurrence(place.pieces, place.last + 2, place.last + 2).capital_after
        if behind and behind[0].isalpha() and behind not in names.groups | names.first:
            return True
    if place.capital_before in names.groups and not place.opener_before:
        ahead = Occurrence(place.pieces, place.first - 2, place.first - 2)
        first = ahead.word_before() and ahead.capital_before
        return bool(first) and first not in names.groups | cues.COUNTED | cues.FUNCTION | cues.ADVERBS
    return False


def _is_fixed(place: Occurrence) -> bool:
    """Return whether something is only named after a group: a dish, a dance, a plant, a region, an ocean."""
    if place.word_after() in cues.FIXED_AFTER or (place.hyphen_follows(1) and place.word_after(1) == "cross"):
        return True
    if place.surface in ("Indian", "Indians") and (
        "American Indians" in place.about or place.word_after() in cues.OF_AMERICAN_INDIANS
    ):
        return True
    if place.word_after() in ("football", "rules") and place.surface.lower() in cues.SETTLED:
        return True  # American football
    joined = ("and", "or")
    return (place.word_after() in joined and place.word_after(2) in cues.OCEANS) or (
        place.word_before() in joined and place.word_before(2) in cues.OCEANS
    )


def _is_coordinated(place: Occurrence, names: KnownNames) -> bool:
    """Return whether it is one of several adjectives before a noun: "the Polish, British and Dutch divisions"."""
    pieces, at = place.pieces, place.last
    while at + 2 < min(len(pieces), place.last + _LONGEST_LIST):
        following = at + 2
        gap = pieces[at + 1].strip(" <>")
        if gap == "," or (gap == "" and pieces[following] in ("and", "or")):
            if pieces[following] in ("and", "or"):
                following += 2
        elif at > place.last and gap == "":
            word = pieces[following].lower()
            if pieces[following][0].isupper() and word in _SECOND_WORDS:
                at = following
                continue
            return word not in cues.NO_NOUN and word not in names.first
        else:
            return False
        if gap != "," and (following >= len(pieces) or pieces[following - 1].strip(" <>")):
            return False
        word = pieces[following] if following < len(pieces) else ""
        known = word == "unk" or word.lower() in names.groups or word in ("New", "South", "North")
        if not known and not (word[:1].isupper() and word.endswith(_OF_PEOPLES)):
            return False
        at = following
    return False


_LONGEST_LIST = 60
"""Number of pieces after a group that are searched for other groups."""
_SECOND_WORDS = frozenset(("zealand", "korean", "african", "american"))
_OF_PEOPLES = ("an", "ish", "ese", "ic", "ch")


def _stands_for_people(place: Occurrence) -> bool:
    """Return whether an adjective that is not a noun stands for the people: "the British retreated", "37 Japanese"."""
    ends = ends_noun_phrase(place)
    if ends and any(place.word_before(count) in ("against", "among", "amongst") for count in (1, 2, 3)):
        return True
    if place.word_before() == "the" or (
        place.word_before(2) == "the" and ends and place.word_before() in cues.OF_THE
    ):
        following = place.word_after()
        return ends or (following.endswith("ed") and following not in cues.NOT_DONE)
    if not ends or place.word_before() in cues.COPULAS:
        return False
    counted = place.word_before().isdigit() or place.word_before() in cues.COUNTED
    return (
        counted
        or place.word_after() in cues.OF_SEVERAL
        or place.word_after() in ("only", "also", "often", "never", "who")
    )


def is_first_name(place: Occurrence) -> bool:
    """Return whether "Christian" is a first name: it is the subject, without an article
    ("Christian transferred to Boston").
    """
    acts = place.word_after() in cues.VERBS or place.word_after() in ("is", "was", "has", "had", "the")
    acts = acts or place.word_after().endswith("ed")
    if (acts or place.possessive) and place.word_before() in ("", *cues.JOINTS):
        return True
    return (
        place.ends_unfinished
        and any(  # for example "Christian Miller, better known as Christian "
            word == place.surface and gap == " " and following[0].isupper()
            for word, gap, following in zip(
                place.pieces[1::2], place.pieces[2::2], place.pieces[3::2], strict=False
            )
        )
    )


def _is_language(place: Occurrence) -> bool:
    if place.word_after() in cues.LANGUAGE_AFTER or place.possessive:
        return place.word_after() in cues.LANGUAGE_AFTER
    if place.gap_after.strip(" <") == ":":
        return True  # "(German: Haus)"
    ends = ends_noun_phrase(place)
    if place.word_before() in cues.LANGUAGE_BEFORE or (
        place.word_before() in ("from", "of", "to", "and")
        and place.word_before(2) in cues.LANGUAGE_BEFORE | {"translation"}
    ):
        return ends
    # in "German is her first language", a singular without an article is a language
    return (ends and place.opens and not place.word_before()) and place.word_after() in (
        "is",
        "was",
        "has",
        "belongs",
    )
