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
from evenhand.reference.world import World

REMEMBERED = 100_000
"""Prefixes whose targets are kept; the openings of sentences come back again and again."""


@dataclass(frozen=True)
class Targets:
    """Sparse distributions: those of position i are the entries with `position == i`."""

    position: NDArray[np.int64]  # (entries,)
    token: NDArray[np.int64]  # (entries,)
    probability: NDArray[np.float32]  # (entries,)


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
        tokens: list[NDArray[np.int64]] = []
        probabilities: list[NDArray[np.float32]] = []
        for text, sequence in zip(texts, sequences, strict=True):
            exact = self._exact(text, len(sequence) - 1)
            if exact is None:
                tokens += [np.array([token]) for token in sequence[1:]]
                probabilities += [np.ones(1, dtype=np.float32)] * (len(sequence) - 1)
            else:
                tokens += [token for token, _ in exact]
                probabilities += [probability for _, probability in exact]
        counts = [len(token) for token in tokens]
        return Targets(
            np.repeat(np.arange(len(counts)), counts), np.concatenate(tokens), np.concatenate(probabilities)
        )

    def _exact(self, text: str, length: int) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]] | None:
        words = split_words(text, self.pattern)
        if words is None or len(words) + 1 != length:
            return None
        state, prefix = self.automaton.start, ""
        exact: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []
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
