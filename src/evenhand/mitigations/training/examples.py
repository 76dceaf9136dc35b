"""Training examples: tokenised texts with labels and the marks of a method, combined into batches.

Marks are computed once, when texts are tokenised, so that a training step only does arithmetic.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.models.dialogue import History
from evenhand.schema import DataError
from evenhand.weights import quiet_transformers

if TYPE_CHECKING:
    from torch import Tensor

Ints = NDArray[np.int64]
EncodeReply = Callable[[History, str, str | None], tuple[Sequence[int], Sequence[int]]]
"""Function from a history, a reply and a label ("": none) to the tokens of history and reply in a model's format."""
IGNORED = -100
"""Label of tokens that are read but not learned."""


@dataclass(frozen=True)
class Batch:
    """Several examples as arrays, padded on the right.

    Attributes
    ----------
    input_ids, attention_mask, labels : shape (rows, longest)
        Labels are not shifted. They are `IGNORED` for tokens that are not learned.
    marks : mapping of str to array, shape (found, 1 + columns)
        For each marked position, the row in the batch and the method's data.
    values : mapping of str to array, shape (rows, ...)
        Data of whole examples.
    context_ids, context_mask : shape (rows, longest context), or None
        Input of the encoder; the decoder then reads `input_ids`. None for models without an encoder.
    """

    input_ids: "Tensor"
    attention_mask: "Tensor"
    labels: "Tensor"
    marks: Mapping[str, "Tensor"] = field(default_factory=dict)
    values: Mapping[str, "Tensor"] = field(default_factory=dict)
    context_ids: "Tensor | None" = None
    context_mask: "Tensor | None" = None

    def __len__(self) -> int:
        return int(self.input_ids.shape[0])

    @cached_property
    def n_learned(self) -> int:
        """Return the number of learned tokens. The first token of a row is not learned, because nothing precedes it."""
        return int((self.labels[:, 1:] != IGNORED).sum())

    def to(self, device: Any) -> "Batch":
        """Return the batch on another device."""
        return Batch(
            self.input_ids.to(device),
            self.attention_mask.to(device),
            self.labels.to(device),
            {name: mark.to(device) for name, mark in self.marks.items()},
            {name: value.to(device) for name, value in self.values.items()},
            None if self.context_ids is None else self.context_ids.to(device),
            None if self.context_mask is None else self.context_mask.to(device),
        )


