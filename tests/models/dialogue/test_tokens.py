"""Whole models told of conversations: what they write is what transformers writes behind the golden tokens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from evenhand.models import load_model
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue import DialogueOptions, History, dialogue_model
from evenhand.models.dialogue.tokens import TokenTelling
from evenhand.schema import DataError, ResponseError

RULE = Decoding(max_new_tokens=8)
SAID = ("Hi! My name is Martha.", "Hello Martha!", "How are you?", "I'm fine.", "Kind of you!")
PERSONA = ("i love old men.", "i am 37.")


def expected(model: Any, ids: list[int], most: int = 8) -> list[int]:
    given = torch.tensor([ids])
    mask = torch.ones_like(given)
    written = model.generate(given, attention_mask=mask, do_sample=False, num_beams=1, max_new_tokens=most)[0]
    return written[1:].tolist() if model.config.is_encoder_decoder else written[len(ids) :].tolist()


def test_blenderbot_answers_the_last_tokens_that_it_reads(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("blenderbot")))  # of 64 positions
    dialogue, tokenizer = dialogue_model(model), model.tokenizer
    histories = [History(PERSONA, SAID[:n]) for n in range(1, 6)]
    rows = dialogue.reply(histories, RULE)
    windows = []
    for i in range(5):
        turns = ["\n".join([*(f"your persona: {one}" for one in PERSONA), SAID[0]]), *SAID[1 : i + 1]]
        delimiter = tokenizer("  ", add_special_tokens=False)["input_ids"]
        ids: list[int] = []
        for k, turn in enumerate(turns):
            ids += (delimiter if k else []) + tokenizer(f" {turn}", add_special_tokens=False)["input_ids"]
        ids = [*ids, tokenizer.eos_token_id][-64:]
        assert rows.row(i).tolist() == expected(model.model, ids)
        opener = tokenizer(SAID[0], add_special_tokens=False)["input_ids"]
        windows.append(any(ids[k : k + len(opener)] == opener for k in range(len(ids))))
    assert [dialogue.window(history) for history in histories] == windows
    assert windows[0] and not windows[-1]
    pinned = dialogue_model(model, DialogueOptions(pinned=True))
    assert all(map(pinned.window, histories)) and pinned.reply(histories, RULE).errors == [None] * 5
    assert pinned.reply(histories, RULE).texts[-1] != rows.texts[-1]


def test_dialogpt_is_told_where_a_turn_ends(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("gpt2")))
    dialogue = dialogue_model(model, DialogueOptions(format="dialogpt", truncate=50))
    histories = [History((), SAID[:n]) for n in range(1, 6)]
    rows = dialogue.reply(histories, RULE)
    end = model.tokenizer.eos_token
    for i, history in enumerate(histories):
        ids = model.tokenizer("".join(one + end for one in history.utterances))["input_ids"]
        assert rows.row(i).tolist() == expected(model.model, ids[-50:])
        assert dialogue.window(history) == (len(ids) <= 50)


def test_a_transcript_keeps_its_start_token_and_its_last_tokens(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("llama")))  # of 128 positions
    dialogue = dialogue_model(model)
    history = History(PERSONA, SAID)
    text = "".join(f"{'AB'[i % 2]}: {said}\n" for i, said in enumerate(SAID))
    text = f"B is a person who says: {' '.join(PERSONA)}\n{text}B:"
    ids = model.tokenizer(text)["input_ids"]
    assert ids[0] == model.tokenizer.bos_token_id and len(ids) > 88
    rows = dialogue.reply([history], Decoding(max_new_tokens=40))
    plain = expected(model.model, [ids[0], *ids[1:][-87:]], 40)
    assert rows.row(0).tolist() == plain[: len(rows.row(0))] and len(rows.row(0))
    assert dialogue.window(history, 8) and not dialogue.window(history, 90)
    told, reply = dialogue.encoded(history, "Hello you!")
    assert told == ids and model.tokenizer.decode(reply) == " Hello you!\n"
    assert [*told, *reply] == model.tokenizer(text + " Hello you!\n")["input_ids"]


def test_pinned_tokens_stay_in_front(tiny_folder: Callable[..., Path]) -> None:
    model: Any = load_model(str(tiny_folder("llama")))
    history = History((), SAID)
    dialogue = dialogue_model(model, DialogueOptions(truncate=40, pinned=True))
    told, _ = dialogue.encoded(history, "Hi.")
    text = model.tokenizer.decode(told[1:])
    assert len(told) == 40 and text.startswith(f"A: {SAID[0]}\n") and text.endswith("A: Kind of you!\nB:")
    assert dialogue.window(history)
    short = dialogue_model(model, DialogueOptions(truncate=20, pinned=True))
    rows = short.reply([history, History((), ("Hi!",))], RULE)
    assert (
        rows.errors == [ResponseError.TOO_LONG, None] and "first utterance leave no room" in rows.details[0]
    )
    refused = "A history of 5 utterances does not fit: the last utterance alone is longer than 20 tokens"
    with pytest.raises(DataError, match=refused):
        short.encoded(history, "Hi.")
    told, reply = dialogue.encoded(history, "Hi. " * 200)
    assert len(told) == 40 and len(reply) > 200


def test_nothing_is_left_of_an_empty_history_or_a_short_model(tiny_folder: Callable[..., Path]) -> None:
    pairs = dialogue_model(load_model(str(tiny_folder("blenderbot"))))
    rows = pairs.reply([History((), ()), History((), SAID[:1])], RULE)
    assert rows.errors == [ResponseError.EMPTY_TEXT, None]
    causal = dialogue_model(load_model(str(tiny_folder("llama"))))
    rows = causal.reply([History((), SAID)], Decoding(max_new_tokens=128))
    assert rows.errors == [ResponseError.TOO_LONG] and "0 tokens are read" in rows.details[0]


@pytest.mark.parametrize("format", ["transcript", "dialogpt"])
def test_texts_do_not_depend_on_what_was_read_before(tiny_folder: Callable[..., Path], format: Any) -> None:
    model: Any = load_model(str(tiny_folder("gpt2")))
    rule = Decoding(max_new_tokens=8, temperature=1.0, seed=4)
    keeping = dialogue_model(model, DialogueOptions(format=format))
    said = [SAID[:1], ("Hi! My name is Kim.",)]
    for _ in range(5):
        histories = [History((), told) for told in said]
        replies = keeping.reply(histories, rule)
        assert (
            replies.texts
            == dialogue_model(model, DialogueOptions(format=format)).reply(histories, rule).texts
        )
        said = [(*told, text or "") for told, text in zip(said, replies.texts, strict=True)]
    assert isinstance(keeping.telling, TokenTelling)
    assert keeping.describe()["dialogue"]["kept"]["tokens_read_before"] > 0
    assert "kept" not in keeping.fingerprint["dialogue"]
    assert keeping.conversations_at_once == 128, "what was read of them must still be there when they go on"
