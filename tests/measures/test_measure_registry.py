"""Every measure states what it is; the cards are complete and name their functions."""

from dataclasses import FrozenInstanceError

import pytest

import evenhand.measures as measures
from evenhand.benchmarks import benchmark_names, load_benchmark
from evenhand.measures import MEASURES, MeasureInfo
from evenhand.schema import Card

NEEDED = ("summary", "construct", "groups", "direction", "null", "critique", "source")


@pytest.mark.parametrize("name", MEASURES)
def test_cards_are_complete(name: str) -> None:
    info = MEASURES[name]
    assert info.name == info.card.name == name and info.unit
    for field in NEEDED:
        assert getattr(info.card, field).strip(), f"{name} has no {field}"
    if name != "perplexity":
        assert info.card.harm and info.card.citation and info.card.ideal
    assert len(info.card.summary) <= 110 and "\n" not in info.card.summary


@pytest.mark.parametrize("name", benchmark_names())
def test_what_a_benchmark_calls_harmful_is_a_measure_that_has_a_card(name: str) -> None:
    assert set(load_benchmark(name).harmful) <= set(MEASURES)


def test_the_registry_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        MEASURES["x"] = MEASURES["perplexity"]  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        MEASURES["perplexity"].unit = "x"  # type: ignore[misc]


def test_a_card_of_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'a' carries the card of 'b'"):
        MeasureInfo("a", Card("b", "summary"), "unit")


def test_public_functions_are_functions_not_modules() -> None:
    for name in (
        "likelihood_bias",
        "perplexity",
        "crows_pairs",
        "stereoset",
        "valence_shift",
        "agreement",
        "parroting",
    ):
        assert callable(getattr(measures, name))
