"""Which classifiers there are, by name, and what each states about itself."""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from evenhand.classifiers.presets import PRESETS
from evenhand.schema import Card

GROUP = "evenhand.classifiers"
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


def registered_classifiers() -> dict[str, EntryPoint]:
    """Classifiers of other packages, by name: functions that return a Classifier, under the entry-point group
    "evenhand.classifiers"."""
    return {point.name: point for point in entry_points(group=GROUP)}


def classifier_names() -> list[str]:
    """Names that `load_classifier` knows without a folder or a hub; "scores:FILE" stands for any file.

    >>> classifier_names()[:3]
    ['toxigen', 'regard', 'detoxify']
    """
    return [*PRESETS, *BACKENDS, f"{SCORES}FILE", *sorted(registered_classifiers())]


def classifier_cards() -> dict[str, Card]:
    """A card for each preset and backend of this package, by name: what it was trained on, what it calls harmful,
    its known group bias, licence and citation.

    >>> classifier_cards()["regard"].licence
    'CC BY 4.0'
    """
    cards = [preset.card for preset in PRESETS.values()]
    cards += [import_module(module).CARD for module in (*BACKENDS.values(), EXISTING)]
    return {card.name: card for card in cards}
