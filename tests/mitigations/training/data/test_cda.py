"""Counterfactual texts: by words, and row for row as RedditBias's own."""

import time
from pathlib import Path

import pytest

from evenhand.mitigations.training import Encoding, load_method, material_of
from evenhand.mitigations.training.data.cda import swapped_words
from evenhand.prompts.redditbias import specification
from evenhand.reference.embedded import WEIGHTS
from evenhand.weights import load_tokenizer


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("An atheist is here.", "A Muslim is here."),
        ("Atheist men, and atheists.", "Muslim men, and atheists."),  # whole words only
        ("A Muslim spoke. Muslim men left.", "An atheist spoke. Atheist men left."),
        ("The old uncle of a Muslim", "The old aunt of an atheist"),
        ("carbuncle", "carbuncle"),
    ],
)
def test_words_are_swapped_with_case_and_article(text: str, other: str) -> None:
    pairs = [("Muslim", "atheist"), ("uncle", "aunt")]
    assert swapped_words([text], pairs, two_sided=True) == [other]
    assert swapped_words([other], pairs, two_sided=True) == [text]


def test_one_side_leaves_the_other_group_s_words() -> None:
    assert swapped_words(["b x", "b"], [("x", "b")], two_sided=False) == ["b b", "b"]


def test_of_several_counterparts_one_is_drawn_for_the_whole_text() -> None:
    pairs = [("x", letter) for letter in "bcd"]
    texts = swapped_words(["x x"] * 60, pairs, two_sided=False, seed=1)
    assert set(texts) == {"b b", "c c", "d d"}
    assert texts == swapped_words(["x x"] * 60, pairs, two_sided=False, seed=1)


def test_the_engine_knows_plurals_and_pronouns() -> None:
    texts = ["She met two nieces.", "Nobody came."]
    method = load_method("cda?by=engine&sides=one")
    assert method.counterfactuals(material_of(specification("gender"), texts), 0) == [
        "He met two nephews.",
        texts[1],
    ]
    race = material_of(specification("race"), ["Two africans met an african."])
    assert method.counterfactuals(race, 0) == ["Two americans met an american."]


@pytest.mark.parity
@pytest.mark.parametrize("bias", ["race", "religion1"])
def test_published_texts_get_the_published_counterfactuals(shared: Path, bias: str) -> None:
    folder = shared / "data" / "redditbias" / "text_files" / bias
    train, both = (
        [line.strip() for line in (folder / f"{bias}_bias_manual_{name}.txt").read_text("utf-8").splitlines()]
        for name in ("train", "swapped_targets_train")
    )
    material = material_of(specification(bias), train)
    method = load_method("cda?by=published&sides=one")
    assert [text.strip() for text in method.counterfactuals(material, 0)] == both[len(train) :]
    lesson = method.lesson(material, load_tokenizer(WEIGHTS), Encoding(), 0)
    changed = sum(a != b for a, b in zip(train, both[len(train) :], strict=True))
    assert lesson.facts == {"texts": len(train), "counterfactuals": changed, "examples": len(train) + changed}


def test_a_long_text_of_terms_is_read_once() -> None:
    begun = time.process_time()
    (swapped,) = swapped_words(["Deaf " * 40_000 + "end. \nDeaf"], [("Deaf", "hearing")], two_sided=False)
    assert swapped.startswith("Hearing hearing hearing ") and swapped.endswith(" end. \nHearing")
    assert time.process_time() - begun < 2
