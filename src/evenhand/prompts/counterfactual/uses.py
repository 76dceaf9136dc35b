"""Decide whether a word is used in the sense of its entry: a pronoun, a noun for a person, a title or a name.

Each function returns the counterpart that fits, or None if the word does not change.
"""

from evenhand.prompts.counterfactual import cues, name_cues
from evenhand.prompts.counterfactual.place import Occurrence
from evenhand.prompts.counterfactual.pronouns import her_or_hers, his_or_him, is_pronoun_of_person
from evenhand.prompts.counterfactual.targets import KnownNames, Target

_FIRMS = ("chain", "company", "retailer", "brand", "firm")
_MOST_CAPITALS = 3
"""Maximum number of capitalised words after a first name; more belong to a title."""


def pronoun(place: Occurrence, target: Target) -> str | None:
    """Return the counterpart of a pronoun; the context decides between two counterparts."""
    if not is_pronoun_of_person(place):
        return None
    match target.word:
        case "his/him":
            return his_or_him(place)
        case "her/hers":
            return her_or_hers(place)
    return target.word


def noun(place: Occurrence, target: Target) -> str | None:
    """Return the counterpart of a noun for a person in lower case or at the start of a sentence; others are names."""
    if (place.hyphen_after and place.after_hyphen() not in name_cues.MEN_AFTER_HYPHEN) or (
        place.hyphen_before and place.before_hyphen() not in cues.BEFORE_HYPHEN
    ):
        return None
    if _names_both(place, target) or _is_fixed(place) or _in_title_or_firm(place):
        return None
    word = place.surface.lower()
    if "nature" in place.about and word in ("male", "males", "female", "females"):
        return None
    if "both sexes" in place.about and word in ("males", "females"):
        return None  # for example "$ 31 for males versus $ 19 for females"
    if word == "man" and (
        place.word_before() == "to" or (place.word_before() in ("no", "every") and place.possessive)
    ):
        return None
    return None if place.case == "title" and not _opens_plainly(place) else target.word


def kin(place: Occurrence, target: Target) -> str | None:
    """Return the counterpart of a word of kinship: a noun, or a relative's name ("told Mom"); not in
    "Mother Teresa".
    """
    if place.hyphen_after and place.after_hyphen() not in ("in", *name_cues.MEN_AFTER_HYPHEN):
        return None
    if _names_both(place, target) or _is_fixed(place) or _in_title_or_firm(place):
        return None
    if {"ships", "nature"} & place.about and place.surface.lower() in ("sister", "sisters"):
        return None
    if place.case == "title":
        hidden = (place.gap_before == "> " and not place.capital_after) or place.gap_after == " <"
        if hidden or place.ends_unfinished or (place.word_before() in cues.DETERMINERS and not place.opens):
            return None  # for example "the Flying <unk> Brothers", "Papa <unk>" and "of My Father"
        word = place.surface.lower()
        if (
            place.capital_after
            and word in ("aunt", "uncle")
            and place.capital_after not in ("sam", "tom", "ben", "may")
        ):
            named = place.capital_before or place.heads_title or place.no_person
            return None if named else target.word
        if not place.opens and place.neighbour(-1) == "s" and place.word_before(1) == "s":
            return None  # "somebody's Father" is a title
        if (
            place.capital_before
            or place.capital_after
            or place.word_before() in ("the", "of")
            or place.word_after() == "of"
        ):
            return None
    return target.word


def royal(place: Occurrence, target: Target, names: KnownNames) -> str | None:
    """Return the counterpart of king, princess, ...: as nouns, before a first name, with an
    article; not in other names.
    """
    if place.hyphen_after or place.hyphen_before or _names_both(place, target) or _is_fixed(place):
        return None
    if place.word_before() == "drag":
        return None  # drag queens and drag kings are not counterparts
    if place.case != "title":
        return target.word
    if place.capital_before or place.word_before() in cues.NOT_PEOPLE_BEFORE or _in_title_or_firm(place):
        return None
    if place.capital_after:
        known = place.capital_after in names.first and not place.no_person
        return target.word if known and not _name_stays(place, names) else None
    if place.word_before() != "the" or place.gap_after == " <":
        return None
    if place.possessive:
        behind = Occurrence(place.pieces, place.last + 2, place.last + 2)
        return None if behind.capital_after else target.word  # the King's Highway
    of_capital = (
        place.word_after() == "of"
        and place.word_after(2) == "the"
        and any(word[0].isupper() for word in place.pieces[place.last + 6 : place.last + 7])
    )
    ends = not place.word_after() or place.word_after() in cues.NO_NOUN
    return target.word if (ends or place.word_after().endswith("ed")) and not of_capital else None


