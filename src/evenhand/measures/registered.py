"""Measures of this package and of others, which add theirs under the entry-point group "evenhand.measures"."""

from collections.abc import Iterable, Mapping

from evenhand.measures.info import MeasureInfo
from evenhand.measures.registry import MEASURES
from evenhand.schema import Card
from evenhand.schema.registry import ExtensionError, Registry

REGISTERED: Registry[MeasureInfo] = Registry(
    "measure",
    "evenhand.measures",
    MEASURES,
    "an evenhand.measures.MeasureInfo with a card",
    lambda found: isinstance(found, MeasureInfo),
    lambda info, name: info.card if info.name == name else None,
)


def measure_info(name: str) -> MeasureInfo:
    """What a measure says of itself; raises UsageError with the nearest names for one without a card.

    >>> measure_info("likelihood_bias").unit
    'share of descriptor pairs'
    """
    return REGISTERED.load(name)


def measure_cards(names: Iterable[str]) -> Mapping[str, Card]:
    """Cards by name of those measures that have one; others are left out (rows of a run may be older than we)."""
    return {name: measure_info(name).card for name in dict.fromkeys(names) if name in REGISTERED}


def check_measures(names: Iterable[str], owner: str) -> None:
    """Raise ExtensionError if a measure has no card, and what the entry of one that cannot be used raises.

    names: of the `measure` column. owner: the benchmark or suite whose rows they are.
    """
    for name in dict.fromkeys(names):
        if name not in REGISTERED:
            raise ExtensionError(
                f"{owner} gives a measure {name!r} that has no card, and what has no card is not reported.",
                "Register a MeasureInfo of that name under the entry-point group evenhand.measures "
                "(docs/extending.md); the answers that were paid for are kept, so the same command goes on from them.",
            )
        measure_info(name)
