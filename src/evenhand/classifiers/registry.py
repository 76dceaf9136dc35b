"""Which classifiers there are, by name, and what each states about itself."""

from collections import ChainMap
from importlib import import_module
from types import ModuleType
from typing import Any

from evenhand.classifiers.presets import PRESETS, Preset
from evenhand.schema import Card
from evenhand.schema.registry import Registry

SCORES = "scores:"
"""What stands in front of a file of existing scores."""
BACKENDS = {
    "vader": "evenhand.classifiers.vader",
    "evenhand/lexicon-toxicity": "evenhand.classifiers.lexicon",
    "perspective": "evenhand.classifiers.perspective",
    "moderation": "evenhand.classifiers.moderation",
    "llm-judge": "evenhand.classifiers.llm_judge",
}
"""Modules with a CARD and a function `load(options: dict[str, Any]) -> Classifier`, imported when asked for."""
EXISTING = "evenhand.classifiers.existing_scores"
"""The module with the CARD of existing scores, which have no name of their own."""


CLASSIFIERS: Registry[Any] = Registry(
    "classifier",
    "evenhand.classifiers",
    ChainMap(BACKENDS, PRESETS),  # presets come first
    "a function that returns a Classifier",
    lambda found: callable(found) or isinstance(found, Preset | ModuleType),
)
"""A `Preset`, a module of `BACKENDS`, or what another package registers: a function or class that makes one."""


def classifier_names() -> list[str]:
    """Names that `load_classifier` knows without a folder or a hub; "scores:FILE" stands for any file.

    >>> classifier_names()[:3]
    ['toxigen', 'regard', 'detoxify']
    """
    names = CLASSIFIERS.names()
    ours = len(CLASSIFIERS.built_in)
    return [*names[:ours], f"{SCORES}FILE", *names[ours:]]


def classifier_cards() -> dict[str, Card]:
    """A card for each preset and backend of this package, by name: what it was trained on, what it calls harmful,
    its known group bias, licence and citation.

    >>> classifier_cards()["regard"].licence
    'CC BY 4.0'
    """
    cards = [preset.card for preset in PRESETS.values()]
    cards += [import_module(module).CARD for module in (*BACKENDS.values(), EXISTING)]
    return {card.name: card for card in cards}