def honorific(place: Occurrence, target: Target, names: KnownNames) -> str | None:
    """Return the counterpart of Mr, Ms, Sir, ... with a capital before a name."""
    if place.case == "lower" or (
        place.surface.lower() == "miss" and place.capital_after in name_cues.PAGEANTS
    ):
        return None
    if place.capital_before and place.capital_before not in cues.ROLES_BEFORE_NAMES:
        return None
    behind = place.capitals_after
    if (
        place.behind_title
        or behind[:1] == ["show"]
        or place.pieces[place.last + 2 * len(behind) + 1].strip() == ":"
    ):
        return None  # "Mr. Playboy: A Life"
    if (
        place.word_before() in ("and", "or")
        and place.first > 4
        and place.pieces[place.first - 4].lower() in name_cues.HONORIFICS
    ):
        return None  # Mr. and Mrs.
    at = place.last + 2
    follows = (
        at < len(place.pieces)
        and place.gap_after in (" ", ". ", ".", " . ")
        and place.pieces[at][0].isupper()
    )
    if follows and place.case == "upper" and place.gap_after == " " and not place.pieces[at].isupper():
        return None  # for example "MS patients"
    return target.word if follows and not _name_stays(place, names) else None


def address(place: Occurrence, target: Target) -> str | None:
    """Return the counterpart of sir or madam, unless a name follows."""
    return target.word if place.case != "title" or (place.opens and not place.capital_after) else None


def name(place: Occurrence, target: Target, names: KnownNames) -> str | None:
    """Return the counterpart of a first name, unless it seems to name a place, a ship, a saint, a surname or a work.

    Either all given names of a person are replaced, or none.
    """
    if place.case == "lower" or place.hyphen_after or place.hyphen_before:
        return None
    if any(mark in place.gap_before + place.gap_after for mark in "&/"):
        return None  # a firm or a band: "Ike & Tina Turner"
    if place.gap_before.endswith(("'", "’")) and len(place.pieces[place.first - 2]) == 1:
        return None  # O'Neil
    previous = place.capital_before
    if place.gap_before == "> " and not place.name_behind:
        return None  # after a hidden word, it may be a surname
    if place.surface.lower() in cues.FIXED_PHRASES.get(previous, ()):
        return None
    if place.case == "upper" and len(place.surface) < 4:
        return None
    if place.in_title or _names_work(place):
        return None
    further = (
        place.word_before(2) if previous else place.word_before(3) if place.word_before() == "and" else ""
    )
    if {previous, place.word_before(), further} & cues.NOT_PEOPLE_BEFORE:
        return None  # for example "Mount John" and "the USS Little and Gregory"
    if not _replaced_whole(place, names) or (not previous and _is_surname(place, names)):
        return None
    run = place.capitals_after
    if len(run) > _MOST_CAPITALS:
        return None  # capitals as in titles: "Jane Miller Is Missing"
    if previous and previous not in cues.ROLES_BEFORE_NAMES and previous not in names.groups:
        # "Sarah Michelle Gellar" but not "Elton John"; words in capitals are not names
        if previous in names.replaced and place.name_behind:
            first = Occurrence(place.pieces, place.first - 2, place.first - 2, place.about)
            return target.word if name(first, target, names) else None
        if place.case != "upper":
            return None
    if (
        (place.word_after() == "the" and run[1:])
        or place.heads_title
        or place.behind_title
        or place.in_capitals
    ):
        return None  # for example "John the Baptist", "Catherine the Great", and titles
    if (
        place.word_before() in cues.ARTICLES
        or (run and place.after_run in name_cues.CALLED_AFTER)
        or _is_attribute(place)
    ):
        return None  # for example "the Jane Miller Foundation" and "a Michael reaction"
    if not name_cues.NOT_IN_NAMES.isdisjoint(run):
        return None  # "Jane Miller Is Missing"
    if place.capital_after[:1].isdigit() or place.word_after() in ("bin", "ibn") or place.no_person:
        return None
    step = len(place.name_behind)
    if place.word_after(step + 1) == "is" and place.word_after(step + 3) in _FIRMS:
        return None  # for example "Jane Miller is a chain of stores"
    if place.bears_title or (place.in_heading and place.word_before() in ("of", "and")):
        return None  # for example "Edward, Duke of Kent" and "= Acts of Peter ="
    if place.gap_after.lstrip().startswith("!") and place.neighbour(1).islower() and not place.opens:
        following = place.pieces[place.last + 2]
        return target.word if following[0].isupper() else None  # "the musical Oliver! and"
    return target.word


def _replaced_whole(place: Occurrence, names: KnownNames) -> bool:
    """Return whether the following given names are also replaced: not in "Ralph Waldo Emerson" or "Mary Ann".

    In a name of three words, all but the last must be in our list, unless they are initials, hidden by a corpus, or
    open a surname of several words.
    """
    behind = place.name_behind
    if f"{place.surface}_{place.word_after()}_{place.word_after(2)}".lower() in name_cues.NO_PERSON:
        return False
    if not behind:
        return True
    if f"{place.surface}_{behind[0]}".lower() in name_cues.NO_PERSON:
        return False
    if len(behind) == 1:
        if '"' in place.pieces[place.last + 3] and behind[0] in names.replaced:
            return False  # Benjamin Paul "Ben" Okafor
        return behind[0] not in name_cues.SECOND_HALVES or place.capital_before in names.replaced
    for word in behind[:-1]:
        if word in name_cues.SURNAME_OPENERS:
            break
        if word not in names.replaced and word != "unk" and len(word) > 1:
            return False
    return True


