"""Training targets: the exact distribution of the next token for utterances of a World, and the token itself for
others.

A sampled word contains little information on a plant (one draw among a thousand descriptors), but the distribution from
which it was sampled contains all. The model therefore learns small associations in minutes, and descriptors that are
equal in the World have exactly equal targets.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.reference.automaton import State, split_words, word_pattern
from evenhand.reference.sayings import Saying
from evenhand.reference.world import World

REMEMBERED = 100_000
"""Number of prefixes whose targets are cached, because the beginnings of sentences recur."""


@dataclass(frozen=True)
class Targets:
    """Sparse distributions; those of position i are the entries with `position == i`."""

    position: NDArray[np.int64]  # (entries,)
    token: NDArray[np.int64]  # (entries,)
    probability: NDArray[np.float32]  # (entries,)


Step = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Target of one position: token ids and their probabilities, (entries,) each."""


def stack_targets(steps: list[Step]) -> Targets:
    """Join the targets of consecutive positions."""
    counts = [len(tokens) for tokens, _ in steps]
    return Targets(
        np.repeat(np.arange(len(counts)), counts),
        np.concatenate([tokens for tokens, _ in steps]),
        np.concatenate([chances for _, chances in steps]),
    )


def given_steps(following: list[int]) -> list[Step]:
    """Return targets that are the tokens themselves."""
    return [(np.array([token]), np.ones(1, dtype=np.float32)) for token in following]


class SayingTeacher:
    """Computes targets for sayings; it needs a tokenizer in which each word of a tail is one token."""

    def __init__(self, tokenizer: Any):
        self.tokenizer = tokenizer
        self.end = int(tokenizer.eos_token_id)
        self.token_of: dict[str, int] = {}

    def steps(self, saying: Saying) -> list[Step]:
        """Return the targets of a saying's tail and of its end."""
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
    """Computes targets for texts; it needs a tokenizer in which every word of the World is one token."""

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
        """Return the targets of all tokens of all texts except each first one (the start token), in order.

        sequences: token ids of each text, between two end tokens.
        """
        pairs = zip(texts, sequences, strict=True)
        return stack_targets([step for text, sequence in pairs for step in self.steps(text, sequence[1:])])

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
            following = self._state_after(prefix, state)
            exact.append(following[1:])
            prefix += word
            state = self.known[prefix][0] if prefix in self.known else self.automaton.advance(state, word)
            if not state.total:
                return None  # impossible in the World
        exact.append((np.array([self.end]), np.ones(1, dtype=np.float32)))
        return exact if state.finished else None

    def _state_after(self, prefix: str, state: State) -> tuple[State, NDArray[np.int64], NDArray[np.float32]]:
        if prefix in self.known:
            return self.known[prefix]
        following = self.automaton.next_words(state)
        tokens = np.array([self.token_of[word] for word in following], dtype=np.int64)
        known = state, tokens, np.array(list(following.values()), dtype=np.float32)
        if len(self.known) < REMEMBERED:
            self.known[prefix] = known
        return known
