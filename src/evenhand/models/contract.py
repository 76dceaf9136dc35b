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
"""Placeholder in a context that the masking "blank" fills with the text."""
Finish = Literal["end", "stop", "length", "cut", "longer"]
"""Why a continuation ended: end token, stop string, or token limit.

A served model that ignored the limit was "cut" to it or kept "longer" (`--allow-longer`).
"""


@dataclass(frozen=True)
class Texts:
    """A request to score n texts, with the contexts before them and the tokens that count.

    Pass it to `LanguageModel.log_likelihoods` if plain strings are not enough. Use a context to condition on
    a text without scoring it, and spans to score only a part of each text.

    Raises
    ------
    UsageError
        The lists differ in length, or a string is passed instead of a list of strings.

    Examples
    --------
    >>> Texts(["is kind", "is old"], [None, "He"]).behind("Be fair. ").contexts
    ['Be fair. ', 'Be fair. He']
    """

    texts: Sequence[str]
    contexts: Sequence[str | None] | None = None
    """n strings (or None) that are never scored. For a causal model they precede the text. For an encoder-decoder they
    are the input of the encoder. With the masking "blank", they contain BLANK at the place of the text."""
    spans: Sequence[tuple[int, int] | None] | None = None
    """n half-open character ranges of the text (or None). Only tokens that overlap the range are scored. Some
    tokenizers leave white space out of positions, so a token of white space alone has no width. It is scored only in a
    span that begins before its position and ends after it."""
    masking: Masking | None = None
    """Masked models only. "token" (the default) masks one token at a time. "word" also masks the rest of its word to
    the right (Kauf and Ivanova 2023). "blank" fills the text into BLANK of its context from left to right: one mask
    follows the tokens that are already filled in and predicts the next (StereoSet)."""
    want_starts: bool = False
    """Whether to fill in `Likelihoods.starts`. This costs time. Otherwise it may be empty."""
    start_token: StartToken | None = None
    """Causal models only. None: the model's start token comes first. "first": the start token predicts only the first
    token; later tokens are read without it (StereoSet, bias-bench). It is not used after a context.
    "tokenizer": only what the tokenizer itself adds comes first, which is nothing for GPT-2 (self-diagnosis)."""
    spaced: bool = True
    """Whether to put one space between context and text if neither has white space there. False: join them as they are.
    A continuation that a model wrote, for example, may continue the last word of its context."""

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
        """Return the same texts, for a model that cannot condition the first token on the start token alone.

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
    """Log probabilities (natural logarithm) of the tokens of n texts; `sums` has one number per text.

    `LanguageModel.log_likelihoods` returns it. Text i has the values `log_probs[offsets[i]:offsets[i + 1]]`.
    Only scored tokens are listed. For a causal model these exclude the context and the beginning-of-sequence
    token. If the request has spans, only tokens that overlap the span are listed.
    """

    offsets: NDArray[np.int64]  # (n + 1,)
    log_probs: NDArray[np.float32]  # (total,), nats
    token_ids: NDArray[np.int32]  # (total,)
    starts: NDArray[np.uint32]  # (total,) or empty; first character of each token in its text
    errors: list[ResponseError | None]  # (n,); rows with an error list no tokens
    details: list[str | None] = field(default_factory=list)  # (n,) or empty; the message for an error code

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
    """Join the results of consecutive slices of texts into one result.

    Parameters
    ----------
    parts : sequence of Likelihoods
        Results of the slices, in the order of the texts.
    want_starts : bool, default False
        Also join `Likelihoods.starts`.

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
    """Interface of a language model that scores texts.

    Implement it to audit a model that evenhand cannot load. A backend that cannot fulfil a request raises
    `Unsupported` with the reason and an alternative.
    """

    architecture: Architecture

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return everything that determines the results of the model, JSON-serialisable.

        Stored results are reused only if the fingerprint is the same. It contains the name, the revision or a
        hash of the weights, the dtype, a hash of the tokenizer, the scoring conventions, and the mitigations.
        """
        ...

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the log probability of each token of each text.

        `texts` are n strings, or `Texts` with contexts, spans and masking; implementations begin with
        `Texts.of(texts)`. An invalid text gives a row with an error, not an exception. Raises Unsupported for
        a request that the model cannot fulfil, such as masks for a causal model.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Return facts for the report: parameters, device, dtype, scoring path with the reason, and batch history."""
        ...


