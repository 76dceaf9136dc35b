"""Unfinished continuations, their conversion to text, and the table of all results."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.models.contract import Finish, Generations
from evenhand.models.decoding import Decoding
from evenhand.models.writing.inputs import Prompts
from evenhand.schema import ResponseError

SHOWN_BEFORE = 8  # tokens of the prompt that are decoded with the continuation, because of spaces


def continuation_key(seed: int, prompt: str, sample: int) -> int:
    """Return an integer below 2**128 that depends only on seed, prompt and sample.

    It seeds `row_uniforms`. vLLM and servers use a part of it as their seed.

    >>> continuation_key(0, "Hi", 1) == continuation_key(0, "Hi", 1) != continuation_key(0, "Hi", 2)
    True
    """
    text = f"{seed} {sample} {prompt}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little")


def row_uniforms(seed: int, prompt: str, sample: int, count: int) -> NDArray[np.float64]:
    """Return the uniform random numbers of one continuation (count,), which depend only on seed, prompt and sample.

    >>> bool((row_uniforms(0, "Hi", 1, 3) == row_uniforms(0, "Hi", 1, 5)[:3]).all())
    True
    """
    return np.random.default_rng(continuation_key(seed, prompt, sample)).random(count)


class SeenNgrams:
    """The n-grams of a row, to find the tokens that would repeat one of them.

    tokens: the row so far. size: n. apart: another sequence whose n-grams must not be repeated either. N-grams that
    span both sequences are ignored.

    >>> SeenNgrams([1, 2, 3, 1, 2], 3).blocked_tokens(), SeenNgrams([1, 2], 3, apart=[1, 2, 4]).blocked_tokens()
    ([3], [4])
    """

    def __init__(self, tokens: Sequence[int], size: int, apart: Sequence[int] = ()):
        self.size = size
        self.following: dict[tuple[int, ...], list[int]] = {}
        for sequence in (apart, tokens):
            self.tokens: list[int] = []
            for token in sequence:
                self.append(token)

    def append(self, token: int) -> None:
        """Add the next token of the row."""
        if len(self.tokens) >= self.size - 1:
            self.following.setdefault(self._last(), []).append(token)
        self.tokens.append(token)

    def blocked_tokens(self) -> list[int]:
        """Return the tokens that must not come next."""
        return self.following.get(self._last(), []) if len(self.tokens) >= self.size - 1 else []

    def _last(self) -> tuple[int, ...]:
        return tuple(self.tokens[len(self.tokens) - self.size + 1 :])


@dataclass
class Row:
    """One unfinished continuation."""

    prompt: int
    sample: int
    uniforms: NDArray[np.float64] | None = None  # one number per token, if tokens are sampled
    ngrams: SeenNgrams | None = None
    tokens: list[int] = field(default_factory=list)
    log_likelihood: float = 0.0
    finish: Finish | None = None
    text: str = ""
    broken: bool = False

    @property
    def is_done(self) -> bool:
        """Return True if the continuation is finished."""
        return self.finish is not None or self.broken


@dataclass(frozen=True)
class Reader:
    """Converts generated tokens to the text that they add to their prompt.

    `start` is the token from which a continuation starts in a separate sequence. It is None if prompt and continuation
    are one sequence (causal models).
    """

    tokenizer: Any
    start: int | None = None

    def tokens_before(self, prompt: Sequence[int]) -> Sequence[int]:
        """Return the tokens of the prompt that are in the same sequence as its continuation."""
        return prompt if self.start is None else []

    def places_before(self, prompt: Sequence[int]) -> int:
        """Return the number of tokens before a continuation in its sequence: the prompt, or the start tokens of
        decoding.
        """
        return len(prompt) if self.start is None else 1

    def ngrams(
        self, decoding: Decoding, prompt: Sequence[int], tokens: Sequence[int] = ()
    ) -> SeenNgrams | None:
        """Return what a continuation of this number of tokens may not repeat, or None if it may repeat everything."""
        size, place = decoding.no_repeat_ngram_size, decoding.no_repeat_ngram_in
        if size is None:
            return None
        if place == "context" and self.start is not None:
            return SeenNgrams([self.start, *tokens], size, apart=prompt)
        before = [] if place == "continuation" else self.tokens_before(prompt)
        return SeenNgrams([*before, *tokens], size)

    def text(self, prompt: Sequence[int], tokens: Sequence[int]) -> str:
        """Return the continuation; some tokenizers drop a space before decoded text."""
        before = self.tokens_before(prompt)[-SHOWN_BEFORE:]
        shown = self._decode(before)
        whole = self._decode([*before, *tokens])
        return whole[len(shown) :] if whole.startswith(shown) else self._decode(tokens)

    def _decode(self, ids: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text


@dataclass(frozen=True)
class RowRules:
    """Rules for the start and end of continuations, for any source of distributions."""

    prompts: Prompts
    decoding: Decoding
    reader: Reader
    ends: frozenset[int]
    """Token ids that end a text."""
    end_is_forced: bool = False
    """True if the model forces an end token at the maximum length, which is then not part of the text."""

    def new_row(self, prompt: int, sample: int) -> Row:
        """Return a continuation without tokens, with the uniform random numbers for sampling."""
        rule, row = self.decoding, Row(prompt, sample)
        if not rule.is_greedy:
            row.uniforms = row_uniforms(rule.seed, self.prompts.texts[prompt], sample, rule.max_new_tokens)
        row.ngrams = self.reader.ngrams(rule, self.prompts.ids[prompt])
        return row

    def append(self, row: Row, token: int, value: float) -> None:
        """Append a token and its log probability (nats) to a row, and finish the row if the token ends it."""
        row.tokens.append(token)
        row.log_likelihood += value
        row.broken = not np.isfinite(row.log_likelihood)
        if row.ngrams is not None:
            row.ngrams.append(token)
        full = len(row.tokens) == self.decoding.max_new_tokens
        ended = token in self.ends and not (full and self.end_is_forced)
        if not (ended or full or self.decoding.stop):
            return
        text = self.reader.text(self.prompts.ids[row.prompt], row.tokens)
        place = None if ended else first_stop(text, self.decoding.stop)
        if place is not None:
            row.finish, row.text = "stop", text[:place]
        elif ended or full:
            row.finish, row.text = ("end" if ended else "length"), text


def first_stop(text: str, stops: Sequence[str]) -> int | None:
    """Return the position of the first stop string in a text, or None.

    >>> first_stop("Yes. No.", ("No", "."))
    3
    """
    return min((place for place in map(text.find, stops) if place >= 0), default=None)


def collect_rows(
    prompts: Prompts, decoding: Decoding, done: Mapping[tuple[int, int], Row], unfit: set[int]
) -> Generations:
    """Return all rows in the order of the prompts. Missing rows have an error with the reason.

    `done` are rows by (prompt, sample). `unfit` are prompts for which memory was not sufficient.
    """
    rows: list[Row | None] = []
    errors: list[ResponseError | None] = []
    details: list[str | None] = []
    for i in range(len(prompts.texts)):
        for sample in range(decoding.samples):
            row = done.get((i, sample))
            error, detail = prompts.errors[i], prompts.details[i]
            if row is not None and row.broken:
                error, detail = ResponseError.NOT_FINITE, "the model gave NaN or infinity"
            elif row is None and i in unfit:
                error, detail = ResponseError.OUT_OF_MEMORY, "does not fit even alone in a batch"
            rows.append(row if error is None else None)
            errors.append(error)
            details.append(detail)
    counts = np.array([0 if row is None else len(row.tokens) for row in rows], dtype=np.int64)
    return Generations(
        prompt=np.repeat(np.arange(len(prompts.texts)), decoding.samples),
        sample=np.tile(np.arange(decoding.samples, dtype=np.uint16), len(prompts.texts)),
        texts=[None if row is None else row.text for row in rows],
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        token_ids=np.array([t for row in rows if row is not None for t in row.tokens], dtype=np.int32),
        finish=[None if row is None else row.finish for row in rows],
        log_likelihood=np.array([np.nan if row is None else row.log_likelihood for row in rows]),
        errors=errors,
        details=details,
    )
