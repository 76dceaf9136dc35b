"""Counterfactual texts: by words, and row for row as RedditBias's own."""

from pathlib import Path

import pytest

from evenhand.mitigations.training import Encoding, encode_texts, load_method, make_material
from evenhand.mitigations.training.data.cda import swapped_words
from evenhand.prompts.redditbias import specification
from evenhand.reference.embedded import WEIGHTS
from evenhand.schema import DataError, UsageError
from evenhand.weights import load_tokenizer
from tests.helpers.growth import assert_grows_linearly


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("An atheist is here.", "A Muslim is here."),
        ("Atheist men, and atheists.", "Muslim men, and Muslims."),
        ("atheistic uncles of Muslims", "atheistic aunts of atheists"),  # whole words only
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
    assert method.counterfactuals(make_material(specification("gender"), texts), 0) == [
        "He met two nephews.",
        texts[1],
    ]
    race = make_material(specification("race"), ["Two africans met an african."])
    assert method.counterfactuals(race, 0) == ["Two americans met an american."]


@pytest.mark.parametrize("by", ["words", "engine"])
def test_the_plural_of_a_pair_is_replaced_in_both_directions(by: str) -> None:
    def swapped(bias: str, *texts: str) -> list[str]:
        material = make_material(specification(bias), texts)
        found: list[str] = load_method(f"cda?by={by}").counterfactuals(material, 0)
        return found

    assert swapped("religion2", "muslims are here.", "Muslims are here.") == [
        "christians are here.",
        "Christians are here.",
    ]
    # christian is the counterpart of jew already, and christians of jews: no reason to leave the third pair
    assert swapped("religion1", "all jewish people", "all christians") == ["all christian people", "all jews"]
    assert swapped("race", "the blacks and the whites") == ["the whites and the blacks"]
    # "heterosexuals" is listed beside "homosexuals"; "queers" is a plural that is not
    assert swapped("orientation", "queers are here") == ["heterosexuals are here"]


def test_an_adjective_gets_no_plural_from_the_way_back() -> None:
    texts = swapped_words(["christians"] * 20, specification("religion2").target_pairs, two_sided=True)
    assert set(texts) == {"muslims"}  # and no "islamics"
    texts = swapped_words(["christians"] * 20, specification("religion1").target_pairs, two_sided=True)
    assert set(texts) == {"jews"}  # listed; and no "jewishes"


@pytest.mark.parity
@pytest.mark.parametrize("bias", ["race", "religion1"])
def test_published_texts_get_the_published_counterfactuals(shared: Path, bias: str) -> None:
    folder = shared / "data" / "redditbias" / "text_files" / bias
    train, both = (
        [line.strip() for line in (folder / f"{bias}_bias_manual_{name}.txt").read_text("utf-8").splitlines()]
        for name in ("train", "swapped_targets_train")
    )
    material = make_material(specification(bias), train)
    method = load_method("cda?by=published&sides=one")
    assert [text.strip() for text in method.counterfactuals(material, 0)] == both[len(train) :]
    lesson = method.lesson(material, load_tokenizer(WEIGHTS), Encoding(), 0)
    expected = encode_texts(load_tokenizer(WEIGHTS), both, longest=Encoding().longest)
    assert lesson.examples.digest() == expected.digest()  # every row of the released file, in its order
    changed = sum(a != b for a, b in zip(train, both[len(train) :], strict=True))
    assert lesson.facts == {
        "texts": len(train),
        "counterfactuals": changed,
        "texts_without_counterfactual": len(train) - changed,
        "examples": 2 * len(train),
    }


@pytest.mark.parametrize(
    ("bias", "line", "prepared", "counterfactual"),
    [
        # religion2's training lines have capitals, orientation's a prefix; the released CDA files have neither
        (
            "religion2",
            "Muslims and Islam are here",
            "muslims and islam are here",
            "christians and christianity are here",
        ),
        ("orientation", "<bos> gay people are here", "gay people are here", "straight people are here"),
        ("race", "the blacks are here", "the blacks are here", "the whites are here"),
    ],
)
def test_published_augmentation_works_on_lower_case_text_without_the_prefix(
    bias: str, line: str, prepared: str, counterfactual: str
) -> None:
    material = make_material(specification(bias), [line, "nobody is here"])
    method = load_method("cda?by=published")
    assert method.original_texts(material) == (prepared, "nobody is here")
    assert method.counterfactuals(material, 0) == [counterfactual, "nobody is here"]
    tokenizer = load_tokenizer(WEIGHTS)
    lesson = method.lesson(material, tokenizer, Encoding(), 0)
    rows = [prepared, "nobody is here", counterfactual, "nobody is here"]  # an unchanged text is repeated
    assert lesson.examples.digest() == encode_texts(tokenizer, rows, longest=Encoding().longest).digest()


@pytest.mark.parametrize("words", ["cda", "cda?by=published", "cda?by=engine"])
def test_texts_that_are_nearly_all_without_a_counterfactual_stop_the_training(words: str) -> None:
    texts = ["nobody is here"] * 30 + ["muslims are here"]
    material = make_material(specification("religion2"), texts)
    tokenizer = load_tokenizer(WEIGHTS)
    with pytest.raises(DataError, match="Only 1 of 31 texts") as caught:
        load_method(words).lesson(material, tokenizer, Encoding(), 0)
    assert "least_changed" in caught.value.hint
    relaxed = load_method(f"{words}{'&' if '?' in words else '?'}least_changed=0.01")
    assert relaxed.lesson(material, tokenizer, Encoding(), 0).facts["counterfactuals"] == 1
    with pytest.raises(UsageError, match="least_changed must be between 0 and 1"):
        load_method("cda?least_changed=2")


@pytest.mark.parity
def test_every_published_text_about_a_listed_group_gets_a_counterfactual(shared: Path) -> None:
    # by the paper (section 4.4) each phrase about T1; in four of religion1 no word of any pair stands
    for bias, without in (("race", 0), ("religion1", 4)):
        file = shared / "data" / "redditbias" / "text_files" / bias / f"{bias}_bias_manual_train.txt"
        material = make_material(
            specification(bias), [line.strip() for line in file.read_text("utf-8").splitlines()]
        )
        for words in ("cda", "cda?sides=one", "cda?by=engine", "cda?by=engine&sides=one"):
            made = load_method(words).counterfactuals(material, 0)
            assert sum(a == b for a, b in zip(material.texts, made, strict=True)) == without


def test_the_time_for_a_long_text_of_terms_is_linear() -> None:
    def swap(text: str) -> None:
        (swapped,) = swapped_words([text], [("Deaf", "hearing")], two_sided=False)
        assert swapped.startswith("Hearing hearing hearing ") and swapped.endswith(" end. \nHearing")

    assert_grows_linearly(swap, lambda size: "Deaf " * size + "end. \nDeaf", 40_000)