def reads_start_apart(model: object) -> bool:
    """Return whether a model can condition the first token of a text on its start token.

    StereoSet scores texts in this way. Check it before you pass `start_token="first"` (see `Texts`). The answer is the
    model's attribute `reads_start_apart`, or False without this attribute.

    Examples
    --------
    >>> reads_start_apart(object())
    False
    """
    return bool(getattr(model, "reads_start_apart", False))


def room_for(model: object, prompts: Sequence[str]) -> list[int] | None:
    """Return how many tokens a model can write after each prompt.

    Use it to find prompts that are too long before you generate. Tokens are counted, but the model is not
    run.

    Parameters
    ----------
    model : LanguageModel
        A model. If its context is limited, it has a method `room_for`.
    prompts : sequence of str, length n
        The prompts.

    Returns
    -------
    list of int, length n, or None
        Numbers of tokens. A number is 0 or negative if the prompt itself does not fit. None if the length is
        not limited, or if the model does not know its limit (a served model, for example).

    Examples
    --------
    >>> room_for(object(), ["Hello."]) is None
    True
    """
    measure = getattr(model, "room_for", None)
    return None if measure is None else measure(prompts)


@dataclass(frozen=True)
class Generations:
    """Continuations that a model wrote for n prompts; `TextGenerator.generate` returns it.

    There is one row per prompt and sample, and the samples of a prompt are next to each other. Row i has the
    tokens `token_ids[offsets[i]:offsets[i + 1]]`. Rows with an error have no text, no tokens and no
    likelihood.
    """

    prompt: NDArray[np.int64]  # (rows,); index of the prompt that a row continues
    sample: NDArray[np.uint16]  # (rows,); index of the sample of its prompt
    texts: list[str | None]  # (rows,); the continuation without its prompt, cut before a stop string
    offsets: NDArray[np.int64]  # (rows + 1,)
    token_ids: NDArray[np.int32]  # (total,); including the end token, if it was generated
    finish: list[Finish | None]  # (rows,); the end token, a stop string, max_new_tokens, ...
    # (rows,); nats; of the tokens under the model itself, before temperature and filters
    log_likelihood: NDArray[np.float64]
    errors: list[ResponseError | None]
    details: list[str | None]  # the message for an error code

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
    """Interface of a language model that also generates text; call `text_generator(model)` to get it."""

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt `decoding.samples` times, and return the continuations without the prompts.

        The random numbers of a continuation depend on the text of its prompt, the number of the sample and
        `decoding.seed`. They do not depend on the other prompts, their order or the batch size, except for
        floating-point noise. An invalid prompt gives a row with an error, not an exception.
        """
        ...


@runtime_checkable
class KeyedGenerator(TextGenerator, Protocol):
    """Interface of a text generator whose random numbers can depend on another text than the prompt.

    Use it to sample from two models, or from a model with and without a prefix, with the same random numbers.
    The comparison then has less noise.
    """

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Continue prompts as `generate` does, with random numbers that depend on `keys` instead of the prompts.

        There is one key, a text, for each prompt.

        Raises UsageError if the numbers of keys and prompts differ.
        """
        ...


def generate_keyed(
    model: LanguageModel, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding
) -> Generations:
    """Continue prompts with random numbers that depend on keys, if the model supports it.

    Use it to sample from two models with the same random numbers although their prompts differ. For a model
    that does not support keys, the random numbers depend on the prompts.

    Parameters
    ----------
    model : LanguageModel
        The model. Unsupported is raised if it does not generate text.
    prompts, keys : sequence of str, length n
        The prompts, and one text per prompt on which the random numbers depend.
    decoding : Decoding
        How tokens are chosen.
    """
    writer = text_generator(model)
    if is_a(writer, KeyedGenerator):
        return cast(KeyedGenerator, writer).generate_keyed(prompts, keys, decoding)
    return writer.generate(prompts, decoding)


def text_generator(model: LanguageModel) -> TextGenerator:
    """Return the model itself if it can generate text.

    Call it at the start of a function that needs generated text, so that a wrong model fails early. Raises
    Unsupported, with the reason, for models that only score.
    """
    if is_a(model, TextGenerator):
        return cast(TextGenerator, model)
    reason = "fills in single masks" if model.architecture == "masked" else "only scores texts"
    raise Unsupported(
        f"{model.fingerprint.get('name', 'This model')} {reason} and cannot generate text.",
        "Use a causal or encoder-decoder model, or a benchmark of likelihoods.",
    )
