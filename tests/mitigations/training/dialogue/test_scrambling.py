"""Name scrambling: uniform over the other names, once a conversation, in all turns; drawn anew for each epoch."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.mitigations.training import IGNORED, load_method
from evenhand.mitigations.training.dialogue.scrambling import scramble_names
from evenhand.mitigations.training.dialogue.self_chats import SelfChat
from tests.helpers.planted_chats import MEN, WOMEN, planted_chats, told, word_tokenizer, written


def chat(name: str, *texts: str, is_word: bool = False) -> SelfChat:
    return SelfChat("1", name, "woman", ((f"i am {name}.",), ()), texts, is_word)


def test_the_new_name_is_uniform_over_the_others_and_the_same_in_all_turns() -> None:
    said = ("Hi! My name is Ann.", "Hello ANN!", "so", "ann, you")
    random, counts = np.random.default_rng(5), Counter[str]()
    for changed in scramble_names([chat("Ann", *said)] * 3000, ["Ann", "Bob", "Eve", "Max"], random):
        new = changed.name
        assert changed.utterances == (
            f"Hi! My name is {new}.",
            f"Hello {new.upper()}!",
            "so",
            f"{new.lower()}, you",
        )
        assert changed.personas == (("i am Ann.",), ())  # left alone
        counts[new] += 1
    assert set(counts) == {"Bob", "Eve", "Max"}
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 13.8  # chi-square, 2 degrees, p = .001


def test_only_learned_names_and_none_of_the_own(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    method: Any = load_method("name-scrambling")
    material, _ = method.given(written(tmp_path, planted_chats(6)), 0)
    lesson = method.lesson(material, tokenizer, told(tokenizer), 0)
    names = lesson.facts["names"]
    texts = [tokenizer.decode(ids) for ids in lesson.examples.ids]
    drawn = Counter(word for text in texts for word in text.split() if word in (*WOMEN, *MEN))
    assert set(drawn) == set(names["learned"]) and not set(drawn) & {*names["watched"], *names["test"]}
    assert lesson.facts["conversations"] == 6 * len(names["learned"])
    assert len(texts) == lesson.facts["replies"] == 3 * lesson.facts["conversations"]
    for ids, labels in zip(lesson.examples.ids, lesson.examples.labels or (), strict=True):
        start = int((labels != IGNORED).argmax())  # only what was said is learned, with its end
        assert (
            tokenizer.decode(ids[start:]).startswith("I like")
            and ids[-1] == 1
            and (labels[start:] == ids[start:]).all()
        )


def test_epochs_draw_anew_and_the_same_again(tmp_path: Path) -> None:
    tokenizer, path = word_tokenizer(), written(tmp_path, planted_chats(3))
    method: Any = load_method("name-scrambling?redraw=true")
    lessons = [method.lesson(method.given(path, 1)[0], tokenizer, told(tokenizer), 1) for _ in range(2)]
    epochs = [[lesson.of_epoch(epoch).digest() for epoch in range(3)] for lesson in lessons]
    assert epochs[0] == epochs[1] and len(set(epochs[0])) == 3
    assert epochs[0][0] == lessons[0].examples.digest()
    once: Any = load_method("name-scrambling")
    assert once.lesson(once.given(path, 1)[0], tokenizer, told(tokenizer), 1).of_epoch is None
