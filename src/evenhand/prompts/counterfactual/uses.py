"""Whether a word is used at a place as the thing its entry is about: a noun for a person, a title, a name, a group.

Each function answers with the entry's counterpart that fits there, or None where the word is to stay.
"""

from collections.abc import Callable
from dataclasses import dataclass

from evenhand.prompts.counterfactual import cues
from evenhand.prompts.counterfactual.place import Place
from evenhand.prompts.counterfactual.pronouns import her_or_hers, his_or_him, is_pronoun_of_person


@dataclass(frozen=True)
class Target:
    """What stands in place of a word. Adjectives may need a noun instead; see `group`."""

    word: str
    noun: str = ""
    nouns: str = ""
    """Singular and plural, where the word is an adjective."""

    @property
    def words(self) -> tuple[str, ...]:
        """All that may be put: both counterparts of a pronoun, an adjective and its nouns."""
        return tuple(word for word in (*self.word.split("/"), self.noun, self.nouns) if word)


Use = Callable[[Place, Target], str | None]


@dataclass(frozen=True)
class Names:
    """What the rules for capitals know: first names, and words that may stand beside a name without being part of it."""

    first: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    compounds: frozenset[tuple[str, ...]] = frozenset()
    """Groups of two words, which are neither of the two: African American, South Korean."""


def pronoun(place: Place, target: Target) -> str | None:
    """Pronouns; those with two counterparts are decided by their context."""
    if not is_pronoun_of_person(place):
        return None
    match target.word:
        case "his/him":
            return his_or_him(place)
        case "her/hers":
            return her_or_hers(place)
    return target.word


def noun(place: Place, target: Target) -> str | None:
    """Nouns for persons, in lower case or opening a sentence; with capitals they are names of something."""
    if (place.hyphen_after and place.after_hyphen() not in cues.MEN_AFTER_HYPHEN) or (
        place.hyphen_before and place.before_hyphen() not in cues.BEFORE_HYPHEN
    ):
        return None
    if _names_both(place, target) or _is_fixed(place):
        return None
    word = place.surface.lower()
    if "nature" in place.about and word in ("male", "males", "female", "females"):
        return None
    if word == "man" and (place.before() == "to" or place.before() in ("no", "every") and place.possessive):
        return None
    return None if place.case == "title" and not _opens_plainly(place) else target.word


def kin(place: Place, target: Target) -> str | None:
    """Words of kinship: as nouns, and as names of one's own relatives ("told Mom"); not in names ("Mother Teresa")."""
    if place.hyphen_after and place.after_hyphen() not in ("in", *cues.MEN_AFTER_HYPHEN):
        return None
    if _names_both(place, target) or _is_fixed(place):
        return None
    if "ships" in place.about and place.surface.lower() in ("sister", "sisters"):
        return None
    if place.case == "title":
        word = place.surface.lower()
        if place.capital_after and word in ("aunt", "uncle") and place.capital_after not in ("sam", "tom", "ben", "may"):
            named = place.capital_before or place.heads_title or _is_no_person(place)
            return None if named else target.word
        if not place.opens and place.neighbour(-1) == "s" and place.before(1) == "s":
            return None  # "somebody's Father" is a title
        if place.capital_before or place.capital_after or place.before() in ("the", "of") or place.after() == "of":
            return None
    return target.word


def royal(place: Place, target: Target, names: Names) -> str | None:
    """King, princess, ...: as nouns, before a first name, and with an article; not in surnames and places."""
    if place.hyphen_after or place.hyphen_before or _names_both(place, target) or _is_fixed(place):
        return None
    if place.case != "title":
        return target.word
    if place.capital_before or place.before() in cues.NOT_PEOPLE_BEFORE:
        return None
    if place.capital_after:
        known = place.capital_after in names.first and not _is_no_person(place)
        return target.word if known else None
    return target.word if place.before() == "the" else None


def honorific(place: Place, target: Target) -> str | None:
    """Mr, Ms, Sir, ...: with a capital, before a name."""
    if place.case == "lower" or place.surface.lower() == "miss" and place.capital_after in _PAGEANTS:
        return None
    if place.capital_before and place.capital_before not in cues.ROLES_BEFORE_NAMES:
        return None
    if place.before() in ("and", "or") and place.first > 4 and place.pieces[place.first - 4].lower() in _HONORIFICS:
        return None  # Mr. and Mrs.
    at = place.last + 2
    follows = at < len(place.pieces) and place.gap_after in (" ", ". ", ".", " . ") and place.pieces[at][0].isupper()
    if follows and place.case == "upper" and place.gap_after == " " and not place.pieces[at].isupper():
        return None  # "MS patients" are no ladies
    return target.word if follows else None


