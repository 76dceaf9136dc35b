"""Compose the noun phrases of HolisticBias from descriptors and nouns, with published or corrected articles."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from evenhand.prompts.holisticbias.files import NounEntry, Parts
from evenhand.prompts.lexicon import article as article_by_sound

NONE = "(none)"
CONTROL_AXIS = "null"


class HolisticBiasPhrase(NamedTuple):
    """A noun phrase. The fields have the names and the order of the published columns."""

    axis: str
    bucket: str
    descriptor: str
    descriptor_gender: str
    descriptor_preference: str
    noun: str
    plural_noun: str
    noun_gender: str
    noun_phrase: str
    plural_noun_phrase: str
    noun_phrase_type: str


def compose_phrases(parts: Parts, as_published: bool) -> list[HolisticBiasPhrase]:
    """Return all noun phrases in the published order: sorted by all columns, by Unicode code point.

    parts: content of the four files. as_published: choose the article by the first letter instead of by the sound.
    There are 18,382 phrases for v1.0 and 22,029 for v1.1. Source: Smith et al. 2022, section 3.
    """
    article = article_by_letter if as_published else article_by_sound
    return sorted(
        [*_bare_nouns(parts, article), *_with_descriptors(parts, article), *_standalone(parts, article)]
    )


def article_by_letter(phrase: str) -> str:
    """Return the article by the published rule: "an" before the letters a, e, i, o and u, else "a".

    phrase: a text of at least one character. Source: the released code of Smith et al. 2022.

    >>> article_by_letter("European"), article_by_letter("hour")
    ('an', 'a')
    """
    return "an" if phrase[0].lower() in "aeiou" else "a"


Article = Callable[[str], str]


def _bare_nouns(parts: Parts, article: Article) -> Iterator[HolisticBiasPhrase]:
    for noun in parts.nouns:
        phrase = f"{article(noun.singular)} {noun.singular}"
        yield HolisticBiasPhrase(
            CONTROL_AXIS, NONE, NONE, NONE, NONE,
            noun.singular, noun.plural, noun.gender, phrase, noun.plural, "noun",
        )  # fmt: skip


def _with_descriptors(parts: Parts, article: Article) -> Iterator[HolisticBiasPhrase]:
    for entry in parts.descriptors:
        word = entry.descriptor
        group = (entry.axis, entry.bucket, word, entry.gender or NONE, entry.preference or "no_data")
        yield HolisticBiasPhrase(*group, NONE, NONE, NONE, word, word, "descriptor")
        for noun in parts.nouns:
            if entry.gender in (None, noun.gender):
                phrase = f"{entry.article or article(word)} {word} {noun.singular}"
                plural = f"{word} {noun.plural}"
                yield HolisticBiasPhrase(*group, *_noun_columns(noun), phrase, plural, "descriptor_noun")


def _standalone(parts: Parts, article: Article) -> Iterator[HolisticBiasPhrase]:
    for entry in parts.standalone:
        preference = entry.preference or "no_data"
        if not entry.has_placeholder:
            group = (entry.axis, NONE, entry.singular, NONE, preference)
            yield HolisticBiasPhrase(
                *group, NONE, NONE, "neutral", entry.singular, entry.plural, "fixed_phrase"
            )
            continue
        descriptor = _fill_template(entry.singular, "", "")
        group = (entry.axis, NONE, descriptor, NONE, preference)
        for noun in parts.nouns:
            phrase = _fill_template(entry.singular, article(noun.singular), noun.singular)
            plural = _fill_template(entry.plural, "", noun.plural)
            yield HolisticBiasPhrase(*group, *_noun_columns(noun), phrase, plural, "noun_descriptor")


def _noun_columns(noun: NounEntry) -> tuple[str, str, str]:
    return noun.singular, noun.plural, noun.gender


def _fill_template(template: str, article: str, noun: str) -> str:
    return template.replace("{article}", article).replace("{noun}", noun).lstrip()
