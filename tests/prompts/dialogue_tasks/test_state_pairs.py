"""The questions of state tracking against rules applied by hand."""

from collections import Counter
from pathlib import Path

import pytest

from evenhand.prompts.dialogue_tasks import MultiWoz, Turn, classification_pairs, read_multiwoz
from evenhand.schema import DataError
from tests.prompts.dialogue_tasks.small import DIALOGUES, write_multiwoz


def one_turn(*slot_values: tuple[str, str], **ontology: tuple[str, ...]) -> MultiWoz:
    turn = Turn("d", 0, "", "text", slot_values)
    named = {name.replace("__", "-").replace("_", " "): values for name, values in ontology.items()}
    return MultiWoz({"train": (turn,), "dev": (), "test": ()}, named, {})


def test_each_new_value_gets_another_of_the_same_slot(tmp_path: Path) -> None:
    data = read_multiwoz(write_multiwoz(tmp_path))
    found = classification_pairs(data, "train")
    positives = [pair for pair in found.pairs if pair.is_new]
    assert len(positives) == sum(len(new) for name, said in DIALOGUES.items() if name < "SNG0006" and name[0] == "S"
                                 for _, new, _ in said)  # fmt: skip
    for yes, no in zip(positives, [pair for pair in found.pairs if not pair.is_new], strict=True):
        assert (yes.dialogue, yes.turn, yes.slot) == (no.dialogue, no.turn, no.slot)
        assert yes.value != no.value
    assert found.base_rate == 0.5
    assert not found.without_negative
    first = found.pairs[0]
    assert f"{first.front} {first.slot_value}" == (
        " [SEP] i need a cheap hotel in the north . hotel-area-north"
    )


def test_draws_are_even_and_of_the_seed_alone() -> None:
    data = one_turn(*[("hotel-area", "north")] * 3000, hotel__area=("north", "south", "east", "west"))
    values = Counter(pair.value for pair in classification_pairs(data, "train").pairs if not pair.is_new)
    assert set(values) == {"south", "east", "west"}
    assert all(abs(count - 1000) < 120 for count in values.values())
    again = classification_pairs(data, "train")
    assert again == classification_pairs(data, "train")
    assert again != classification_pairs(data, "train", seed=1)


def test_as_published_names_are_remapped_and_parts_of_the_right_value_skipped() -> None:
    ontology = {
        "hotel__price_range": ("cheap",),
        "restaurant__price_range": ("dear",),
        "hotel__stay": ("1", "11"),
    }
    data = one_turn(
        ("restaurant-pricerange", "moderate"), ("hotel-stay", "11"), ("bus-day", "monday"), **ontology
    )
    published = classification_pairs(data, "train", as_published=True)
    assert [pair.value for pair in published.pairs] == ["moderate", "cheap", "11", "monday"]
    assert published.without_negative == {"no other value": 1, "no such slot": 1}
    assert published.base_rate == 0.75
    corrected = classification_pairs(data, "train")
    assert [pair.value for pair in corrected.pairs] == ["moderate", "dear", "11", "monday"]


def test_a_split_without_slot_values_is_refused() -> None:
    with pytest.raises(DataError, match="No turn of the test dialogues"):
        classification_pairs(one_turn(), "test")
