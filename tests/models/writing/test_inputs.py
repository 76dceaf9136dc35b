"""Prompts that are token ids already: read as they are, drawn by their keys, bad ones in rows of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.models import load_model
from evenhand.models.decoding import Decoding
from evenhand.schema import ResponseError, UsageError

PROMPTS = ["I love old", "My neighbour is a kind person who is", "Hi."]
RULES = [
    Decoding(max_new_tokens=8, min_new_tokens=3, stop=("e",)),
    Decoding(max_new_tokens=8, temperature=1.2, samples=2, seed=3, no_repeat_ngram_size=2),
    Decoding(
        max_new_tokens=8,
        num_beams=3,
        no_repeat_ngram_size=2,
        no_repeat_ngram_in="continuation",
        min_new_tokens=4,
    ),
]


def loaded(tiny_folder: Callable[..., Path], architecture: str) -> Any:
    return load_model(str(tiny_folder(architecture)), device="cpu")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("architecture", ["gpt2", "llama", "bart"])
def test_ids_are_answered_as_the_text_they_stand_for(
    tiny_folder: Callable[..., Path], architecture: str, rule: Decoding
) -> None:
    model = loaded(tiny_folder, architecture)
    by_text = model.generate(PROMPTS, rule)
    by_ids = model.generate_ids(model.tokenizer(PROMPTS)["input_ids"], PROMPTS, rule)
    assert by_ids.token_ids.tolist() == by_text.token_ids.tolist()
    assert (by_ids.texts, by_ids.finish) == (by_text.texts, by_text.finish)
    assert by_ids.prompt.tolist() == by_text.prompt.tolist()


def test_draws_depend_on_the_key_alone(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2")
    ids = [model.tokenizer(PROMPTS[0])["input_ids"]] * 3
    rows = model.generate_ids(ids, ["one", "two", "one"], Decoding(max_new_tokens=12, temperature=1.5))
    assert rows.row(0).tolist() == rows.row(2).tolist() != rows.row(1).tolist()


def test_bad_prompts_are_error_rows_and_bad_calls_are_refused(tiny_folder: Callable[..., Path]) -> None:
    model = loaded(tiny_folder, "gpt2")  # 128 positions
    rule = Decoding(max_new_tokens=20)
    rows = model.generate_ids([[], [5] * 108, [5] * 109], ["a", "b", "c"], rule)
    assert rows.errors == [ResponseError.EMPTY_TEXT, None, ResponseError.TOO_LONG]
    assert "109 tokens and up to 20" in rows.details[2] and rows.token_count.tolist() == [0, 20, 0]
    for wrong in ([-1], [len(model.tokenizer)]):
        with pytest.raises(UsageError, match="but the model knows only 0 to"):
            model.generate_ids([[5], wrong], ["a", "b"], rule)
    with pytest.raises(UsageError, match="got 1 keys for 2 prompts"):
        model.generate_ids([[5], [6]], ["a"], rule)


def test_an_encoders_prompts_leave_room_for_themselves_only(tiny_folder: Callable[..., Path]) -> None:
    model = load_model(str(tiny_folder("bart", max_position_embeddings=32)), device="cpu")
    assert model.longest == 32
    rows = model.generate_ids(
        [[5] * model.longest, [5] * (model.longest + 1)], ["a", "b"], Decoding(max_new_tokens=4)
    )
    assert rows.errors == [None, ResponseError.TOO_LONG]
