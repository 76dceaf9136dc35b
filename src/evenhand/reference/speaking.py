"""Generate text with a World: each next word is sampled from its exact distribution."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.models import Decoding, Generations
from evenhand.models.writing import Prompts, Row, collect_rows, first_stop, row_uniforms
from evenhand.reference.automaton import Automaton, State
from evenhand.schema import ResponseError, Unsupported

Words = list[tuple[str, int]]


class Following(NamedTuple):
    """Possible words after a state: in the order of their ids, with probabilities."""

    words: list[str]
    ids: NDArray[np.int64]
    probabilities: NDArray[np.float64]


@dataclass(frozen=True)
class Speaker:
    """Generates text with a World: its automaton, its word ids, and its division of a text into words."""

    automaton: Automaton
    vocabulary: Mapping[str, int]
    split: Callable[[str], Words | None]

    def write(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt (see `World.generate`)."""
        refuse_searches(decoding)
        done: dict[tuple[int, int], Row] = {}
        errors: list[ResponseError | None] = [None] * len(prompts)
        details: list[str | None] = [None] * len(prompts)
        for i, prompt in enumerate(prompts):
            state, errors[i], details[i] = self._read(prompt)
            if errors[i] is None:
                # samples of a prompt often begin alike, so cache their states
                reached: dict[tuple[int, ...], tuple[State, Following]] = {
                    (): (state, self._following(state))
                }
                for sample in range(decoding.samples):
                    done[i, sample] = self._write_row(prompt, i, sample, decoding, reached)
        return collect_rows(Prompts(prompts, [[]] * len(prompts), errors, details), decoding, done, set())

    def _read(self, prompt: str) -> tuple[State, ResponseError | None, str | None]:
        state = self.automaton.start
        if not prompt.strip():
            return state, ResponseError.EMPTY_TEXT, "the prompt is empty or white space"
        # the space before the next word belongs to that word
        words = self.split(prompt.removesuffix(" "))
        if words is None:
            return state, ResponseError.OUTSIDE_WORLD, "this World puts exactly one space between words"
        for word, _ in words:
            state = self.automaton.advance(state, word)
            if not state.total:
                return state, ResponseError.OUTSIDE_WORLD, f"this World never says {word.strip()!r} there"
        return state, None, None

    def _following(self, state: State) -> Following:
        masses = self.automaton.next_words(state)
        words = sorted(masses, key=self.vocabulary.__getitem__)
        ids = np.array([self.vocabulary[word] for word in words], dtype=np.int64)
        return Following(words, ids, np.array([masses[word] for word in words]))

    def _write_row(
        self,
        prompt: str,
        number: int,
        sample: int,
        decoding: Decoding,
        reached: dict[tuple[int, ...], tuple[State, Following]],
    ) -> Row:
        row = Row(number, sample)
        uniforms = row_uniforms(decoding.seed, prompt, sample, decoding.max_new_tokens)
        text = ""
        for uniform in uniforms:
            state, following = reached[tuple(row.tokens)]
            place = select_word(following.probabilities, decoding, float(uniform))
            word = following.words[place]
            text += word.removeprefix(" ") if not row.tokens and prompt.endswith(" ") else word
            row.tokens.append(int(following.ids[place]))
            row.log_likelihood += float(np.log(following.probabilities[place]))
            if (end := first_stop(text, decoding.stop)) is not None:
                row.text, row.finish = text[:end], "stop"
                return row
            if tuple(row.tokens) not in reached:
                after = self.automaton.advance(state, word)
                reached[tuple(row.tokens)] = after, self._following(after)
        row.text, row.finish = text, "length"
        return row


def select_word(probabilities: NDArray[np.float64], decoding: Decoding, uniform: float) -> int:
    """Return the index of the word that a uniform random number selects, after the decoding's
    filters, or the most likely one.
    """
    if decoding.temperature is None:
        return int(probabilities.argmax())
    weights = (probabilities / probabilities.max()) ** (1 / decoding.temperature)
    if decoding.top_k is not None and decoding.top_k < len(weights):
        weights = np.where(weights < np.sort(weights)[-decoding.top_k], 0.0, weights)
    if decoding.top_p is not None:
        order = np.argsort(-weights, kind="stable")
        likelier = np.cumsum(weights[order]) - weights[order]
        weights[order[likelier >= decoding.top_p * weights.sum()]] = 0.0
    mass = weights.cumsum()
    return int(min(np.searchsorted(mass, uniform * mass[-1], side="right"), weights.nonzero()[0][-1]))


def refuse_searches(decoding: Decoding) -> None:
    """Raise Unsupported for beams and for blocked n-grams."""
    idle = [name for name in ("num_beams", "no_repeat_ngram_size") if getattr(decoding, name) is not None]
    if idle:
        raise Unsupported(
            "A synthetic model (World) samples from its own distribution and does not support "
            f"{' and '.join(idle)}.",
            f"Remove {' and '.join(idle)}, or use a trained model.",
        )
