"""Names that a shell offers after TAB (`evenhand --install-completion`): benchmarks, suites, models, classifiers."""

from collections.abc import Callable
from enum import StrEnum


class Kind(StrEnum):
    """A kind of thing that `evenhand list` shows."""

    BENCHMARKS = "benchmarks"
    SUITES = "suites"
    MODELS = "models"
    CLASSIFIERS = "classifiers"
    MITIGATIONS = "mitigations"
    METHODS = "methods"
    MEASURES = "measures"
    DATASETS = "datasets"


def complete_names(kind: Kind) -> Callable[[str], list[tuple[str, str]]]:
    """Return a function that completes a word to names of one kind.

    Returns a function from what was typed so far to names that begin so, each with its one line of description; what
    lies before a "=" (toxicity=vad) is a role and stays.

    >>> [name for name, line in complete_names(Kind.BENCHMARKS)("stereo")]
    ['stereoset']
    >>> [name for name, line in complete_names(Kind.CLASSIFIERS)("toxicity=vad")]
    ['toxicity=vader']
    """

    def complete(incomplete: str) -> list[tuple[str, str]]:
        from evenhand.catalogue import catalogue

        role, separator, begun = incomplete.rpartition("=")
        found = catalogue(kind).values()
        return [
            (f"{role}{separator}{card.name}", card.summary) for card in found if card.name.startswith(begun)
        ]

    return complete


def anything(incomplete: str) -> list[tuple[str, str]]:
    """Return names of every kind that `evenhand show` accepts."""
    offered = [pair for kind in Kind for pair in complete_names(kind)(incomplete)]
    return list(dict(offered).items())


def lists_of_terms(incomplete: str) -> list[str]:
    """Return the named lists of `evenhand frequencies --terms`, after those already before a comma.

    >>> lists_of_terms("pronouns,descr")
    ['pronouns,descriptors']
    """
    from evenhand.corpus.terms import LISTS

    before, comma, begun = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in LISTS if name.startswith(begun)]
