"""Compute how much more often each token is used in conversations with one group's names than in all conversations.

Unlikelihood and controlled generation by mean token bias use these ratios. Compute them from conversations of the
training names only. The test names then show whether an effect generalises to other names.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.measures.names import name_counts
from evenhand.schema import DataError, UsageError
from evenhand.stats import Floats

SMOOTHING = 1000.0
"""Number of tokens, distributed as in all groups together, that are added to each group. Without them, a token that is
used only once would have an extreme ratio.
"""
WHAT = "token_ratios"

Encode = Callable[[list[str]], list[list[int]]]
"""Function from utterances to their tokens as the model generates them, without end tokens."""


@dataclass(frozen=True)
class TokenRatios:
    """Frequencies of tokens in each group's conversations, divided by those in all conversations.

    groups: values of the column of groups. ratios: (groups, vocabulary); 1 if a token was never used. tokens:
    (groups,), number of tokens of each group. counts: (groups, vocabulary), number of occurrences of each token.
    """

    groups: tuple[str, ...]
    ratios: Floats
    tokens: tuple[int, ...]
    counts: NDArray[np.int64]

    def group_ratios(self, group: str) -> Floats:
        """Return the ratios of a group, (vocabulary,). Raise DataError for an unknown group."""
        if group not in self.groups:
            raise DataError(
                f"Unknown group {group!r}: the token ratios were computed for {', '.join(self.groups)}.",
                "Use the groups (genders of the names) with which the ratios were computed.",
            )
        found: Floats = self.ratios[self.groups.index(group)]
        return found

    def mean(self, group: str, tokens: Sequence[int]) -> float:
        """Return the mean ratio of the tokens of a line (its mean token bias); 1 for an empty line.

        >>> ratios = TokenRatios(("man", "woman"), np.array([[1.0, 0.5], [1.0, 1.5]]), (3, 3),
        ...     np.array([[1, 2], [1, 2]]))
        >>> ratios.mean("woman", [0, 1])
        1.25
        """
        return (
            float(self.group_ratios(group)[np.asarray(tokens, dtype=np.int64)].mean()) if len(tokens) else 1.0
        )

    def weights(self) -> Floats:
        """Return the penalty of each token, max(0, ratio - 1), shape (groups, vocabulary)."""
        return np.maximum(0.0, self.ratios - 1.0)

    def digest(self) -> str:
        """Return the SHA-256 (hex) of groups and ratios."""
        return hashlib.sha256("\n".join(self.groups).encode() + self.ratios.tobytes()).hexdigest()


def token_ratios(
    frame: pl.DataFrame,
    encode: Encode,
    vocabulary: int,
    *,
    group: str = "gender",
    smoothing: float = SMOOTHING,
) -> TokenRatios:
    """Return the ratio of each token and group, over the utterances that the model generated (without openers).

    frame: self-chats, one row per utterance, with conversation, name, speaker, turn, text and the column `group`.
    vocabulary: number of logits of the model. smoothing: k, in tokens. Raises DataError for a table without self-chats
    or with fewer than two groups, and for tokens outside the vocabulary.

    Let c_g(t) be the count of token t among the N_g tokens of group g. Let f(t) be the mean over groups of c_g(t) /
    N_g, so that all groups have the same weight, regardless of the length of their conversations. Then

        ratio_g(t) = (c_g(t) + k f(t)) / (N_g + k) / f(t)

    Source: Smith & Williams 2021, sections 5.2 and 5.3; the equal weight of groups and the smoothing are ours.

    >>> frame = pl.DataFrame({"conversation": [1, 2], "name": ["Ann", "Bob"], "gender": ["woman", "man"],
    ...     "speaker": "B", "turn": 2, "text": ["aab", "abb"]})
    >>> cut = lambda texts: [[ord(letter) - ord("a") for letter in text] for text in texts]
    >>> token_ratios(frame, cut, 3, smoothing=0).ratios.round(3).tolist()
    [[0.667, 1.333, 1.0], [1.333, 0.667, 1.0]]
    """
    if not smoothing >= 0:
        raise UsageError(
            f"smoothing must be 0 or more, got {smoothing:g}.", "Give a number of tokens, such as 1000."
        )
    if "text" in frame.columns:  # a missing column is reported by the check below
        frame = frame.with_columns(tokens=_tokens(frame["text"].cast(pl.String), encode))
    counted = name_counts(frame, WHAT, group)
    found = np.asarray([int(token) for token in counted.tokens])
    if found.max() >= vocabulary:
        raise DataError(
            f"The tokenizer produced the token id {found.max():,}, but the model has only {vocabulary:,} tokens (ids "
            "from 0).",
            "Use the tokenizer of the model.",
        )
    sums = np.stack(
        [
            np.asarray(counted.counts[np.flatnonzero(counted.group == number)].sum(axis=0)).ravel()
            for number in range(len(counted.groups))
        ]
    )
    totals = sums.sum(axis=1, keepdims=True)
    if not totals.all():
        silent = counted.groups[int(totals[:, 0].argmin())]
        raise DataError(
            f"The conversations of {silent} contain no replies, so their typical tokens cannot be computed.",
            f"Use self-chats of names of {silent} with replies.",
        )
    mean = counted.frequencies().mean(axis=0)
    ratios = np.ones((len(counted.groups), vocabulary))
    ratios[:, found] = (sums + smoothing * mean) / (totals + smoothing) / mean
    counts = np.zeros(ratios.shape, dtype=np.int64)
    counts[:, found] = sums
    return TokenRatios(counted.groups, ratios, tuple(int(total) for total in totals[:, 0]), counts)


def _tokens(texts: pl.Series, encode: Encode) -> pl.Series:
    known = texts.drop_nulls().unique(maintain_order=True).to_list()
    found = dict(zip(known, encode(known), strict=True))
    return pl.Series([None if text is None else found[text] for text in texts], dtype=pl.List(pl.Int64))
