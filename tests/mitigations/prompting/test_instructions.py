"""Found instructions as files: written, read, named on the command line, refused when broken."""

import json
from pathlib import Path

import pytest

from evenhand.mitigations.loading import load_mitigation, mitigation_cards
from evenhand.mitigations.prompting.instructions import FoundInstruction, read_found_instruction
from evenhand.models.contract import text_generator
from evenhand.models.decoding import Decoding
from evenhand.models.puppets import writes
from evenhand.schema import Card, DataError, UsageError

CARD = Card("found-instruction", "Found somewhere.", critique="None.")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    one = FoundInstruction('Sei "gütig" zu allen.\tImmer.', CARD, " || ", {"verdict": "lower", "p": None})
    path = one.write(tmp_path / "deep" / "instruction.json")
    assert read_found_instruction(path) == one
    mitigation = load_mitigation(f"instruction-file={path}")
    assert mitigation.name == "found-instruction" and mitigation.card == CARD
    echo = text_generator(mitigation(writes(lambda prompt, sample: prompt)))
    assert echo.generate(["She"], Decoding(max_new_tokens=20)).texts == [one.text + " || She"]


def test_plain_text_is_an_instruction_of_unknown_effect(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("Be kind to all.\n", encoding="utf-8")
    found = read_found_instruction(path)
    assert found.text == "Be kind to all." and found.delimiter == "\n"
    assert "Its origin and its effect are not recorded" in found.card.critique


def test_the_name_is_listed_with_a_card() -> None:
    assert "evenhand search-instruction" in mitigation_cards()["instruction-file"].summary


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is empty"),
        ("{", "contains no instruction"),
        ("{}", "lacks 'kind'"),
        (json.dumps({"kind": "recipe", "text": "Stir."}), "got 'recipe'"),
        (json.dumps({"kind": "evenhand instruction", "text": "Be kind."}), "lacks 'delimiter'"),
        (
            json.dumps({"kind": "evenhand instruction", "text": " ", "delimiter": "", "card": {}}),
            "not be empty",
        ),
        (
            json.dumps({"kind": "evenhand instruction", "text": "x", "delimiter": "", "card": {"colour": 1}}),
            "colour",
        ),
    ],
)
def test_files_that_hold_none(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=told):
        load_mitigation(f"instruction-file={path}")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"\xff\xfe\xfa")
    for name, told in (("latin.txt", "not UTF-8"), ("absent.json", "No such file"), (".", "directory")):
        with pytest.raises(DataError, match=told):
            read_found_instruction(tmp_path / name)
    with pytest.raises(UsageError, match="requires the option path"):
        load_mitigation("instruction-file")
