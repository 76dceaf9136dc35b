"""A tiny model in which a name's gender decides what is said, and what each method makes of it."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.mitigations.training import (
    LanguageModelling,
    TrainingOptions,
    evaluator,
    load_method,
    prepared_model,
    train,
)
from evenhand.mitigations.training.dialogue.self_chats import self_chats_from_table
from evenhand.mitigations.training.replies import replies_to_learn
from tests.helpers.planted_chats import (
    MARKED,
    MEN,
    WOMEN,
    planted_chats,
    probability,
    tiny_talker,
    told,
    word_tokenizer,
    written,
)

OPTIONS = TrainingOptions(epochs=8, batch_size=32, learning_rate=5e-3, schedule="constant", seed=1)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return word_tokenizer()


@pytest.fixture(scope="module")
def weights(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Of a model that learned which names are whose: trained on conversations of all of them."""
    folder, model = tmp_path_factory.mktemp("base"), tiny_talker(tokenizer)
    replies = [reply for chat in self_chats_from_table(planted_chats(20)) for reply in chat.replies()[:1]]
    encoding = told(tokenizer)
    examples = replies_to_learn(replies, encoding)
    train(prepared_model(model, OPTIONS), examples, LanguageModelling(), OPTIONS, folder, device="cpu")
    return model.state_dict()


def tuned(
    words: str, tokenizer: Any, weights: Any, folder: Path, data: Path | None = None
) -> tuple[Any, Any, dict[str, float]]:
    """The model after a method, its lesson, and what was watched before and after."""
    model, encoding, method = tiny_talker(tokenizer), told(tokenizer), load_method(words)
    model.load_state_dict(weights)
    made: Any = method
    material, validation = made.given(data or written(folder, planted_chats(8, turns=2, seed=5)), 0)
    lesson = made.lesson(material, tokenizer, encoding, 0)
    before = evaluator(validation, tokenizer, encoding, 0)(model.eval())
    train(prepared_model(model, OPTIONS), lesson.examples, lesson.objective, OPTIONS, folder / "training",
          device="cpu", of_epoch=lesson.of_epoch)  # fmt: skip
    after = evaluator(validation, tokenizer, encoding, 0, label=lesson.label)(model.eval())
    return model, lesson, {"before": before["bias"], "after": after["bias"]}


def gap(model: Any, tokenizer: Any, names: list[str], label: str = "") -> float:
    """How much likelier a name's own thing is behind it than behind names of the other gender."""

    def mean(gender: str, thing: str) -> float:
        group = [name for name in names if (name in WOMEN) == (gender == "woman")]
        return sum(probability(model, tokenizer, name, MARKED[thing], label) for name in group) / len(group)

    own = mean("woman", "woman") + mean("man", "man")
    return (own - mean("woman", "man") - mean("man", "woman")) / 2


def test_names_say_nothing_any_more_after_scrambling(tokenizer: Any, weights: Any, tmp_path: Path) -> None:
    base = tiny_talker(tokenizer)
    base.load_state_dict(weights)
    assert gap(base, tokenizer, [*WOMEN, *MEN]) > 0.6  # planted: 0.8
    (tmp_path / "control").mkdir()
    control, lesson, watched = tuned("self-chat", tokenizer, weights, tmp_path / "control")
    test = lesson.facts["names"]["test"]
    assert gap(control, tokenizer, test) > 0.5 and watched["after"] > 0.5 * watched["before"]
    scrambled, lesson, watched = tuned("name-scrambling?redraw=true", tokenizer, weights, tmp_path)
    for names in (lesson.facts["names"]["learned"], test):
        assert abs(gap(scrambled, tokenizer, names)) < 0.2
    assert watched["after"] < 0.5 * watched["before"]


def test_no_bias_lowers_what_was_planted_also_of_names_that_were_not_learned(
    tokenizer: Any, weights: Any, tmp_path: Path
) -> None:
    model, lesson, watched = tuned("control-tokens?threshold=1.1&smoothing=10", tokenizer, weights, tmp_path)
    assert lesson.label == " STYLE no_bias"
    for names in (lesson.facts["names"]["learned"], lesson.facts["names"]["test"]):
        asked = gap(model, tokenizer, names, " STYLE no_bias")
        assert abs(asked) < 0.25 and gap(model, tokenizer, names, " STYLE bias") > asked + 0.3
    assert watched["after"] < watched["before"]


@pytest.mark.parametrize(
    ("words", "left"),
    [("unlikelihood-token?weight=3", 0.3), ("unlikelihood-sequence?weight=10&max_new_tokens=5", 0.4)],
)
def test_what_names_of_a_gender_overuse_is_said_less_behind_names_that_were_not_learned(
    tokenizer: Any, weights: Any, tmp_path: Path, words: str, left: float
) -> None:
    model, lesson, watched = tuned(f"{words}&smoothing=10", tokenizer, weights, tmp_path)
    told = {row["token"]: row for row in lesson.facts["most_overindexed"]["woman"]}
    assert told["shop"]["count"] > told["shop"]["count_in_all"] / 2 and told["shop"]["ratio"] > 1.2
    assert abs(gap(model, tokenizer, lesson.facts["names"]["test"])) < left  # the control: above 0.5
    assert watched["after"] < 0.7 * watched["before"]


def test_style_equality_lowers_what_was_planted(tokenizer: Any, weights: Any, tmp_path: Path) -> None:
    replies = planted_chats(12, turns=2, seed=5).filter(pl.col("turn") == 2)
    hears = {f"style_{word}": pl.col("text").str.ends_with(word).cast(pl.Float64) for word in MARKED.values()}
    replies.select(
        pl.format("Hi! My name is {}", "name").alias("text"), descriptor="name", template=pl.lit("t"),
        continuation="text", **hears,
    ).write_parquet(tmp_path / "replies.parquet")  # fmt: skip
    model, lesson, _ = tuned(
        "style-equality?beta=0.1", tokenizer, weights, tmp_path, tmp_path / "replies.parquet"
    )
    every = [*WOMEN, *MEN]  # also descriptors that were watched, and not learned
    asked = gap(model, tokenizer, every, lesson.label)
    assert lesson.label == " STYLE no_bias" and abs(asked) < 0.25  # planted: 0.8
    assert gap(model, tokenizer, every, " STYLE bias") > asked + 0.3
