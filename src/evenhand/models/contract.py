"""The interface of a language model: what it can be asked, and the form of its results.

A run has half a million texts, so results are flat arrays with offsets instead of objects.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.models.decoding import Decoding
from evenhand.schema import ResponseError, Unsupported, UsageError, is_a

Architecture = Literal["causal", "encoder-decoder", "masked"]
Masking = Literal["token", "word", "blank"]
StartToken = Literal["first", "tokenizer"]
BLANK = "BLANK"
"""Marks the place in a context that the masking "blank" fills with the text."""
Finish = Literal["end", "stop", "length", "cut", "longer"]
"""Why a continuation ended: end token, stop string, or token limit.

A served model that ignored the limit was "cut" to it or kept "longer" (`--allow-longer`).
"""


@dataclass(frozen=True)
class Texts:
    """n texts to be scored, the contexts before them, and which of their tokens count.

    Raises UsageError if the lists differ in length, or if a string is passed instead of a list of strings.

    Examples
    --------
    >>> Texts(["is kind", "is old"], [None, "He"]).behind("Be fair. ").contexts
    ['Be fair. ', 'Be fair. He']
    """

    texts: Sequence[str]
    contexts: Sequence[str | None] | None = None
    """n strings (or None) that precede the text (causal) or are the input of the encoder (encoder-decoder). They are
    never scored. With the masking "blank", they contain BLANK at the place of the text."""
    spans: Sequence[tuple[int, int] | None] | None = None
    """n half-open character ranges of the text (or None); only tokens that overlap are scored. The
    tokenizer reports the position of each token. Some tokenizers leave white space out: a token of white space alone
    then has no width. It is scored only in a span that begins before its position and ends after it."""
    masking: Masking | None = None
    """Masked models only. "token" (the default) masks one token at a time. "word" also masks the rest of its word to
    the right (Kauf and Ivanova 2023). "blank" fills the text into BLANK of its context from left to right: one mask
    follows the tokens that are already filled in and predicts the next (StereoSet)."""
    want_starts: bool = False
    """Fill in `Likelihoods.starts`, which costs time and may be empty otherwise."""
    start_token: StartToken | None = None
    """Causal models only. None: the model's start token comes first. "first": the start token predicts only the first
    token; later tokens are read without it (StereoSet, bias-bench). It is not used after a context.
    "tokenizer": only what the tokenizer itself adds comes first, which is nothing for GPT-2 (self-diagnosis)."""
    spaced: bool = True
    """Put one space between context and text unless either has white space there. False: join them as they
    are, for a text that continues the last word of its context, such as a continuation written by a model."""

    def __post_init__(self) -> None:
        for name, values in (("texts", self.texts), ("contexts", self.contexts), ("spans", self.spans)):
            if isinstance(values, str):
                raise UsageError(
                    f"{name} must be a list of strings, got one string: {values!r}.", "Put it in brackets."
                )
            if values is not None and len(values) != len(self.texts):
                raise UsageError(
                    f"{len(self.texts)} texts must be scored, but {len(values)} {name} were given.",
                    "Give one for each text, or None for a text without one.",
                )

    @classmethod
    def of(cls, texts: "Texts | Sequence[str]") -> "Texts":
        """Return the request as Texts, also if only strings were passed."""
        return texts if isinstance(texts, Texts) else cls(texts)

    @property
    def all_contexts(self) -> list[str]:
        """Return n contexts; empty if a text has none."""
        return (
            [""] * len(self.texts) if self.contexts is None else [context or "" for context in self.contexts]
        )

    @property
    def all_spans(self) -> list[tuple[int, int] | None]:
        """Return n spans; None if the whole text counts."""
        return [None] * len(self.texts) if self.spans is None else list(self.spans)

    def joined(self) -> tuple[list[str], list[int]]:
        """Return n strings of context and text, and the n positions at which the texts begin.

        Examples
        --------
        >>> Texts(["fair.", "ly"], ["Be", "Fair"]).joined()
        (['Be fair.', 'Fair ly'], [3, 5])
        >>> Texts(["ly"], ["Fair"], spaced=False).joined()
        (['Fairly'], [4])
        """
        strings, beginnings = [], []
        for context, text in zip(self.all_contexts, self.texts, strict=True):
            open_end = bool(context) and not context[-1].isspace() and not text[:1].isspace()
            before = context + " " * (self.spaced and open_end)
            strings.append(before + text)
            beginnings.append(len(before))
        return strings, beginnings

    def behind(self, front: str) -> "Texts":
        """Return the same texts with `front` before the context of each."""
        return replace(self, contexts=[front + context for context in self.all_contexts])

    def chunks(self, size: int) -> Iterator["Texts"]:
        """Return the same texts in parts of at most `size`, in order."""
        for first in range(0, len(self.texts), size):
            yield self.part(first, first + size)

    def part(self, first: int, last: int) -> "Texts":
        """Return the texts from `first` to before `last`."""
        contexts = None if self.contexts is None else self.contexts[first:last]
        spans = None if self.spans is None else self.spans[first:last]
        return replace(self, texts=self.texts[first:last], contexts=contexts, spans=spans)

    def refuse_masking(
        self,
        reason: str,
        hint: str = "Use a masked model (BERT, RoBERTa, ...), or a benchmark for causal models.",
    ) -> "Texts":
        """Return the same texts, for a model without masks; raises Unsupported if masks are requested."""
        if self.masking is not None:
            raise Unsupported(reason, hint)
        return self

    def refuse_first(self, name: object) -> "Texts":
        """Return the same texts, for a model that cannot be read twice.

        Raises Unsupported if start_token="first" is requested. `name` is the model's name for the message.
        """
        if self.start_token == "first":
            raise Unsupported(
                f"{name} cannot score only the first token after its start token.",
                "Score without start_token, or load the weights from Hugging Face as a causal model.",
            )
        return self


@dataclass(frozen=True)
class Likelihoods:
    """Natural-log probabilities per token of n texts, ragged: row i is `[offsets[i]:offsets[i+1]]`.

    Only scored tokens are listed. For a causal model these exclude the context and the beginning-of-sequence
    token. With `spans` they are the tokens that overlap the span.
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
        """Return the number of scored tokens per row, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def sums(self) -> NDArray[np.float64]:
        """Return the summed log probability per row, shape (n,); NaN if the row has an error."""
        row_of = np.repeat(np.arange(len(self)), self.counts)
        sums = np.bincount(row_of, weights=self.log_probs.astype(np.float64), minlength=len(self))
        failed = np.array([e is not None for e in self.errors], dtype=bool)
        return np.where(failed, np.nan, sums)

    def row(self, i: int) -> NDArray[np.float32]:
        """Return the log probabilities of the tokens of text i."""
        return self.log_probs[self.offsets[i] : self.offsets[i + 1]]


def concatenate(parts: Sequence[Likelihoods], want_starts: bool = False) -> Likelihoods:
    """Return one result from the results of consecutive slices of the texts.

    Examples
    --------
    >>> len(concatenate([]))
    0
    """
    empty = np.zeros(0)
    counts = np.concatenate([empty.astype(np.int64), *(part.counts for part in parts)])
    return Likelihoods(
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        log_probs=np.concatenate([empty.astype(np.float32), *(part.log_probs for part in parts)]),
        token_ids=np.concatenate([empty.astype(np.int32), *(part.token_ids for part in parts)]),
        starts=np.concatenate([empty.astype(np.uint32), *(part.starts for part in parts if want_starts)]),
        errors=[error for part in parts for error in part.errors],
        details=[detail for part in parts for detail in part.details or [None] * len(part)],
    )


@runtime_checkable
class LanguageModel(Protocol):
    """The interface of every backend.

    A backend without a method raises `Unsupported` with the reason and an alternative.
    """

    architecture: Architecture

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return what makes results reusable, JSON-serialisable.

        It contains name, revision or hash of the weights, dtype, hash of the tokenizer, scoring conventions,
        and the chain of mitigations.
        """
        ...

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Score each text; implementations begin with `Texts.of(texts)`.

        `texts` are strings, or `Texts` with contexts, spans and masking. Invalid rows are error rows, not
        exceptions. Raises Unsupported for a request that the model cannot fulfil, such as masks.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Return facts for the report: parameters, device, dtype, scoring path with the reason, and batch history."""
        ...


def reads_start_apart(model: object) -> bool:
    """Return whether a model supports start_token="first"; a model that does not state it does not.

    Examples
    --------
    >>> reads_start_apart(object())
    False
    """
    return bool(getattr(model, "reads_start_apart", False))


def room_for(model: object, prompts: Sequence[str]) -> list[int] | None:
    """Return how many tokens the model can write behind each prompt.

    Parameters
    ----------
    model
        A language model. One with a limited context has a method `room_for`, which counts tokens and computes nothing.
    prompts
        The n prompts.

    Returns
    -------
    list of int or None
        n numbers of tokens, 0 or less where the prompt itself does not fit; None where the length is not limited, and
        where the model (a served one, for example) does not know its limit.

    Examples
    --------
    >>> room_for(object(), ["Hello."]) is None
    True
    """
    measure = getattr(model, "room_for", None)
    return None if measure is None else measure(prompts)


@dataclass(frozen=True)
class Generations:
    """Continuations of n prompts, ragged: one row per (prompt, sample), samples of a prompt next to each other.

    Rows with an error have no text, no tokens and no likelihood.
    """

    prompt: NDArray[np.int64]  # (rows,); which prompt a row continues
    sample: NDArray[np.uint16]  # (rows,); which of its continuations this is
    texts: list[str | None]  # (rows,); the continuation alone, cut in front of a stop string
    offsets: NDArray[np.int64]  # (rows + 1,)
    token_ids: NDArray[np.int32]  # (total,); with the end token, where one was written
    finish: list[Finish | None]  # (rows,); the end token, a stop string, max_new_tokens, ...
    log_likelihood: NDArray[np.float64]  # (rows,); nats, of the tokens under the model itself, unfiltered
    errors: list[ResponseError | None]
    details: list[str | None]  # the message behind a code

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def token_count(self) -> NDArray[np.int64]:
        """Return the number of generated tokens per row, shape (rows,)."""
        return np.diff(self.offsets)

    def row(self, i: int) -> NDArray[np.int32]:
        """Return the token ids of row i."""
        return self.token_ids[self.offsets[i] : self.offsets[i + 1]]


@runtime_checkable
class TextGenerator(LanguageModel, Protocol):
    """A language model that also generates text. `text_generator` returns it, or raises the reason why it cannot."""

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt `decoding.samples` times; the prompt is never repeated.

        Sampling for a prompt depends on its text, the number of the sample and `decoding.seed`. It does not
        depend on the other prompts, their order or the batch size, except for floating-point noise. Invalid
        rows are error rows.
        """
        ...


