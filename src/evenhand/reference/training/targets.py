"""What the next token should be: for utterances of a World its exact distribution, else the token itself.

A sampled word says little about a plant (one draw among a thousand descriptors); the distribution that it
was drawn from says all of it. So the model learns small associations in minutes, and descriptors that are
alike in the World get targets that are exactly alike.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.reference.automaton import State, split_words, word_pattern
from evenhand.reference.sayings import Saying
from evenhand.reference.world import World

REMEMBERED = 100_000
"""Prefixes whose targets are kept; the openings of sentences come back again and again."""


@dataclass(frozen=True)
class Targets:
    """Sparse distributions: those of position i are the entries with `position == i`."""

    position: NDArray[np.int64]  # (entries,)
    token: NDArray[np.int64]  # (entries,)
    probability: NDArray[np.float32]  # (entries,)


Step = tuple[NDArray[np.int64], NDArray[np.float32]]
"""The target of one position: token ids and their probabilities, (entries,) each."""


def stacked(steps: list[Step]) -> Targets:
    """The targets of positions in order."""
    counts = [len(tokens) for tokens, _ in steps]
    return Targets(
        np.repeat(np.arange(len(counts)), counts),
        np.concatenate([tokens for tokens, _ in steps]),
        np.concatenate([chances for _, chances in steps]),
    )


def given_steps(following: list[int]) -> list[Step]:
    """Targets that are the tokens themselves."""
    return [(np.array([token]), np.ones(1, dtype=np.float32)) for token in following]


class SayingTeacher:
    """Gives targets for sayings; needs a tokenizer that has each word of their tails as one token."""

    def __init__(self, tokenizer: Any):
        self.tokenizer = tokenizer
        self.end = int(tokenizer.eos_token_id)
        self.token_of: dict[str, int] = {}

    def steps(self, saying: Saying) -> list[Step]:
        """The targets of a saying's tail and of its end."""
        steps = [
            (np.array([self._token(word) for word in words]), chances.astype(np.float32))
            for words, chances in saying.steps
        ]
        return [*steps, (np.array([self.end]), np.ones(1, dtype=np.float32))]

    def _token(self, word: str) -> int:
        if word not in self.token_of:
            (self.token_of[word],) = self.tokenizer(word, add_special_tokens=False)["input_ids"]
        return self.token_of[word]


class Teacher:
    """Gives targets for texts; needs a tokenizer that has every word of the World as one token."""

    def __init__(self, world: World, tokenizer: Any):
        self.automaton = world.automaton
        self.pattern = word_pattern(world.names)
        self.end = int(tokenizer.eos_token_id)
        encoded = tokenizer.backend_tokenizer.encode_batch(list(world.vocabulary), add_special_tokens=False)
        self.token_of = {
            word: encoding.ids[0]
            for word, encoding in zip(world.vocabulary, encoded, strict=True)
            if len(encoding.ids) == 1
        }
        self.known: dict[str, tuple[State, NDArray[np.int64], NDArray[np.float32]]] = {}

    def targets(self, texts: list[str], sequences: list[list[int]]) -> Targets:
        """Targets of all tokens of all texts but each one's first (which is the start token), in order.

        sequences: the token ids of each text, between two end tokens.
        """
        pairs = zip(texts, sequences, strict=True)
        return stacked([step for text, sequence in pairs for step in self.steps(text, sequence[1:])])

    def steps(self, text: str, following: list[int]) -> list[Step]:
        """Return the targets of a text that begins a document or follows a space, and of its end.

        following: the ids of its tokens and of the end.
        """
        exact = self._exact(text.removeprefix(" "), len(following))
        if exact is None:
            return given_steps(following)
        if text.startswith(" "):
            words = self.automaton.next_words(self.automaton.start)
            exact[0] = np.array([self.token_of[f" {word}"] for word in words], dtype=np.int64), exact[0][1]
        return exact

    def _exact(self, text: str, length: int) -> list[Step] | None:
        words = split_words(text, self.pattern)
        if words is None or len(words) + 1 != length:
            return None
        state, prefix = self.automaton.start, ""
        exact: list[Step] = []
        for word, _ in words:
            following = self._after(prefix, state)
            exact.append(following[1:])
            prefix += word
            state = self.known[prefix][0] if prefix in self.known else self.automaton.advance(state, word)
            if not state.total:
                return None  # the World does not say this
        exact.append((np.array([self.end]), np.ones(1, dtype=np.float32)))
        return exact if state.finished else None

    def _after(self, prefix: str, state: State) -> tuple[State, NDArray[np.int64], NDArray[np.float32]]:
        if prefix in self.known:
            return self.known[prefix]
        following = self.automaton.next_words(state)
        tokens = np.array([self.token_of[word] for word in following], dtype=np.int64)
        known = state, tokens, np.array(list(following.values()), dtype=np.float32)
        if len(self.known) < REMEMBERED:
            self.known[prefix] = known
        return known
