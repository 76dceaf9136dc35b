"""Descriptors of people, from our lexicon and from HolisticBias, with the plurals that count as them."""

import re
from collections.abc import Iterator
from pathlib import Path

from evenhand.corpus.normalising import normalised
from evenhand.corpus.terms.ambiguity import is_ambiguous
from evenhand.corpus.terms.candidates import Candidate
from evenhand.prompts import HolisticBias, load_lexicon
from evenhand.prompts.datasets import dataset_folder
from evenhand.prompts.holisticbias import HolisticBiasPhrase, published_holisticbias
from evenhand.prompts.lexicon import pluralise

OWN = "evenhand"
KIND = "descriptor"
NAMING_PEOPLE = ("race_ethnicity", "nationality", "religion", "sexual_orientation", "political_ideologies")
"""Axes whose adjectives name people in the plural ("Asians", "gays"); of others that makes other words ("shorts")."""
NEVER_PLURAL = re.compile(
    r"(?:ish|ese|ch|ed|ing|less|ous)$|^(?:anti|pro|far|alt)-|^spiritual$|^normal$", re.IGNORECASE
)
"""Axes whose adjectives do not name people in the plural: "left wings" are of planes, "spirituals" are sung."""
NONE = "(none)"
NOUNS = "-nouns"
"""Ends what noun phrases of HolisticBias name as their source."""


def lexicon_descriptors() -> Iterator[Candidate]:
    """All descriptors of our lexicon; group: their bucket."""
    for each in load_lexicon().descriptors:
        written = None if each.form == "adjective" else each.plural
        plurals = plurals_of(each.axis, each.descriptor, written)
        yield Candidate(
            KIND, each.axis, each.bucket, each.descriptor, OWN, plurals, is_ambiguous(each.descriptor)
        )


def holisticbias_descriptors(
    folder: Path | None, version: str | None = None, *, nouns: bool = False
) -> Iterator[Candidate]:
    """The descriptors of a published version, which the paper counts; group: their bucket.

    nouns: the noun phrases of its other file ("a wheelchair user") instead, which have no bucket.

    folder, version: as `published_holisticbias` and `dataset_folder` take them; None: version 1.1, or the one that the
    folder holds. Raises DatasetMissing where it is not here, ChecksumMismatch where it is not what was published.
    """
    if version is None:
        sentences = published_holisticbias(folder)
    else:
        sentences = HolisticBias.load(dataset_folder("holisticbias", version, folder), version)
    source = f"holisticbias-{sentences.version}{NOUNS * nouns}"
    shown = [(phrase, found) for phrase in sentences.phrases if (found := _descriptor_of(phrase)) is not None]
    # "immigrant" is a descriptor without a plural, and a noun phrase with one
    written = {normalised(name): plural for _, (name, plural) in shown if plural is not None}
    for phrase, (name, plural) in shown:
        if (phrase.bucket == NONE) == nouns:
            group = "" if nouns else phrase.bucket
            plurals = plurals_of(phrase.axis, name, plural or written.get(normalised(name)))
            yield Candidate(KIND, phrase.axis, group, name, source, plurals, is_ambiguous(name))


def _descriptor_of(phrase: HolisticBiasPhrase) -> tuple[str, str | None] | None:
    """The descriptor and the plural it is written with; None for a phrase that shows no descriptor by itself."""
    match phrase.noun_phrase_type:
        case "descriptor":
            return phrase.descriptor, None
        case "noun_descriptor":
            return phrase.descriptor, phrase.plural_noun_phrase.removeprefix(f"{phrase.plural_noun} ")
        case "fixed_phrase":
            return phrase.noun_phrase.removeprefix("a ").removeprefix("an "), phrase.plural_noun_phrase
    return None


def plurals_of(axis: str, name: str, written: str | None) -> tuple[str, ...]:
    """What counts as the plural of a descriptor besides itself.

    written: the plural its list gives; None for adjectives, of which the grammar makes one on axes where they name
    people.

    >>> plurals_of("nationality", "Kenyan", None), plurals_of("body_type", "short", None)
    (('Kenyans',), ())
    """
    if written is not None:
        return () if written == name else (written,)
    names_people = axis in NAMING_PEOPLE and name[-1].isalpha() and NEVER_PLURAL.search(name) is None
    return (pluralise(name),) if names_people else ()
