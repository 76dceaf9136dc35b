"""Texts as flat arrays of word codes; n-grams, repetitions and loops are found in all texts at once."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.stats import Codes, Floats

WORD = r"\w+|[^\w\s]"
"""A word or a punctuation mark. Case is ignored. It is the same for all models, so that models can be compared."""
LONGEST_PERIOD = 20


@dataclass(frozen=True)
class FlatTexts:
    """n texts as one array: `codes` (tokens,), equal for equal words, and `owner` (tokens,), the text of each token."""

    codes: Codes
    owner: Codes
    lengths: Codes
    """Number of tokens of each text, shape (n,)."""


@dataclass(frozen=True)
class Grams:
    """n-grams of all texts, none of them across two texts: `codes` and `owner`, each (n-grams,)."""

    codes: Codes
    owner: Codes


def words(texts: pl.Series) -> pl.Series:
    """Return the words and punctuation marks of each text in lower case, and null for null.

    >>> words(pl.Series(["Don't go!", "", None])).to_list()
    [['don', "'", 't', 'go', '!'], [], None]
    """
    return texts.cast(pl.String).str.to_lowercase().str.extract_all(WORD)


def flat_texts(texts: pl.Series) -> FlatTexts:
    """Return texts as codes; a null text has no tokens.

    >>> flat = flat_texts(pl.Series(["a b a", None, "b"]))
    >>> flat.codes.tolist(), flat.owner.tolist(), flat.lengths.tolist()
    ([0, 1, 0, 1], [0, 0, 0, 2], [3, 0, 1])
    """
    return flat_lists(words(texts))


def flat_lists(lists: pl.Series) -> FlatTexts:
    """Return texts as codes, from lists of tokens.

    >>> flat_lists(pl.Series([["__url__", "!"], []])).lengths.tolist()
    [2, 0]
    """
    lengths = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    tokens = lists.filter(lists.list.len().fill_null(0) > 0).explode()
    codes = tokens.rank("dense").to_numpy().astype(np.int64) - 1 if len(tokens) else np.zeros(0, np.int64)
    return FlatTexts(codes, np.repeat(np.arange(len(lengths)), lengths), lengths)


def grams(flat: FlatTexts, size: int) -> Grams:
    """Return all n-grams with `size` tokens.

    >>> grams(flat_texts(pl.Series(["a b a b", "a b"])), 2).codes.tolist()
    [0, 1, 0, 0]
    """
    codes = flat.codes
    for step in range(1, size):
        if len(codes) < 2:
            return Grams(np.zeros(0, np.int64), np.zeros(0, np.int64))
        following = flat.codes[step:]
        codes = codes[:-1] * (int(flat.codes.max()) + 1) + following
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    last = len(flat.owner) - len(codes)
    inside = flat.owner[: len(codes)] == flat.owner[last:]
    return Grams(codes[inside], flat.owner[: len(codes)][inside])


def repeated_share(ngrams: Grams, texts: int) -> Floats:
    """Return the share of each text's n-grams that occurred before in the same text, (texts,); NaN without n-grams.

    Source: seq-rep-n of Welleck et al. 2020, section 6, for one text.

    >>> repeated_share(grams(flat_texts(pl.Series(["a b a b a", "a"])), 2), 2).tolist()
    [0.5, nan]
    """
    count = np.bincount(ngrams.owner, minlength=texts).astype(np.float64)
    width = int(ngrams.codes.max()) + 1 if len(ngrams.codes) else 1
    distinct = np.bincount(np.unique(ngrams.owner * width + ngrams.codes) // width, minlength=texts)
    return np.asarray(np.divide(count - distinct, count, out=np.full(texts, np.nan), where=count > 0))


def longest_loop(flat: FlatTexts, longest_period: int = LONGEST_PERIOD) -> Codes:
    """Return for each text the largest number of consecutive tokens that only repeat those before them, (n,).

    A loop is a run in which every token equals the one a period before. It must be at least as long as the period,
    which is at most `longest_period`. "yes yes yes" has 2 repeated tokens, "a b a b a b" 4.

    >>> longest_loop(flat_texts(pl.Series(["yes yes yes", "a b a b a b", "a b a c"]))).tolist()
    [2, 4, 0]
    """
    longest = np.zeros(len(flat.lengths), dtype=np.int64)
    for period in range(1, min(longest_period, len(flat.codes) - 1) + 1):
        same = flat.codes[period:] == flat.codes[:-period]
        same &= flat.owner[period:] == flat.owner[:-period]
        place = np.arange(1, len(same) + 1)
        # length of the run that ends here: distance to the last token that does not repeat
        run = place - np.maximum.accumulate(np.where(same, 0, place))
        long = np.flatnonzero(run >= period)
        np.maximum.at(longest, flat.owner[period:][long], run[long])
    return longest
