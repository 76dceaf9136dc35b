"""The lists that need no download: our lexicon's descriptors and person nouns, names, and the paper's pronouns."""

from collections.abc import Iterator

from evenhand.corpus.terms.candidates import Candidate
from evenhand.prompts.lexicon import Descriptor, load_lexicon, pluralise
from evenhand.prompts.names import load_names

OWN = "evenhand"
PRONOUNS = {
    "she": ("she", "her", "hers", "herself"),
    "he": ("he", "him", "his", "himself"),
    "they": ("they", "them", "their", "theirs", "theirself", "themself", "themselves"),
}
"""ROBBIE, section B.4.1, which has them from Chowdhery et al. 2022."""
PRONOUN_SOURCE = "robbie"
ADJECTIVES_USED_AS_NOUNS = frozenset(
    (
        "race_ethnicity",
        "nationality",
        "religion",
        "sexual_orientation",
        "political_ideologies",
    )
)
"""Axes whose adjectives also name people in the plural ("Asians", "gays"); elsewhere that makes other words ("shorts")."""


def plurals_of(axis: str, name: str, plural: str | None) -> tuple[str, ...]:
    """The plurals that count as a descriptor: the one its list gives, else the grammar's of adjectives used as nouns.

    >>> plurals_of("nationality", "Kenyan", None), plurals_of("body_type", "short", None)
    (('Kenyans',), ())
    """
    if plural is not None and plural != name:
        return (plural,)
    return (pluralise(name),) if axis in ADJECTIVES_USED_AS_NOUNS and name[-1].isalpha() else ()


def descriptors() -> Iterator[Candidate]:
    for each in load_lexicon().descriptors:
        yield Candidate("descriptor", each.axis, each.bucket, each.descriptor, OWN, _plurals(each))


def _plurals(each: Descriptor) -> tuple[str, ...]:
    if each.form == "adjective":
        return plurals_of(each.axis, each.descriptor, None)
    return (each.plural,) if each.plural != each.descriptor else ()


def person_nouns() -> Iterator[Candidate]:
    for noun in load_lexicon().nouns:
        yield Candidate("person_noun", "person_nouns", noun.gender, noun.singular, OWN, (noun.plural,))


def pronouns() -> Iterator[Candidate]:
    for group, words in PRONOUNS.items():
        for word in words:
            yield Candidate("pronoun", "pronouns", group, word, PRONOUN_SOURCE)


def names() -> Iterator[Candidate]:
    for name, gender in load_names().select("name", "gender").unique().iter_rows():
        yield Candidate("name", "names", gender, name, OWN)
