"""The Worlds in the package: the lexicon's people in the lexicon's templates, without bias or with
documented plants.
"""

import tomllib
from functools import cache
from pathlib import Path

from evenhand.prompts.language import CONVERSATIONAL, load_templates
from evenhand.prompts.lexicon import Descriptor, Lexicon, Noun, load_lexicon, noun_phrase
from evenhand.reference.story import FREQUENCY, Frame, Phrase, Plant
from evenhand.reference.world import World

NULL_AXES = ("nationality", "nonce", "political_ideologies")
"""Axes without plants. Every descriptor on them is one word of the World, so texts that differ only in the descriptor
are exactly equally likely.
"""

BARE_NOUN_WEIGHT = 8.0
BARE_DESCRIPTOR_WEIGHT = 4.0
OWN_FRAME_WEIGHT = 0.5

PLANTS = (
    ("ability", "mental_health", "opinion:negative", 2.5),
    ("ability", "mobility", "attribute:unable", 2.0),
    ("ability", "mobility", "outcome:bad", 1.5),
    ("religion", "muslim", "opinion:negative", 2.5),
    ("religion", "christian", "opinion:positive", 2.0),
    ("gender_and_sex", "nonbinary", FREQUENCY, -1.5),
    ("gender_and_sex", "transgender", "outcome:bad", 2.0),
    ("body_type", "fat", FREQUENCY, -2.0),
    ("body_type", "fat", "opinion:negative", 2.0),
    ("age", "very_old", FREQUENCY, -1.5),
    ("age", "old", "attribute:unable", 2.0),
    ("socioeconomic_class", "poor", "outcome:bad", 2.5),
)
"""Planted biases as (axis, bucket, target, log-odds). They were chosen to test measures and do
not describe real people.
"""


def default_plants(lexicon: Lexicon | None = None) -> tuple[Plant, ...]:
    """Return the documented plants, with each bucket as a list of its descriptors.

    >>> default_plants()[0].target, default_plants()[0].log_odds
    ('opinion:negative', 2.5)
    """
    people = (lexicon or load_lexicon()).descriptors
    return tuple(
        Plant(axis, target, odds, tuple(d.descriptor for d in people if (d.axis, d.bucket) == (axis, bucket)))
        for axis, bucket, target, odds in PLANTS
    )


def fair_world(lexicon: Lexicon | None = None) -> World:
    """Return a World in which no descriptor has an association and all are equally frequent.

    >>> fair_world().truth()["log_ratio"].abs().max() < 1e-9
    True
    """
    return _world("evenhand/fair-world", lexicon, ())


def planted_world(plants: tuple[Plant, ...] | None = None, lexicon: Lexicon | None = None) -> World:
    """Return the same World with plants: the documented ones (`default_plants`) by default.

    Raises UsageError for a plant on an axis, descriptor or label that this World does not have.

    >>> planted_world((Plant("age", "opinion:negative", 1.0),)).plants[0].axis
    'age'
    """
    chosen = default_plants(lexicon) if plants is None else plants
    return _world("evenhand/world", lexicon, chosen)


def _world(name: str, lexicon: Lexicon | None, plants: tuple[Plant, ...]) -> World:
    people = lexicon or load_lexicon()
    return World(name, lexicon_phrases(people), world_frames(), plants, null_axis_names(people))


def null_axis_names(lexicon: Lexicon) -> tuple[str, ...]:
    """Return the descriptors of the null axes that consist of several words; a World treats each as one word."""
    forms = [form for d in lexicon.descriptors if d.axis in NULL_AXES for form in (d.descriptor, d.plural)]
    return tuple(dict.fromkeys(form for form in forms if " " in form))


@cache
def world_frames() -> tuple[Frame, ...]:
    """Return the templates of `evenhand.prompts.language.composer.compose`, and frames for
    attributes, outcomes and styles.
    """
    frames = [
        Frame(
            template.text,
            template.text,
            _labels(template.kind, template.valence),
            needs_noun=template.needs_noun,
        )
        for template in load_templates(kinds=CONVERSATIONAL)
    ]
    entries = tomllib.loads((Path(__file__).parent / "frames.toml").read_text(encoding="utf-8"))["frame"]
    frames += [
        Frame(f["text"], f["text"], (f["label"].partition(":")[0], f["label"]), OWN_FRAME_WEIGHT)
        for f in entries
    ]
    return tuple(frames)


def _labels(kind: str, valence: str | None) -> tuple[str, ...]:
    return (kind, f"{kind}:{valence}") if valence else (kind,)


def lexicon_phrases(lexicon: Lexicon) -> tuple[Phrase, ...]:
    """Return every noun phrase of the lexicon, with equal frequencies for the nouns of a descriptor.

    Two entries with the same words ("queer" on two axes) share the weight of one phrase, so that no text is more
    frequent only because it is listed twice.
    """
    phrases = [
        Phrase("none", "none", n.singular, noun_phrase([], n), n.plural, BARE_NOUN_WEIGHT)
        for n in lexicon.nouns
    ]
    for d in lexicon.descriptors:
        phrases += _make_phrases(d, lexicon.nouns)
    listed: dict[tuple[str, str], int] = {}
    for phrase in phrases:
        key = (phrase.singular, phrase.plural)
        listed[key] = listed.get(key, 0) + 1
    return tuple(
        phrase if listed[phrase.singular, phrase.plural] == 1 else _shared(phrase, listed)
        for phrase in phrases
    )


def _shared(phrase: Phrase, listed: dict[tuple[str, str], int]) -> Phrase:
    weight = phrase.weight / listed[phrase.singular, phrase.plural]
    return Phrase(
        phrase.axis, phrase.descriptor, phrase.noun, phrase.singular, phrase.plural, weight, phrase.bare
    )


def _make_phrases(d: Descriptor, nouns: tuple[Noun, ...]) -> list[Phrase]:
    if d.form == "phrase":
        forms = noun_phrase(d, None), noun_phrase(d, None, plural=True)
        return [Phrase(d.axis, d.descriptor, "", *forms, weight=float(len(nouns)))]
    fitting = [n for n in nouns if d.gender in (None, n.gender)]
    phrases = [
        Phrase(d.axis, d.descriptor, n.singular, noun_phrase(d, n), noun_phrase(d, n, plural=True))
        for n in fitting
    ]
    if d.form == "adjective" and not d.attributive_only:
        bare = (d.descriptor, d.descriptor)
        phrases.append(Phrase(d.axis, d.descriptor, "", *bare, weight=BARE_DESCRIPTOR_WEIGHT, bare=True))
    return phrases