@runtime_checkable
class KeyedGenerator(TextGenerator, Protocol):
    """A text generator that can use random numbers of another text than the prompt.

    Two models, or a model with and without a prefix, can then sample with the same random numbers.
    """

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Continue prompts as `generate` does, with random numbers that depend on a key instead of the prompt's text.

        Raises UsageError if the numbers of keys and prompts differ.
        """
        ...


def generate_keyed(
    model: LanguageModel, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding
) -> Generations:
    """Continue prompts with random numbers by key, or by prompt if the model does not support keys.

    Raises Unsupported for models that do not generate text.
    """
    writer = text_generator(model)
    if is_a(writer, KeyedGenerator):
        return cast(KeyedGenerator, writer).generate_keyed(prompts, keys, decoding)
    return writer.generate(prompts, decoding)


def text_generator(model: LanguageModel) -> TextGenerator:
    """Return the model itself if it can generate text.

    Raises Unsupported, with the reason, for models that only score.
    """
    if is_a(model, TextGenerator):
        return cast(TextGenerator, model)
    reason = "fills in single masks" if model.architecture == "masked" else "only scores texts"
    raise Unsupported(
        f"{model.fingerprint.get('name', 'This model')} {reason} and cannot generate text.",
        "Use a causal or encoder-decoder model, or a benchmark of likelihoods.",
    )
