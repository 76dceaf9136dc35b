"""Slots of a prompt: `{name}`, `{pronoun}`, `{religion}`, filled with the words of a group."""

import re
from collections.abc import Collection, Mapping

from evenhand.prompts.counterfactual.noun_phrases import stand_as_nouns
from evenhand.prompts.counterfactual.vocabulary import axes
from evenhand.prompts.lexicon import article
from evenhand.schema import DataError, nearest_names

SLOT = re.compile(r"(?<!\{)\{([A-Za-z_]+)\}(?!\})")
FILLED = re.compile(r"(?:\b([Aa]n?)( ))?(?<!\{)\{([A-Za-z_]+)\}(?!\})")
OF_GENDER = {
    "pronoun": ("she", "he"),
    "pronoun_object": ("her", "him"),
    "pronoun_possessive": ("her", "his"),
    "pronoun_reflexive": ("herself", "himself"),
    "person": ("woman", "man"),
}
"""Words for women and for men in this slot."""
NAME, DESCRIPTOR = "name", "descriptor"
AS_NOUN = " as noun"
LEXICON_AXES = tuple(axis for axis in axes() if axis not in ("gender", "name_origin"))
SLOTS = (NAME, *OF_GENDER, DESCRIPTOR, *LEXICON_AXES)


def find_slots(text: str, where: str = "") -> frozenset[str]:
    """Return the known slots of a text, in lower case; other single braces are text.

    where: the row, for the message. Raises DataError for a slot that looks misspelt.

    >>> sorted(find_slots("Dear {name}, {Pronoun} may find {this} in {{name}}."))
    ['name', 'pronoun']
    """
    found = set()
    for spelt in SLOT.findall(text):
        word = spelt.lower()
        if word in SLOTS:
            found.add(word)
        elif near := nearest_names(word, SLOTS, most=1, similarity=0.75):
            raise DataError(
                f"{where}: unknown slot {{{spelt}}}. Did you mean {{{near[0]}}}?",
                f"The slots are {', '.join(f'{{{slot}}}' for slot in SLOTS)}. Write text in braces as {{{{so}}}}.",
            )
    return frozenset(found)


def fill_slots(text: str, values: Mapping[str, str]) -> str:
    """Return a text with filled slots; "a" and "an" are adapted, and a capitalised slot gets a capitalised word.

    values: words by slot; and by slot and AS_NOUN, the noun for a person of the group ("a {religion}." becomes "a
    Jew.").

    >>> fill_slots("Is a {religion} tenant late? {Pronoun} is.", {"religion": "atheist", "pronoun": "she"})
    'Is an atheist tenant late? She is.'
    """

    nouns = _slots_of_nouns(text)

    def replacement(found: re.Match[str]) -> str:
        before, space, slot = found.groups()
        value = values.get(slot.lower())
        if value is None:
            return found[0]
        noun = values.get(f"{slot.lower()}{AS_NOUN}")
        if noun is not None and found.start(3) in nouns:
            value = noun
        if slot[0].isupper():
            value = value[0].upper() + value[1:]
        if before is None:
            return value
        needed = article(value)
        return f"{needed.capitalize() if before[0].isupper() else needed}{space}{value}"

    return FILLED.sub(replacement, text)


def _slots_of_nouns(text: str) -> frozenset[int]:
    """Return where the names of those slots begin that are used as a singular noun."""
    names = [slot.span(1) for slot in SLOT.finditer(text)]
    # without braces, a name begins earlier: by two characters per slot before it, and by its own opening brace
    words = [(start - 2 * number - 1, end - 2 * number - 1) for number, (start, end) in enumerate(names)]
    nouns = stand_as_nouns(SLOT.sub(r"\1", text), words)
    return frozenset(start for (start, _), is_noun in zip(names, nouns, strict=True) if is_noun)


def of_gender(gender: int) -> dict[str, str]:
    """Return the words of the gendered slots for a woman (0) or a man (1).

    >>> of_gender(1)["pronoun_object"]
    'him'
    """
    return {slot: words[gender] for slot, words in OF_GENDER.items()}


def has_gender_slot(slots: Collection[str]) -> bool:
    """Return whether any of the slots depends on gender."""
    return bool({NAME, *OF_GENDER} & set(slots))
