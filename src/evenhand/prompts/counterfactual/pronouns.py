"""Choose the pronoun that replaces "her" (him, his) or "his" (her, hers), by the words around it."""

from evenhand.prompts.counterfactual import cues, name_cues
from evenhand.prompts.counterfactual.place import SPACE, Occurrence

_OR = ({"he", "she"}, {"him", "her"}, {"his", "her"}, {"his", "hers"}, {"himself", "herself"})
BOTH_GENDERS = {"or": _OR, "nor": _OR, "and": ({"he", "she"}, {"his", "hers"}, {"himself", "herself"})}
"""Words between two pronouns of both genders: "he or she"; but "him and her friends" are two things."""
CLOSING = ".,;:!?)'\"”’—–-…"
OPENING = frozenset("\"“'‘„«(*`<$[")
"""Characters that may follow a space before the possessed noun: "his “best” friend"."""


def is_pronoun_of_person(place: Occurrence) -> bool:
    """Return whether a pronoun refers to a person of one gender.

    It does not in "he or she", "she/her" as a list of pronouns, and "s/he", or with a capital within a sentence (a
    deity or a title).
    """
    if (
        "/" in place.gap_before
        or "/" in place.gap_after
        or (place.hyphen_after and place.surface.lower() in ("she", "he"))
    ):
        return False
    if "ships" in place.about and place.surface.lower() in ("she", "her", "hers", "herself"):
        return False
    if place.gap_before.startswith(")") and place.first > 2 and place.pieces[place.first - 2] == "s":
        return False  # (s)he
    if place.case == "title" and (not place.opens or (place.capital_after and len(place.capitals_after) > 1)):
        return (
            place.opens and place.surface in ("His", "Her") and place.capital_after in cues.ROLES_BEFORE_NAMES
        )
    if place.case == "title" and place.capital_after and place.gap_before.strip() in (":", "–", "—"):
        return False  # "Jane Miller: Her Life"
    word = place.surface.lower()
    for look in (place.word_after, place.word_before):
        joint = look()
        if joint in BOTH_GENDERS and {word, look(2)} in BOTH_GENDERS[joint]:
            return False
    return True


def his_or_him(place: Occurrence) -> str:
    """Return the counterpart of "her".

    >>> pieces = "told her that".replace(" ", "| |").split("|")
    >>> his_or_him(Occurrence(["", *pieces, ""], 3, 3))
    'him'
    """
    return "his" if her_is_possessive(place) else "him"


def her_or_hers(place: Occurrence) -> str:
    """Return the counterpart of "his"."""
    gap = place.gap_after
    if place.hyphen_after or (gap[:1].isspace() and gap.strip()[:1] in OPENING):
        return "her"
    if not SPACE.fullmatch(gap):
        ends = place.last + 2 >= len(place.pieces) and not place.ends_unfinished
        return "hers" if ends or gap.strip()[:1] in CLOSING else "her"
    word, second = place.word_after(), place.word_after(2)
    if word in ("and", "or"):
        shared = second in ("my", "your", "their", "our", "her", "its") or _is_genitive(place, 2)
        return "her" if shared else "hers"
    if place.hyphen_follows(1) or (
        word in cues.POSSESSED_ALTHOUGH and second and second not in cues.FUNCTION
    ):
        return "her"
    if word in cues.VERBS and place.word_before() == "of":
        return "hers"
    if word == "will" and place.word_before() != "of":
        return "her"
    is_function = word in cues.FUNCTION or word in ("alone", "too", "again", "now", "instead")
    if word in cues.STILL_POSSESSED:
        return "her"
    return "hers" if is_function else "her"


