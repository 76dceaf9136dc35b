"""Measures of other packages: found by name, refused without a card of that name."""

import sys
from types import ModuleType

import pytest

from evenhand.measures import MEASURES, MeasureInfo
from evenhand.measures.registry import REGISTERED, check_measures, measure_cards, measure_info
from evenhand.schema import Card, UsageError
from evenhand.schema.registry import ExtensionError


@pytest.fixture
def theirs(installed, monkeypatch):
    module = ModuleType("measures_of_this_test")
    module.GAP = MeasureInfo("their_gap", Card("their_gap", "Of another package."), "share")
    module.CARD = Card("bare_gap", "A card alone is no measure.")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    points = {"their_gap": "GAP", "other_name": "GAP", "bare_gap": "CARD"}
    installed(
        "theirs", "evenhand.measures", {name: f"{module.__name__}:{what}" for name, what in points.items()}
    )


def test_ours_and_theirs_are_found(theirs):
    assert measure_info("their_gap").unit == "share"
    assert measure_info("perplexity") is MEASURES["perplexity"]
    assert REGISTERED.names()[: len(MEASURES)] == list(MEASURES)
    cards = measure_cards(["their_gap", "perplexity", "of_an_older_version", "their_gap"])
    assert {name: card.name for name, card in cards.items()} == {n: n for n in ("their_gap", "perplexity")}
    check_measures(["their_gap", "perplexity"], "The benchmark 'x'")
    with pytest.raises(UsageError, match="Did you mean 'their_gap'"):
        measure_info("there_gap")


def test_a_row_of_a_measure_without_card_is_refused(theirs):
    with pytest.raises(
        ExtensionError, match="The benchmark 'x' computes the measure 'no_gap', which has no card"
    ):
        check_measures(["perplexity", "no_gap"], "The benchmark 'x'")
    with pytest.raises(
        ExtensionError, match=r"'bare_gap' of the package theirs is of type Card, but an .*MeasureInfo"
    ):
        check_measures(["bare_gap"], "The benchmark 'x'")
    with pytest.raises(ExtensionError, match="'other_name' of the package theirs has no card"):
        measure_info("other_name")
