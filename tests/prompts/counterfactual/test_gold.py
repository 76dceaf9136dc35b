"""The sentences of gold.toml: what a careful reader changes by hand, the engine changes."""

import re
import tomllib
from pathlib import Path

import pytest

from evenhand.prompts.counterfactual import Counterfactuals

GOLD = tomllib.loads((Path(__file__).parent / "gold.toml").read_text(encoding="utf-8"))["sets"]
MARKED = re.compile(r"\[([^\[\]>]*)>([^\[\]>]*)\]")
LEAST_SENTENCES, LEAST_RIGHT = 300, 0.99


def engine_of(entry):
    if "pairs" in entry:
        return Counterfactuals.from_pairs([(first, second) for first, second in entry["pairs"]])
    options = {name: entry[name] for name in ("source", "target", "both") if name in entry}
    return Counterfactuals(entry["axis"], **options)


@pytest.fixture(scope="module")
def judged():
    """Per sentence: what was wanted, what was made, and the places that a reader marked."""
    rows = []
    for entry in GOLD:
        engine = engine_of(entry)
        for marked in entry["sentences"]:
            original = MARKED.sub(r"\1", marked)
            places, shift = [], 0
            for mark in MARKED.finditer(marked):
                start = mark.start() - shift
                places.append((start, start + len(mark[1]), mark[2]))
                shift += len(mark[0]) - len(mark[1])
            rows.append((original, MARKED.sub(r"\2", marked), places, engine.of(original)))
    return rows


def test_there_are_enough_sentences_and_of_every_axis(judged):
    assert len(judged) >= LEAST_SENTENCES
    axes = {entry.get("axis") for entry in GOLD}
    assert axes >= {
        "gender", "name_origin", "religion", "nationality", "race_ethnicity", "age", "sexual_orientation", "ability"
    }  # fmt: skip
    assert len({original for original, *_ in judged}) > LEAST_SENTENCES


def test_sentences_become_what_a_reader_makes_of_them(judged):
    wrong = [(wanted, made.text) for _, wanted, _, made in judged if made.text != wanted]
    assert len(wrong) / len(judged) <= 1 - LEAST_RIGHT, wrong


def test_every_change_is_listed_where_it_stands(judged):
    for original, wanted, places, made in judged:
        if made.text == wanted:
            marked = [(start, end, after) for start, end, after in places if original[start:end] != after]
            assert [(change.start, change.end, change.after) for change in made.changes] == marked
        for change in made.changes:
            assert original[change.start : change.end] == change.before
            assert made.text[change.new_start : change.new_end] == change.after
            assert change.rule


def test_changes_lead_back_to_the_original(judged):
    for original, _, _, made in judged:
        assert made.undone() == original
