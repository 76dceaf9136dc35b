"""`ConversingWorld`: small talk with known probabilities, which may depend on the name that opens the conversation."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import polars as pl

from evenhand.models import Architecture, Decoding, Generations, Likelihoods, Texts
from evenhand.reference.expectations import truth
from evenhand.reference.replying import Replier
from evenhand.reference.small_talk import SmallTalk
from evenhand.schema import Unsupported


@dataclass(frozen=True, repr=False)
class ConversingWorld(SmallTalk):
    """A language model of small talk with known probabilities, without torch. Its prompts are lines of history.

    A reply is generated in steps (`conversing.toml`): first a greeting and a remark on the name, later an answer to the
    question, a feeling and a question. The sentence of each step is sampled by its weight times exp(log-odds) of the
    plants that concern the person who opened. Nothing else in the conversation has an effect except the topic of the
    question. Every expectation is therefore a finite sum (`expectations`). Both speakers have the same bias, because
    both know the name.

    Raises UsageError for a plant on an unknown label.

    >>> line = '{"persona":[],"utterances":["Hi! My name is Ida."]}'
    >>> ConversingWorld(()).generate([line], Decoding(max_new_tokens=60)).texts
    ['Hello Ida. That is a beautiful name. Do you have any hobbies?']
    """

    name: str = "world"
    architecture: Architecture = "causal"
    answers_histories: bool = True
    """Prompts are lines of `History`; they need not be formatted as one text first."""

    def __repr__(self) -> str:
        return f"ConversingWorld({self.name!r}, {len(self.people)} people, {self.plants})"

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        parts = [[asdict(one) for one in part] for part in (self.people, self.plants, self.steps)]
        digest = hashlib.sha256(json.dumps([*parts, self.nouns], sort_keys=True).encode()).hexdigest()
        return {"name": self.name, "kind": "conversing world", "sha256": digest, "scoring": "exact"}

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "family": "conversing world",
            "scoring": "exact: a walk along what can be said, no network",
            "people": len(self.people),
            "plants": [asdict(plant) for plant in self.plants],
        }

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return exact log probabilities of replies, word by word, each after its context (a line of history).

        The end of a reply is not a word and is not scored. Impossible replies, and texts without a history, are
        OUTSIDE_WORLD rows. Raises Unsupported for any `masking` or spans.
        """
        batch = Texts.of(texts)
        batch.refuse_masking(
            f"A World reads from left to right and has no masking {batch.masking!r}.",
            "Ask for plain likelihoods, or use a masked model.",
        )
        if any(span is not None for span in batch.all_spans):
            raise Unsupported(
                "A synthetic conversational model (World) scores whole replies only.", "Remove the spans."
            )
        return self._replier.score(batch)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Sample the next utterance of each history (lines that `History.prompt` wrote) from its exact distribution.

        Tokens are words, punctuation marks and the end. A prompt that is not a history, or has no opener, is an
        OUTSIDE_WORLD row. Raises Unsupported for beams, blocked n-grams and a minimum length above 1; see
        `TextGenerator.generate`.
        """
        return self._replier.write(prompts, decoding)

    def truth(self, frame: pl.DataFrame, group: str = "gender") -> pl.DataFrame:
        """Return the mean frequency of each token with each name (see `expectations.truth`).

        >>> frame = pl.DataFrame({"text": ["Hi! My name is Ida."], "name": ["Ida"], "gender": ["woman"]})
        >>> ConversingWorld(()).truth(frame).filter(token="knitting")["count"].round(2).to_list()
        [0.1]
        """
        return truth(self, frame, group)

    @cached_property
    def _replier(self) -> Replier:
        return Replier(self)
