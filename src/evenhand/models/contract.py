"""The contract of a language model: what it can be asked, and what its answers look like.

Columns, not objects: a run holds half a million texts, so answers are flat arrays with offsets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import ResponseError

Architecture = Literal["causal", "encoder-decoder", "masked"]
Masking = Literal["token", "word", "blank"]


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