def her_is_possessive(place: Occurrence) -> bool:
    """Return whether "her" is a possessive ("her hat") and not an object ("saw her")."""
    gap = place.gap_after
    if (
        place.hyphen_after
        or gap.strip() == "]"
        or (gap[:1].isspace() and gap.strip()[:1] in OPENING - {"(", "<"})
    ):
        return place.word_before() not in cues.NAMING
    if place.last + 2 >= len(place.pieces):  # a prompt that is cut off: "She is best known for her "
        return place.ends_unfinished
    if gap.strip() == "(":  # "her (very old) car" and "like her (and her dog)"
        inner = place.pieces[place.last + 2].lower() if place.last + 2 < len(place.pieces) else ""
        return inner not in cues.FUNCTION and ")" not in gap
    if not SPACE.fullmatch(gap) or gap == "\n":
        return gap.strip().startswith("<")
    word, previous = place.word_after(), place.word_before()
    second = place.word_after(2)
    if not word:
        return False
    if place.opens and place.case == "title":
        return True
    if place.hyphen_follows(1):
        return word not in cues.DETERMINERS
    if word in ("and", "or") and second in ("my", "your", "their", "our", "its"):
        return previous in cues.PREPOSITIONS or not previous or previous in cues.FUNCTION
    if word in ("close", "tight", "closer") and previous in cues.HOLDING:
        return False
    if word == "a" and place.capital_after and place.case != "upper":
        return True  # "her A levels"
    done = word.endswith("ed") or word in cues.DONE
    if done and previous in cues.HAVING_DONE and (second in cues.FUNCTION or _gap(place, 1).strip()):
        return False  # "had her executed by"
    ends = not (second or _gap(place, 1).strip().startswith("<"))
    if word in cues.DEGREES and not place.opens and (ends or second in ("than", "when", "in", "of")):
        return False
    if word == "all" and second:
        return False
    if word in cues.WHERE:
        return _follows_possessor_of_place(place, word)
    if word in cues.NOT_POSSESSED:
        later = word in cues.POSSESSED_ALTHOUGH and second and second not in cues.FUNCTION
        return bool(later) and _opens_a_phrase(place, word)
    if previous == "took" and word in cues.SPANS_OF_TIME:
        return False
    if previous in name_cues.CALLING and place.capital_after and place.case != "upper":
        return False
    if word in cues.NUMBERS:
        if second not in cues.SPANS_OF_TIME:
            return True
        # for example "saw her two days ago" and "after her two years"
        told = place.word_after(3) in ("ago", "later", "before", "after", "earlier")
        return not told and previous in cues.PREPOSITIONS | cues.AUXILIARIES
    if word.endswith("ly") and word not in cues.NO_ADVERBS:
        if previous in cues.NAMING and (not place.word_after(3) or place.word_after(3) in cues.FUNCTION):
            return False  # for example "found her deeply moved by it"
        return bool(second) and second not in cues.NOT_POSSESSED
    if word.endswith("ing") and previous in cues.PERCEPTION and word not in cues.NO_PARTICIPLES:
        return bool(second) and second not in cues.FUNCTION and previous in ("have", "had", "has", "having")
    if previous in cues.CAUSATIVE:
        if word in cues.BARE_VERBS:
            return False
        if word in cues.AMBIGUOUS_VERBS:
            made = previous.startswith("ma") and word in ("return", "escape", "move", "play", "run")
            return made or (bool(second) and second in cues.AUXILIARIES)
    if previous in cues.NAMING and word in cues.COMPLEMENTS:
        return bool(second) and second not in cues.FUNCTION
    if previous in cues.TWO_OBJECTS and word in cues.GIVEN:
        return _is_genitive(place, 1) or second in ("to", "for")
    return True


def _opens_a_phrase(place: Occurrence, word: str) -> bool:
    """Return whether a word like "then" or "once" belongs to the possessed noun: "her then husband"."""
    second, third = place.word_after(2), place.word_after(3)
    if word in ("in", "on", "up", "off", "out", "over"):
        return False
    if word in ("more", "less", "much", "even"):
        return (
            second not in cues.DETERMINERS
            and bool(third)
            and third not in cues.FUNCTION
            and second != "often"
        )
    if word == "later":
        return True
    if word in ("then", "now", "once"):
        return (place.word_before() in cues.FUNCTION or not place.word_before()) and not second.endswith("ed")
    return False


def _follows_possessor_of_place(place: Occurrence, word: str) -> bool:
    """Return whether "back" or "home" after "her" is a noun that she possesses, and not a direction."""
    previous, second = place.word_before(), place.word_after(2)
    if previous in cues.BRING:
        return False
    if word in ("home", "back", "past"):
        return (
            word != "back"
            or second not in ("to", "into", "home", "in", "from")
            or previous in cues.PREPOSITIONS
        )
    return False


def _gap(place: Occurrence, words: int) -> str:
    """Return the text after the n-th word after the place."""
    at = place.last + 2 * words + 1
    return place.pieces[at] if at < len(place.pieces) else ""


def _is_genitive(place: Occurrence, words: int) -> bool:
    """Return whether 's follows the n-th word after the place."""
    at = place.last + 2 * words + 1
    return (
        at + 1 < len(place.pieces) and place.pieces[at].strip() in ("'", "’") and place.pieces[at + 1] == "s"
    )