def _is_surname(place: Occurrence, names: KnownNames) -> bool:
    """Return whether a single name is the surname of a full name elsewhere in the text:
    "Carmelo Anthony", then "Anthony".
    """
    if place.name_behind:
        return False
    key, known = ("surname", place.surface, id(names)), place.about.known
    if key not in known:
        known[key] = _follows_names(place.pieces, place.surface, names)
    return known[key]


def _follows_names(pieces: list[str], word: str, names: KnownNames) -> bool:
    known, at = (cues.ROLES_BEFORE_NAMES, names.groups, names.first, cues.FUNCTION, cues.ADVERBS), 0
    for _ in range(pieces.count(word)):
        at = pieces.index(word, at + 1)
        other = Occurrence(pieces, at, at)
        before = other.capital_before
        if before in names.first and not other.name_behind and before != word.lower():
            return True
        if before and not other.opener_before and not any(before in words for words in known):
            return True
    return False


def _is_attribute(place: Occurrence) -> bool:
    """Return whether an article and an adjective precede it and a noun follows: "a rare Jane Miller record"."""
    if (
        place.word_before() in cues.FUNCTION
        or not {place.word_before(2), place.word_before(3)} & cues.ARTICLES
    ):
        return False
    behind = place.name_behind
    noun = place.word_after(len(behind) + 1)
    if not noun or noun in behind or noun == "due" or noun in cues.NO_NOUN:
        return False
    return not noun.endswith(("ed", "ing", "ly"))


def _names_work(place: Occurrence) -> bool:
    """Return whether it seems to name a work or a place: "the film Jane Miller", "seen in Jane Miller"."""
    before = place.word_before()
    if before in name_cues.INTO_LIVES and place.pieces[place.first - 2][0].isupper() and place.name_behind:
        return True
    if before in name_cues.CALLED_BEFORE or (
        before in name_cues.CALLING and place.word_before(2) in name_cues.WORKS
    ):
        return True
    return before == "in" and not place.possessive and "s" not in place.capitals_after


def _name_stays(place: Occurrence, names: KnownNames) -> bool:
    """Return whether a first name of our list follows that is not replaced, so that its title must stay, too."""
    at = place.last + 2
    if at >= len(place.pieces) or place.pieces[at].lower() not in names.replaced:
        return False
    return name(Occurrence(place.pieces, at, at, place.about), Target(place.pieces[at]), names) is None


def phrase(place: Occurrence, target: Target) -> str | None:
    """Return the counterpart of a phrase that has only one sense: "wheelchair users", "with autism"."""
    return None if place.case == "title" and not (place.opens or place.capital_after == "") else target.word


def anything(place: Occurrence, target: Target) -> str | None:
    """Return the counterpart of a word of the user's own pairs, which is replaced wherever it is a word."""
    return target.word


def _names_both(place: Occurrence, target: Target) -> bool:
    """Return whether the word and its counterpart are next to each other: "men and women", "the king or the queen"."""
    other = target.word.lower()
    if place.gap_after == "/" or place.gap_before == "/":
        return place.neighbour(1) == other or place.neighbour(-1) == other
    for look in (place.word_after, place.word_before):
        joint, second = look(), look(2)
        if look == place.word_before and joint in ("the", "a", "an", "his", "her", "their", "our", "my"):
            joint, second = look(2), look(3)
        elif look == place.word_after and second in ("the", "a", "an", "his", "her", "their", "our", "my"):
            second = look(3)
        if joint in ("and", "or", "nor", "versus", "vs") and second == other:
            return True
    return False


def _is_fixed(place: Occurrence) -> bool:
    """Return whether the word is part of a phrase that does not mean a person: "sister ships", "founding fathers"."""
    word = place.surface.lower()
    if word == "fathers" and place.word_before() in name_cues.FOUNDERS:
        return True
    leading = {
        "lady": name_cues.LADIES,
        "ladies": name_cues.LADIES,
        "man": ("best", "leading"),
        "men": ("leading",),
    }
    if place.word_before() in leading.get(word, ()):
        return True
    return place.word_after() in cues.FIXED_PHRASES.get(word, ())


def _in_title_or_firm(place: Occurrence) -> bool:
    """Return whether a capital follows capitals and a colon, or "&": "Jane Miller: Queen of Tea", "Miller & Sons"."""
    return place.case == "title" and (place.behind_title or "&" in place.gap_before)


def _opens_plainly(place: Occurrence) -> bool:
    """Return whether a capital is only due to the beginning of a sentence."""
    if (
        not place.opens
        or place.capital_after
        or (place.word_after() == "of" and place.word_after(2) == "the")
    ):
        return False
    return place.gap_after != " = " or place.gap_before.strip(" \n") != "="
