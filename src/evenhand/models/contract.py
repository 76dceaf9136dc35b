"""The contract of a language model: what it can be asked, and what its answers look like.

Columns, not objects: a run holds half a million texts, so answers are flat arrays with offsets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.models.decoding import Decoding
from evenhand.schema import ResponseError, Unsupported

Architecture = Literal["causal", "encoder-decoder", "masked"]
Masking = Literal["token", "word", "blank"]
Finish = Literal["end", "stop", "length"]


@dataclass(frozen=True)
class Likelihoods:
    """Per-token natural-log probabilities of n texts, ragged: row i is `[offsets[i]:offsets[i+1]]`.

    Only scored tokens are listed (for a causal model: not the context, not the beginning-of-sequence
    token; with `spans`: only tokens that overlap the span).
    """

    offsets: NDArray[np.int64]  # (n + 1,)
    log_probs: NDArray[np.float32]  # (total,), nats
    token_ids: NDArray[np.int32]  # (total,)
    starts: NDArray[np.uint32]  # (total,) or empty; first character of each token in its text
    errors: list[ResponseError | None]  # (n,); rows with an error list no tokens
    details: list[str | None] = field(default_factory=list)  # (n,) or empty; the message behind a code

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Scored tokens per row, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def sums(self) -> NDArray[np.float64]:
        """Summed log probability per row, shape (n,); NaN where the row has an error."""
        row_of = np.repeat(np.arange(len(self)), self.counts)
        sums = np.bincount(row_of, weights=self.log_probs.astype(np.float64), minlength=len(self))
        failed = np.array([e is not None for e in self.errors], dtype=bool)
        return np.where(failed, np.nan, sums)

    def row(self, i: int) -> NDArray[np.float32]:
        """Per-token log probabilities of text i."""
        return self.log_probs[self.offsets[i] : self.offsets[i + 1]]


@runtime_checkable
class LanguageModel(Protocol):
    """What every backend offers. A backend that lacks a method raises `Unsupported` with the reason
    and what to use instead."""

    architecture: Architecture

    @property
    def fingerprint(self) -> dict[str, Any]:
        """JSON-serialisable; whatever makes results reusable: name, revision or weights hash, dtype,
        tokenizer hash, scoring conventions, and the chain of mitigations on top."""
        ...

    def log_likelihoods(
        self,
        texts: Sequence[str],
        contexts: Sequence[str | None] | None = None,
        *,
        spans: Sequence[tuple[int, int] | None] | None = None,
        masking: Masking | None = None,
        want_starts: bool = False,
    ) -> Likelihoods:
        """Score each text.

        texts: n strings. contexts: n strings (or None) that precede the text (causal) or stand in the
        encoder (encoder-decoder); never scored. spans: n half-open character ranges of the text; only
        tokens that overlap are scored. masking: masked models only; "token" masks one token at a time,
        "word" also the rest of its word to the right (Kauf and Ivanova 2023), "blank" replaces the span
        by its tokens so far and one mask (StereoSet). want_starts: fill in `starts`, which costs time and
        is empty otherwise. Bad rows are error rows, not exceptions.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """What a reader of the report wants to know: parameters, device, dtype, scoring path chosen
        and why (e.g. fall-back from the prefix tree), batch history."""
        ...


@dataclass(frozen=True)
class Generations:
    """Continuations of n prompts, ragged: one row a (prompt, sample), samples of a prompt side by side.

    Rows with an error have no text, no tokens and no likelihood.
    """

    prompt: NDArray[np.int64]  # (rows,); which prompt a row continues
    sample: NDArray[np.uint16]  # (rows,); which of its continuations this is
    texts: list[str | None]  # (rows,); the continuation alone, cut in front of a stop string
    offsets: NDArray[np.int64]  # (rows + 1,)
    token_ids: NDArray[np.int32]  # (total,); with the end token, where one was written
    finish: list[Finish | None]  # (rows,); the end token, a stop string, or max_new_tokens
    log_likelihood: NDArray[np.float64]  # (rows,); nats, of the tokens under the model itself, unfiltered
    errors: list[ResponseError | None]
    details: list[str | None]  # the message behind a code

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def token_count(self) -> NDArray[np.int64]:
        """Tokens written per row, shape (rows,)."""
        return np.diff(self.offsets)

    def row(self, i: int) -> NDArray[np.int32]:
        """Token ids of row i."""
        return self.token_ids[self.offsets[i] : self.offsets[i + 1]]


@runtime_checkable
class TextGenerator(LanguageModel, Protocol):
    """A language model that also writes. `text_generator` turns any model into one, or says why not."""

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt `decoding.samples` times; never repeats the prompt.

        What is drawn for a prompt depends on its text, the sample's number and `decoding.seed`, not on the
        other prompts, their order or the batch size, beyond floating-point noise. Bad rows are error rows.
        """
        ...


def text_generator(model: LanguageModel) -> TextGenerator:
    """The model itself, if it can write.

    Raises Unsupported, with the reason, for models that only score.
    """
    if isinstance(model, TextGenerator):
        return model
    reason = "fills in single masks" if model.architecture == "masked" else "only scores texts"
    raise Unsupported(
        f"{model.fingerprint.get('name', 'This model')} {reason} and cannot write continuations.",
        "Use a causal or encoder-decoder model, or a benchmark that asks for likelihoods.",
    )