@dataclass(frozen=True)
class Examples:
    """Tokenised training examples.

    Attributes
    ----------
    ids : sequence of arrays
        Token ids of each example.
    labels : sequence of arrays, or None
        Label of each token. None: the tokens themselves.
    marks : mapping of str to sequence of arrays
        By name, for each example an array (found, columns) of positions with data.
    values : mapping of str to array, shape (n, ...)
        By name, data of each example.
    contexts : sequence of arrays, or None
        Input of an encoder for each example. `ids` are then read by the decoder, starting with its start token.
    """

    ids: Sequence[Ints]
    labels: Sequence[Ints] | None = None
    marks: Mapping[str, Sequence[Ints]] = field(default_factory=dict)
    values: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    contexts: Sequence[Ints] | None = None

    def __post_init__(self) -> None:
        if not len(self.ids):
            raise DataError("There are no training examples.", "Give at least one text.")
        parts: dict[str, Any] = {"labels": self.labels or self.ids, "contexts": self.contexts or self.ids}
        parts |= {**self.marks, **self.values}
        for name, held in parts.items():
            if len(held) != len(self.ids):
                raise DataError(
                    f"{name} has values for {len(held):,} examples, but there are {len(self.ids):,} examples.",
                    "Give one value for each example.",
                )

    def __len__(self) -> int:
        return len(self.ids)

    def length(self, row: int) -> int:
        """Return the number of tokens of an example, including its context."""
        return len(self.ids[row]) + (0 if self.contexts is None else len(self.contexts[row]))

    def with_marks(self, **marks: Sequence[Ints]) -> "Examples":
        """Return a copy with additional marks."""
        return replace(self, marks={**self.marks, **marks})

    def with_values(self, values: Mapping[str, NDArray[Any]]) -> "Examples":
        """Return a copy with additional values."""
        return replace(self, values={**self.values, **values})

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the whole content, in order."""
        digest = hashlib.sha256(str(len(self)).encode())
        parts = {"ids": self.ids, "labels": self.labels or (), **self.marks, **self.values}
        if self.contexts is not None:
            parts["contexts"] = self.contexts
        for name in sorted(parts):
            digest.update(name.encode())
            for one in parts[name]:
                array = np.ascontiguousarray(one)
                digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
        return digest.hexdigest()

    def batch(self, rows: Sequence[int] | Ints, pad: int) -> Batch:
        """Return some examples as a batch on the CPU.

        `rows` are the indices of the examples, in the order of the batch. `pad` is the token with which shorter ones
        are padded; it is never learned.
        """
        import torch

        ids, seen = _pad_rows([self.ids[row] for row in rows], pad)
        labels, _ = _pad_rows([(self.labels or self.ids)[row] for row in rows], IGNORED)
        context = context_mask = None
        if self.contexts is not None:
            context, context_mask = _pad_rows([self.contexts[row] for row in rows], pad)
        marks = {
            name: torch.from_numpy(_with_row([found[row] for row in rows]))
            for name, found in self.marks.items()
        }
        values = {name: torch.as_tensor(held[np.asarray(rows)]) for name, held in self.values.items()}
        return Batch(ids, seen, labels, marks, values, context, context_mask)


def encode_texts(
    tokenizer: Any, texts: Sequence[str], *, longest: int, start: Sequence[int] = (), end: Sequence[int] = ()
) -> Examples:
    """Tokenise texts as examples for language modelling.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        The tokenizer.
    texts : sequence of str
        The texts.
    longest : int
        Maximum number of tokens of an example, including `start` and `end`. The rest is cut off.
    start, end : sequence of int
        Tokens before and after each text.

    Returns
    -------
    Examples
        The examples.

    Raises
    ------
    DataError
        A text has fewer than two tokens, so there is nothing to learn.

    >>> from evenhand.weights import load_tokenizer
    >>> from evenhand.reference.embedded import WEIGHTS
    >>> [len(ids) for ids in encode_texts(load_tokenizer(WEIGHTS), ["I admire you.", "Hello."], longest=3).ids]
    [3, 2]
    """
    with quiet_transformers():  # transformers would warn about long texts, which are cut here
        found = tokenizer(list(texts), add_special_tokens=False)["input_ids"] if len(texts) else []
    ids = [np.array([*start, *one, *end][:longest], dtype=np.int64) for one in found]
    short = [text for text, one in zip(texts, ids, strict=True) if len(one) < 2]
    if short:
        raise DataError(
            f"{len(short)} of {len(texts)} texts have less than two tokens (the first: {short[0][:60]!r}).",
            "Remove empty lines and single words.",
        )
    return Examples(ids)


def reply_examples(
    pairs: Sequence[tuple[Sequence[int] | Ints, Sequence[int] | Ints]], decoder_start: int | None = None
) -> Examples:
    """Return examples of contexts and replies. Only the tokens of the replies contribute to the loss.

    `pairs` has the tokens of each context and its reply. A reply ends with the end token. For an encoder-decoder model,
    `decoder_start` is its start token, and the encoder reads the context. For a causal model, which reads both as one
    text, it is None. Raises a DataError if a context or reply is empty.

    >>> reply_examples([([5, 6], [7, 8, 2])]).labels[0].tolist()
    [-100, -100, 7, 8, 2]
    >>> examples = reply_examples([([5, 6], [7, 8, 2])], decoder_start=1)
    >>> examples.contexts[0].tolist(), examples.ids[0].tolist(), examples.batch([0], 0).n_learned
    ([5, 6], [1, 7, 8, 2], 3)
    """
    if not all(len(context) and len(reply) for context, reply in pairs):
        raise DataError(
            "A history or a reply has no token in this model's format of dialogues.",
            "Remove empty openers and replies, or choose another format.",
        )
    both = [tuple(np.asarray(part, dtype=np.int64) for part in pair) for pair in pairs]
    if decoder_start is not None:
        ids = [np.concatenate([[decoder_start], reply]) for _, reply in both]
        return Examples(ids, contexts=[context for context, _ in both])
    return Examples(
        [np.concatenate(pair) for pair in both],
        [np.concatenate([np.full_like(context, IGNORED), reply]) for context, reply in both],
    )


def pad_token(tokenizer: Any) -> int:
    """Return the token for padding: that of the tokenizer, or any other, because padding is neither seen nor
    learned.
    """
    for token in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    return 0


def _pad_rows(rows: Sequence[Ints], pad: int) -> "tuple[Tensor, Tensor]":
    """Return tokens padded on the right, (rows, longest), and a mask with 1 for each token."""
    import torch

    ids = np.full((len(rows), max(map(len, rows))), pad, dtype=np.int64)
    seen = np.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row)], seen[place, : len(row)] = row, 1
    return torch.from_numpy(ids), torch.from_numpy(seen)


def _with_row(found: Sequence[Ints]) -> Ints:
    places = np.repeat(np.arange(len(found)), [len(one) for one in found])
    together = np.concatenate(found) if len(found) else np.zeros((0, 0), dtype=np.int64)
    return np.column_stack([places, together]).astype(np.int64)
