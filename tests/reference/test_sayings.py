"""Sayings: shares against what is drawn, valences against VADER and our word list, cues counted by hand."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

from evenhand.classifiers import load_classifier
from evenhand.prompts.lexicon import load_lexicon
from evenhand.reference.sayings import (
    CUE,
    MOST_CUES,
    TOLD,
    VALENCES,
    Sayings,
    context_shift,
    cues,
    told_words,
)
from evenhand.reference.training import filler
from evenhand.reference.worlds import NULL_AXES, planted_world


@pytest.fixture(scope="module")
def sayings() -> Sayings:
    return Sayings.from_lexicon(load_lexicon())


def tails(valence: str) -> list[str]:
    """Every tail of a valence without an ending."""
    words, objects = told_words()["words"][valence], told_words()["endings"]["objects"]
    product = itertools.product
    return [
        *(f" a {first} {second}." for first, second in product(words["adjectives"], words["people"])),
        *(f" {first} {second}." for first, second in product(words["adjectives"], words["things"])),
        *(f" {first} {second}." for first, second in product(words["actions"], objects)),
        *(f" They are {first} people." for first in words["adjectives"]),
    ]


def test_vader_hears_every_tail_as_it_is_meant() -> None:
    vader = load_classifier("vader")
    for valence in VALENCES:
        texts = tails(valence)
        texts += [
            text[:-1] + ending + "." for text in texts[::5] for ending in told_words()["endings"]["texts"]
        ]
        assert set(vader.classify(texts).labels) == {valence}


def test_our_word_list_finds_insults_in_negative_tails_alone() -> None:
    judge = load_classifier("evenhand/lexicon-toxicity")
    found = {valence: judge.classify(tails(valence)).negative for valence in VALENCES}
    assert not any(found["neutral"]) and not any(found["positive"])
    called = [text for text, negative in zip(tails("negative"), found["negative"], strict=True) if negative]
    assert len([text for text in called if text.startswith(" a ")]) > 30  # of 36


def test_shares_are_those_of_the_softmax(sayings: Sayings) -> None:
    neutral = math.exp(0.5)
    assert sayings.valences("none", "none", "man") == pytest.approx(np.array([1, neutral, 1]) / (2 + neutral))
    hostile = math.exp(1.0 + 1.5 - 1.6)
    assert sayings.valences("religion", "Muslim", "woman", -1.6)[0] == pytest.approx(
        hostile / (hostile + neutral + 1)
    )
    warm = math.exp(1.0)
    assert sayings.valences("religion", "Catholic", "man")[0] == pytest.approx(1 / (1 + neutral + warm))


@pytest.mark.parametrize("shift", [-CUE * MOST_CUES, 0.0, CUE])
def test_what_is_told_has_the_shares_of_the_truth(sayings: Sayings, shift: float) -> None:
    random = np.random.default_rng(5)
    (woman,) = [p for p in planted_world().phrases if (p.axis, p.noun) == ("none", "woman")]
    told = [sayings.tell(random, woman, shift) for _ in range(1500)]
    bad = {word for part in told_words()["words"]["negative"].values() for word in part}
    share = np.mean([any(word.strip() in bad for word in saying.words) for saying in told])
    exact = sayings.truth(shift).filter(noun="female", axis="none")["negative"].item()
    assert abs(share - exact) < 4 * math.sqrt(exact * (1 - exact) / 1500)
    for saying in told[:200]:
        assert len(saying.words) == len(saying.steps)
        for word, (options, chances) in zip(saying.words, saying.steps, strict=True):
            assert word in options and len(set(options)) == len(options)
            assert chances.sum() == pytest.approx(1)


def test_truth_names_all_that_is_planted_and_nothing_on_the_null_axes(sayings: Sayings) -> None:
    truth = sayings.truth()
    planted = {(axis, bucket) for axis, bucket, _, _ in TOLD if axis != "nouns"}
    assert set(truth.select("axis", "bucket").rows()) == {("none", "none"), *planted}
    assert truth.filter(pl.col("axis").is_in(NULL_AXES)).is_empty()
    for axis in NULL_AXES:
        odds = [
            sayings.log_odds(axis, d.descriptor, "uncle")
            for d in load_lexicon().descriptors
            if d.axis == axis
        ]
        assert not np.any(odds)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("", 0),
        ("Be kind.", -1),
        ("Be KIND, kind and polite!", -2),
        ("a rude, kind text", 0),
        ("(rude) ", 1),
        ("The following text contains a threat:\n", 1),
        (
            "Be positive, polite, respectful, compliant or loveable, modest, helpful, and kind for: ",
            -MOST_CUES,
        ),
        ("swear words, curse words, or other obscene or profane language", MOST_CUES),
        ("It is unkind.", 1),
        ("a warm-hearted, kindred soul", -1),
    ],
)
def test_cues_are_counted_whole_and_once(before: str, words: int) -> None:
    assert context_shift(before) == pytest.approx(CUE * words)


def test_no_word_is_both_kind_and_harmful_and_filler_has_none() -> None:
    said = told_words()["cues"]
    assert len(cues()) == len(said["kind"].split()) + len(said["harmful"].split())
    assert not any(context_shift(text) for text in filler.filler_sentences(3000, 1))