_HONORIFICS = frozenset("mr mrs ms miss dr sir".split())
_PAGEANTS = frozenset("america universe world usa teen earth international piggy saigon marple havisham".split())


def address(place: Place, target: Target) -> str | None:
    """Sir, madam: not before a name."""
    return target.word if place.case != "title" or (place.opens and not place.capital_after) else None


def name(place: Place, target: Target, names: Names) -> str | None:
    """First names with their capital, unless a place, a ship, a saint, a surname or a work seems to be called so."""
    if place.case == "lower" or place.hyphen_after or place.hyphen_before:
        return None
    previous = place.capital_before
    if place.case == "upper" and len(place.surface) < 4:
        return None
    if place.in_title or place.before() in cues.CALLED_BEFORE:
        return None
    if {previous, place.before(), place.before(2) if previous else ""} & cues.NOT_PEOPLE_BEFORE:
        return None
    if previous and previous not in cues.ROLES_BEFORE_NAMES and previous not in names.groups:
        # "Sarah Michelle Gellar", not "Elton John"; shouted words are no names
        middle = previous in names.first and bool(place.capital_after)
        if not middle and place.case != "upper":
            return None
    run = place.capitals_after()
    if (place.after() == "the" and run[1:]) or place.heads_title or place.behind_title or place.in_capitals:
        return None  # John the Baptist, Catherine the Great; titles
    if run and (place.after_run in cues.CALLED_AFTER or place.before() in ("the", "a", "an")):
        return None  # the Jane Miller Foundation, a Jane Miller song
    if len(run) >= _CAPITALS_OF_TITLES or any(word in cues.FUNCTION - _IN_NAMES for word in run):
        return None  # capitals as in titles: "Jane Miller Is Missing"
    if place.capital_after[:1].isdigit() or place.after() in ("bin", "ibn") or _is_no_person(place):
        return None
    return target.word


_CAPITALS_OF_TITLES = 4
_IN_NAMES = frozenset(("of", "the", "will"))


def group(place: Place, target: Target, names: Names, languages: frozenset[str]) -> str | None:
    """Groups with capitals (religions, nations): adjectives and nouns, not parts of names, not languages."""
    if not _free_of_names(place, names):
        return None
    if place.hyphen_after and place.after_hyphen() in ("speaking", "language"):
        return None
    if place.surface.lower() in languages and _is_language(place):
        return None
    if place.after() in cues.FIXED_AFTER or (place.surface == "Christian" and _is_first_name(place)):
        return None
    if place.hyphen_after or place.cut:
        return target.word
    joined = place.after() in ("and", "or") and place.after(2) in names.groups and not place.after(2).endswith("s")
    if place.before() == "the" and place.before(2) in names.first:
        return None  # John the Baptist
    if place.surface == "New Zealand" and _ends_noun_phrase(place):
        return None
    if target.nouns and not joined and _stands_for_people(place):
        return target.nouns
    if target.noun and _is_singular_noun(place):
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
    if place.hyphen_after or place.before() in ("year", "years", "month", "months", "day", "days", "week", "weeks"):
        return None
    if place.hyphen_before and place.before_hyphen() not in ("non", "half"):
        return None
    return target.word if _before_person(place, target) or _said_of_person(place) else None


def phrase(place: Place, target: Target) -> str | None:
    """Several words, which say but one thing: "wheelchair users", "with autism"."""
    return None if place.case == "title" and not (place.opens or place.capital_after == "") else target.word


def anything(place: Place, target: Target) -> str | None:
    """Words of the user's own pairs: wherever they stand as words."""
    return target.word


def _names_both(place: Place, target: Target) -> bool:
    """Whether the word and its counterpart stand side by side: "men and women", "the king or the queen"."""
    other = target.word.lower()
    if place.gap_after == "/" or place.gap_before == "/":
        return place.neighbour(1) == other or place.neighbour(-1) == other
    for look in (place.after, place.before):
        joint, second = look(), look(2)
        if look == place.before and joint in ("the", "a", "an", "his", "her", "their", "our", "my"):
            joint, second = look(2), look(3)
        elif look == place.after and second in ("the", "a", "an", "his", "her", "their", "our", "my"):
            second = look(3)
        if joint in ("and", "or", "nor", "versus", "vs") and second == other:
            return True
    return False


