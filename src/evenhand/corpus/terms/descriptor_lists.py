"""Descriptors of people from evenhand's lexicon and from HolisticBias, with plurals that count as them."""

import re
from collections.abc import Iterator
from pathlib import Path

from evenhand.corpus.normalising import normalise
from evenhand.corpus.terms.ambiguity import is_ambiguous
from evenhand.corpus.terms.candidates import Candidate
from evenhand.prompts import HolisticBias, load_lexicon
from evenhand.prompts.datasets import dataset_folder
from evenhand.prompts.holisticbias import HolisticBiasPhrase, published_holisticbias
from evenhand.prompts.lexicon import pluralise

OWN = "evenhand"
KIND = "descriptor"
NAMING_PEOPLE = ("race_ethnicity", "nationality", "religion", "sexual_orientation", "political_ideologies")
"""Axes whose adjectives have plurals that name people ("Asians", "gays"). On other axes,
plurals are other words ("shorts").
"""
NEVER_PLURAL = re.compile(
    r"(?:ish|ese|ch|ed|ing|less|ous)$|^(?:anti|pro|far|alt)-|^spiritual$|^normal$", re.IGNORECASE
)
"""Axes whose adjectives do not name people in the plural: "left wings" are of planes, and "spirituals" are songs."""
NONE = "(none)"
NOUNS = "-nouns"
"""Suffix of the source of HolisticBias' noun phrases."""


def lexicon_descriptors() -> Iterator[Candidate]:
    """Yield all descriptors of evenhand's lexicon; group: their bucket."""
    for each in load_lexicon().descriptors:
        written = None if each.form == "adjective" else each.plural
        plurals = form_plurals(each.axis, each.descriptor, written)
        yield Candidate(
            KIND, each.axis, each.bucket, each.descriptor, OWN, plurals, is_ambiguous(each.descriptor)
        )


def holisticbias_descriptors(
    folder: Path | None, version: str | None = None, *, nouns: bool = False
) -> Iterator[Candidate]:
    """Yield the descriptors of a published version, as the paper counts them; group: their bucket.

    nouns: yield the noun phrases of its other file ("a wheelchair user") instead, which have no bucket. folder,
    version: as in `published_holisticbias` and `dataset_folder`; None: version 1.1, or the version in the folder.
    Raises DatasetMissing if it is not installed, and ChecksumMismatch if it differs from the published one.
    """
    if version is None:
        sentences = published_holisticbias(folder)
    else:
        sentences = HolisticBias.load(dataset_folder("holisticbias", version, folder), version)
    source = f"holisticbias-{sentences.version}{NOUNS * nouns}"
    shown = [
        (phrase, found) for phrase in sentences.phrases if (found := _extract_descriptor(phrase)) is not None
    ]
    # "immigrant" is a descriptor without a plural, and a noun phrase with one
    written = {normalise(name): plural for _, (name, plural) in shown if plural is not None}
    for phrase, (name, plural) in shown:
        if (phrase.bucket == NONE) == nouns:
            group = "" if nouns else phrase.bucket
            plurals = form_plurals(phrase.axis, name, plural or written.get(normalise(name)))
            yield Candidate(KIND, phrase.axis, group, name, source, plurals, is_ambiguous(name))


def _extract_descriptor(phrase: HolisticBiasPhrase) -> tuple[str, str | None] | None:
    """Return the descriptor in a noun phrase and its plural; None for a phrase without a separate descriptor."""
    match phrase.noun_phrase_type:
        case "descriptor":
            return phrase.descriptor, None
        case "noun_descriptor":
            return phrase.descriptor, phrase.plural_noun_phrase.removeprefix(f"{phrase.plural_noun} ")
        case "fixed_phrase":
            return phrase.noun_phrase.removeprefix("a ").removeprefix("an "), phrase.plural_noun_phrase
    return None


def form_plurals(axis: str, name: str, written: str | None) -> tuple[str, ...]:
    """Return the words that count as the plural of a descriptor.

    written: the plural in its list; None for adjectives, whose plural is formed by rule on axes where it names people.

    >>> form_plurals("nationality", "Kenyan", None), form_plurals("body_type", "short", None)
    (('Kenyans',), ())
    """
    if written is not None:
        return () if written == name else (written,)
    names_people = axis in NAMING_PEOPLE and name[-1].isalpha() and NEVER_PLURAL.search(name) is None
    return (pluralise(name),) if names_people else ()
