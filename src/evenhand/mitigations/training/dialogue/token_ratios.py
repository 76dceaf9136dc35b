"""How much more often each token of a model is used in conversations of one group's names than in all.

What unlikelihood and controlled generation by mean token bias both rest on. Give it the conversations of the names that
are tuned on and no others: of the rest it is then known whether the effect holds for names in general.
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
"""Tokens, used as all use them, that are added to each group: without them a token that was used once is overindexed
by as much as can be."""
WHAT = "token_ratios"

Encode = Callable[[list[str]], list[list[int]]]
"""From utterances to their tokens as a model writes them, without end tokens."""


@dataclass(frozen=True)
class TokenRatios:
    """Return the frequency of each token in each group's conversations, divided by that in all.

    groups: as the column of the table named them. ratios: (groups, vocabulary); 1 where a token was never used.
    tokens: (groups,), how many were counted of each. counts: (groups, vocabulary), of each token.
    """

    groups: tuple[str, ...]
    ratios: Floats
    tokens: tuple[int, ...]
    counts: NDArray[np.int64]

    def of(self, group: str) -> Floats:
        """The ratios of a group, (vocabulary,). Raises DataError for a group that there is not."""
        if group not in self.groups:
            raise DataError(
                f"There are no conversations of {group!r}. Groups: {', '.join(self.groups)}.",
                "Give each conversation the group of its name, as in the ratios.",
            )
        found: Floats = self.ratios[self.groups.index(group)]
        return found

    def mean(self, group: str, tokens: Sequence[int]) -> float:
        """The mean ratio of a line's tokens, by which mean token bias labels it; 1 for an empty line.

        >>> ratios = TokenRatios(("man", "woman"), np.array([[1.0, 0.5], [1.0, 1.5]]), (3, 3),
        ...     np.array([[1, 2], [1, 2]]))
        >>> ratios.mean("woman", [0, 1])
        1.25
        """
        return float(self.of(group)[np.asarray(tokens, dtype=np.int64)].mean()) if len(tokens) else 1.0

    def weights(self) -> Floats:
        """How far each token is overindexed, (groups, vocabulary): max(0, ratio - 1), by which it is penalised."""
        return np.maximum(0.0, self.ratios - 1.0)

    def digest(self) -> str:
        """SHA-256 (hex) of groups and ratios."""
        return hashlib.sha256("\n".join(self.groups).encode() + self.ratios.tobytes()).hexdigest()


def token_ratios(
    frame: pl.DataFrame,
    encode: Encode,
    vocabulary: int,
    *,
    group: str = "gender",
    smoothing: float = SMOOTHING,
) -> TokenRatios:
    """The ratio of each token and group, over utterances that the model wrote (both speakers, the opener left out).

    frame: self-chats, one row an utterance, with conversation, name, speaker, turn, text and the column `group`.
    vocabulary: tokens that the model has logits for. smoothing: k, in tokens. Raises DataError for a table that is none
    of self-chats, with fewer than two groups, and for tokens outside the vocabulary.

    With c_g(t) of N_g tokens of group g and f(t) the mean over groups of c_g(t) / N_g, so that a group with more or
    longer conversations weighs no more:

        ratio_g(t) = (c_g(t) + k f(t)) / (N_g + k) / f(t)

    Source: Smith & Williams 2021, sections 5.2 and 5.3; that all groups weigh alike and the smoothing are ours.

    >>> frame = pl.DataFrame({"conversation": [1, 2], "name": ["Ann", "Bob"], "gender": ["woman", "man"],
    ...     "speaker": "B", "turn": 2, "text": ["aab", "abb"]})
    >>> cut = lambda texts: [[ord(letter) - ord("a") for letter in text] for text in texts]
    >>> token_ratios(frame, cut, 3, smoothing=0).ratios.round(3).tolist()
    [[0.667, 1.333, 1.0], [1.333, 0.667, 1.0]]
    """
    if not smoothing >= 0:
        raise UsageError(f"smoothing is {smoothing:g}; expected 0 or more.", "Give tokens, such as 1000.")
    if "text" in frame.columns:  # else it is missed below
        frame = frame.with_columns(tokens=_tokens(frame["text"].cast(pl.String), encode))
    counted = name_counts(frame, WHAT, group)
    found = np.asarray([int(token) for token in counted.tokens])
    if found.max() >= vocabulary:
        raise DataError(
            f"The tokenizer wrote the token {found.max():,}, but the model has only {vocabulary:,}.",
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
            f"The conversations of {silent} contain no replies, so their typical tokens are not known.",
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