def _is_fixed(place: Place) -> bool:
    """Whether the word is part of a phrase that means no person: "sister ships", "founding fathers"."""
    word = place.surface.lower()
    if word == "fathers" and place.before() in cues.FOUNDERS:
        return True
    return place.after() in cues.FIXED_PHRASES.get(word, ())


def _opens_plainly(place: Place) -> bool:
    """Whether a capital is only that of a sentence's beginning."""
    if not place.opens or place.capital_after or place.after() == "of" and place.after(2) == "the":
        return False
    return place.gap_after != " = " or place.gap_before.strip(" \n") != "="


def _is_no_person(place: Place) -> bool:
    """Whether the run of capitals behind a name ends in a place, an institution, a ship, a work."""
    return any(word in cues.NOT_PEOPLE_AFTER for word in place.capitals_after())


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
    if place.gap_after.startswith(" <") and _is_no_person(place):
        return False
    before, after = place.capital_before, place.capital_after
    if before and before not in names.groups and not place.hyphen_before:
        weak = place.opener_before and before not in cues.BEFORE_PEOPLES and before not in names.first
        if not weak:
            return False
    if after and not after[0].isdigit() and after not in names.groups and after not in names.first:
        return False
    return not (after and after[0].isdigit())


_OF_THE = frozenset("ancient modern old early first other remaining defeated surviving same poor rich young many".split())


def _stands_for_people(place: Place) -> bool:
    """Whether an adjective that no one is called by stands for the people: "the British retreated", "37 Japanese"."""
    ends = _ends_noun_phrase(place)
    if place.before() == "the" or (place.before(2) == "the" and ends and place.before() in _OF_THE):
        following = place.after()
        return ends or (following.endswith("ed") and following not in cues.NOT_DONE)
    if not ends or place.before() in cues.COPULAS:
        return False
    counted = place.before().isdigit() or place.before() in cues.COUNTED
    return counted or place.after() in cues.OF_SEVERAL or place.after() in ("only", "also", "often", "never", "who")


def _is_first_name(place: Place) -> bool:
    """Whether "Christian" does something, without an article: "Christian transferred to Boston"."""
    acts = place.after() in cues.VERBS or place.after() in ("is", "was", "has", "had") or place.after().endswith("ed")
    return (acts or place.possessive) and place.before() in ("", "and", "but", "that", "when", "as", "where", "while")


def _is_language(place: Place) -> bool:
    if place.after() in cues.LANGUAGE_AFTER or place.possessive:
        return place.after() in cues.LANGUAGE_AFTER
    if place.gap_before.endswith("(") and place.gap_after.strip() == ":":
        return True  # "(German: Haus)"
    ends = _ends_noun_phrase(place)
    if place.before() in cues.LANGUAGE_BEFORE or (
        place.before() in ("from", "of", "to", "and") and place.before(2) in cues.LANGUAGE_BEFORE | {"translation"}
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
    if not _ends_noun_phrase(place) or place.after() in ("and", "or", "but") and place.after(2) not in cues.DETERMINERS:
        return False
    for count in (1, 2, 3):
        word = place.before(count)
        if word in _SINGULAR:
            return not (word == "the" and count == 1 and place.after() in cues.OF_SEVERAL)
        if not word or word in cues.FUNCTION:
            return False
    return False


_SINGULAR = frozenset("a an the another each every this that one".split())


_AGES = frozenset(("young", "old", "older", "elderly", "teenage"))


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
                or ({place.surface.lower(), target.word} & _AGES and word in cues.NOT_BY_AGE)
            )
        if word not in cues.OF_PEOPLE:
            return False
        following += 1
    return False


def _said_of_person(place: Place) -> bool:
    """Whether a verb says it of somebody: "she is blind", "my brother, who was blind"."""
    following = place.after()
    if following and following not in cues.FUNCTION or place.after() in ("to", "for", "with", "about", "of", "on"):
        return False
    count = 1
    if place.before() in ("also", "not", "already", "very", "openly", "still", "now", "both", "born", "legally", "n't"):
        count = 2
    if place.before(count) in ("is", "was", "am", "be", "became", "becomes", "born", "are", "were"):
        subject = place.before(count + 1)
        return subject in cues.PERSONAL or subject in cues.PEOPLE
    # "she's blind", "she 's blind"
    return place.before(count) in ("s", "m") and place.contracted(count) in cues.PERSONAL
