"""Who talks with itself in tests: replies are drawn from the line that says what the speaker knows."""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from evenhand.models import Decoding, Generations, Likelihoods, Texts
from evenhand.models.dialogue import History
from evenhand.schema import ResponseError

DRAWN = Decoding(max_new_tokens=9, temperature=1.0)
GREEDY = Decoding(max_new_tokens=9)
WINDOW = 6
"""Utterances that a talker reads."""


class Plain:
    """The model of a run whose conversations somebody else holds; it is asked nothing."""

    architecture = "causal"

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"name": "plain"}

    def describe(self) -> dict[str, Any]:
        return {"name": "plain"}

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        raise AssertionError("nothing is scored in a conversation")


class Talker(Plain):
    """Replies a few words, or nothing, that depend on all of the line and on the seed where it draws.

    fails: lines on which it fails when they are asked alone. before: called with each batch.
    """

    answers_histories = True

    def __init__(
        self,
        fails: Callable[[str], bool] = lambda line: False,
        before: Callable[[Sequence[str]], None] = lambda lines: None,
        name: str = "talker",
    ):
        self.fails, self.before, self.name = fails, before, name
        self.asked: list[str] = []

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"name": self.name}

    def window(self, history: History, max_new_tokens: int) -> bool:
        return len(history.utterances) <= WINDOW

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        self.before(prompts)
        texts, errors = [], []
        for line in prompts:
            history = History.from_prompt(line)
            seen = History(history.persona, history.utterances[-WINDOW:], history.chat).prompt()
            drawn = f"{decoding.seed} {seen}" if decoding.temperature else seen
            digest = hashlib.sha256(drawn.encode()).digest()
            texts.append("" if digest[0] < 16 else f"word{digest[1] % 50} word{digest[2] % 50}")
            errors.append(ResponseError.MODEL_ERROR if self.fails(line) else None)
            self.asked.append(line)
        n = len(prompts)
        counts = [0 if error else len(text.split()) for text, error in zip(texts, errors, strict=True)]
        return Generations(
            prompt=np.arange(n),
            sample=np.zeros(n, np.uint16),
            texts=[None if error else text for text, error in zip(texts, errors, strict=True)],
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            token_ids=np.zeros(sum(counts), np.int32),
            finish=[None if error else "end" for error in errors],
            log_likelihood=np.where([error is not None for error in errors], np.nan, -2.0 * np.array(counts)),
            errors=errors,
            details=[error and "it will not say" for error in errors],
        )


def introductions(n: int) -> pl.DataFrame:
    """n openers with names and personas."""
    names = ["Ann", "Bob", "Martha", "Prince"]
    return pl.DataFrame(
        {
            "prompt_id": [f"chat-{i}" for i in range(n)],
            "conversation": range(100, 100 + n),
            "text": [f"Hi! My name is {names[i % 4]}." for i in range(n)],
            "name": [names[i % 4] for i in range(n)],
            "gender": ["woman", "man"] * (n // 2) + ["woman"] * (n % 2),
            "persona_a": [[f"i have {i % 5} cats.", "i cook."] for i in range(n)],
            "persona_b": [["i fly.", f"i am {i % 7}."] for i in range(n)],
        }
    )


def slow_talk(path: str, n: int, seconds_per_text: float) -> None:
    """Start or resume a run of n conversations in small shards; what the killed processes execute."""
    from pathlib import Path

    from evenhand.runs import ConversationRequest, PlanPart, RunDirectory, execute, make_plan

    talker = Talker(before=lambda lines: time.sleep(seconds_per_text * len(lines)))
    plan = make_plan(
        [PlanPart("names", introductions(n), ConversationRequest(DRAWN, 12))], {"name": "plain"}, talker
    )
    folder, model = Path(path), Plain()
    if RunDirectory.is_run(folder):
        directory = RunDirectory.open(folder)
    else:
        directory = RunDirectory.create(folder, model=model, given={}, resolved={})
    execute(plan, model, directory, first_shard=64, max_shard=64)
