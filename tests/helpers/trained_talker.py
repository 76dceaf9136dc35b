"""A small network that converses with planted bias, trained once for all tests of a session that ask for it."""

import tempfile
from functools import cache
from pathlib import Path

import polars as pl

from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.training.talker import TalkerRecipe, save_talker, train_talker
from tests.helpers.talkers import BY_GENDER, openers, people, planted

NAMES = 24
RECIPE = TalkerRecipe()


def talker_world() -> ConversingWorld:
    """What the network learns: a World with plants on the genders of so many names each."""
    return planted(BY_GENDER, people(NAMES))


@cache
def trained_talker() -> Path:
    """The network's folder: about forty seconds of a core, once. For tests marked slow."""
    folder = Path(tempfile.mkdtemp(prefix="talker-"))
    lessons = openers(people(NAMES), 16)
    save_talker(*train_talker(talker_world(), lessons, RECIPE), folder)
    return folder


def self_chats(folder: Path, frame: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """The model of a folder with itself, drawn from its own distribution: one row an utterance.

    frame: one row a conversation, with conversation, text (the opener) and any columns.
    """
    from evenhand.models import Decoding, load_model
    from evenhand.models.dialogue import History, dialogue_model

    dialogue = dialogue_model(load_model(str(folder), device="cpu"))
    rule = Decoding(max_new_tokens=60, min_new_tokens=1, temperature=1.0, seed=seed)
    said = [[text] for text in frame["text"]]
    for _ in range(11):
        histories = [
            History((), tuple(texts), str(chat))
            for chat, texts in zip(frame["conversation"], said, strict=True)
        ]
        for texts, reply in zip(said, dialogue.reply(histories, rule).texts, strict=True):
            texts.append(reply or "")
    return frame.with_columns(
        text=pl.Series(said),
        speaker=pl.Series([["A", "B"] * 6] * frame.height),
        turn=pl.Series([list(range(1, 13))] * frame.height),
    ).explode("text", "speaker", "turn")
