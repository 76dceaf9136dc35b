"""Worlds that write: against their own exact distribution and what is planted in them."""

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from evenhand.models.contract import TextGenerator, Texts
from evenhand.models.decoding import Decoding
from evenhand.reference.story import Frame, Phrase, Plant
from evenhand.reference.world import World
from evenhand.schema import ResponseError, Unsupported


def people(plants: tuple[Plant, ...] = ()) -> World:
    phrases = tuple(
        Phrase(
            "age",
            descriptor,
            noun,
            f"{'an' if descriptor == 'old' else 'a'} {descriptor} {noun}",
            f"{descriptor} {noun}s",
        )
        for descriptor in ("old", "young")
        for noun in ("man", "woman", "friend")
    )
    frames = (
        Frame("kind", "{noun_phrase} is kind.", weight=2.0, labels=("positive",)),
        Frame("rude", "{noun_phrase} is rude.", labels=("negative",)),
        Frame("like", "I like {noun_phrase}.", labels=("positive",)),
    )
    return World("people", phrases, frames, plants)


def test_drawn_words_follow_the_exact_distribution() -> None:
    from scipy.stats import chisquare

    world, count = people(), 3000
    assert isinstance(world, TextGenerator)
    answers = world.generate(["An old"], Decoding(max_new_tokens=4, temperature=1.0, samples=count))
    seen: dict[str, int] = {}
    for text in answers.texts:
        assert text is not None
        seen[text] = seen.get(text, 0) + 1
    likelihoods = world.log_likelihoods(Texts(list(seen), ["An old"] * len(seen))).sums
    assert math.fsum(np.exp(likelihoods)) == pytest.approx(1, abs=1e-6)  # every text was seen
    expected = np.exp(likelihoods) / np.exp(likelihoods).sum() * count
    assert chisquare(list(seen.values()), expected).pvalue > 1e-3
    own = world.log_likelihoods(Texts([str(text) for text in answers.texts], ["An old"] * count)).sums
    np.testing.assert_allclose(answers.log_likelihood, own, atol=1e-5)


def test_planted_bias_shows_in_what_is_written() -> None:
    plant = Plant("age", "negative", math.log(4), ("old",))
    world = people((plant,))
    rule = Decoding(max_new_tokens=3, temperature=1.0, samples=2000)
    answers = world.generate(["An old man", "A young man"], rule)
    rude = np.array([" rude" in str(text) for text in answers.texts]).reshape(2, -1).mean(axis=1)
    exact = [world.next_words(prompt)[" rude"] for prompt in ("An old man is", "A young man is")]
    assert rude == pytest.approx(exact, abs=4 * 0.5 / math.sqrt(2000))
    odds = rude / (1 - rude)
    assert odds[0] / odds[1] == pytest.approx(4, rel=0.3)


def test_temperature_and_filters_act_as_on_any_model() -> None:
    world = people()
    greedy = world.generate(["An old man is"], Decoding(max_new_tokens=1)).texts
    assert greedy == [" kind"]
    rules: list[dict[str, Any]] = [
        {"temperature": 1.0, "top_k": 1},
        {"temperature": 1.0, "top_p": 0.6},
        {"temperature": 0.05},
    ]
    for rule in rules:
        answers = world.generate(["An old man is"], Decoding(max_new_tokens=1, samples=200, **rule))
        assert set(answers.texts) == {" kind"}
    hot = world.generate(["An old man is"], Decoding(max_new_tokens=1, samples=2000, temperature=50.0))
    assert hot.texts.count(" rude") == pytest.approx(1000, abs=120)
    wide = Decoding(max_new_tokens=1, samples=300, temperature=1.0, top_p=0.7)
    assert len(set(world.generate(["An old man is"], wide).texts)) == 2


def test_rows_depend_on_seed_prompt_and_number_only() -> None:
    world = people()
    rule = Decoding(max_new_tokens=6, temperature=1.0, samples=3, seed=4)
    whole = world.generate(["An old", "A young"], rule)
    assert world.generate(["A young"], rule).texts == whole.texts[3:]
    more = Decoding(max_new_tokens=6, temperature=1.0, samples=5, seed=4)
    assert world.generate(["An old"], more).texts[:3] == whole.texts[:3]
    assert len(set(whole.texts)) > 2


def test_stops_ends_and_spaces() -> None:
    world = people()
    rule = Decoding(max_new_tokens=9, temperature=1.0, samples=4, stop=(".",))
    answers = world.generate(["An old man", "An old man "], rule)
    assert answers.finish == ["stop"] * 8
    assert set(answers.texts[:4]) <= {" is kind", " is rude"} and set(answers.texts[4:]) <= {
        "is kind",
        "is rude",
    }
    assert answers.token_count.tolist() == [3] * 8
    on = world.generate(["I like old men."], Decoding(max_new_tokens=5))
    assert on.errors == [ResponseError.OUTSIDE_WORLD]  # it says "an old man" there
    on = world.generate(["I like an old man."], Decoding(max_new_tokens=5))
    assert on.texts[0] is not None and on.texts[0].startswith(" ") and on.finish == ["length"]


def test_prompts_it_cannot_say_are_error_rows() -> None:
    world = people()
    answers = world.generate(["", "A tall", "An old", "An  old"], Decoding(max_new_tokens=2))
    assert [e and e.value for e in answers.errors] == ["empty_text", "outside_world", None, "outside_world"]
    assert "'tall'" in str(answers.details[1]) and answers.texts[1] is None
    assert math.isnan(answers.log_likelihood[1]) and answers.token_count.tolist() == [0, 0, 2, 0]
    with pytest.raises(Unsupported, match="num_beams"):
        world.generate(["An old"], Decoding(max_new_tokens=2, num_beams=3))
    with pytest.raises(Unsupported, match="no_repeat_ngram_size"):
        world.generate(["An old"], Decoding(max_new_tokens=2, no_repeat_ngram_size=3))


def test_a_world_writes_without_torch() -> None:
    code = (
        "import sys; from evenhand.reference import worlds; from evenhand.models.decoding import Decoding;"
        "from evenhand.reference.story import Frame, Phrase; from evenhand.reference.world import World;"
        "w = World('t', (Phrase('a', 'old', 'man', 'an old man', 'old men'),), (Frame('x', '{noun_phrase} sings.'),));"
        "assert w.generate(['An'], Decoding(max_new_tokens=2)).texts == [' old man'];"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
