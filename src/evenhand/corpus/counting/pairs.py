"""Pairs of terms found together in documents, sentences, and windows of words."""

from enum import IntEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.corpus.counting.counts import PAIR_COUNTS
from evenhand.corpus.counting.options import allowed_pairs
from evenhand.corpus.counting.order import Order
from evenhand.corpus.counting.tallies import SparseTally, couples
from evenhand.corpus.reading import FOLDS


class Together(IntEnum):
    """In what two terms were found."""

    DOCUMENTS = 0
    SENTENCES = 1
    WINDOWS = 2


class PairTally:
    """How often each two terms were found together."""

    def __init__(self, order: Order, pairs: tuple[str, ...]):
        self._order = order
        self._allowed = allowed_pairs(pairs, order.kinds)
        self._paired = self._allowed.any(axis=1)[order.kind]
        self._any = bool(self._paired.any())
        some = np.flatnonzero(self._allowed.any(axis=1))
        self._all_of_them = bool(self._allowed[np.ix_(some, some)].all())
        self._tally = SparseTally(FOLDS * order.size**2 * len(Together))

    def add_within(
        self,
        together: Together,
        wholes: NDArray[np.int64],
        ranks: NDArray[np.int64],
        folds: NDArray[np.int64],
    ) -> None:
        """Count every two terms of the same document or sentence.

        wholes: (found,) number of the document or sentence, never falling. ranks: (found,) of the terms found in it,
        each once, rising within it. folds: (found,).
        """
        if not self._any:
            return
        kept = self._paired[ranks]
        wholes, ranks, folds = wholes[kept], ranks[kept], folds[kept]
        self._add(together, np.searchsorted(wholes, wholes, "right"), ranks, folds)

    def add_windows(
        self,
        positions: NDArray[np.int64],
        window: int,
        ranks: NDArray[np.int64],
        folds: NDArray[np.int64],
    ) -> None:
        """Count every two hits of two terms at most `window` words apart. positions: (hits,) never falling."""
        if not self._any:
            return
        kept = self._paired[ranks]
        positions, ranks, folds = positions[kept], ranks[kept], folds[kept]
        self._add(Together.WINDOWS, np.searchsorted(positions, positions + window, "right"), ranks, folds)

    def _add(
        self,
        together: Together,
        ends: NDArray[np.intp],
        ranks: NDArray[np.int64],
        folds: NDArray[np.int64],
    ) -> None:
        size = self._order.size
        for one, other in couples(ends):
            first, second = ranks[one], ranks[other]
            codes = np.minimum(first, second) * size + np.maximum(first, second)
            codes = (folds[one] * size**2 + codes) * len(Together) + together
            kept = first != second
            if not self._all_of_them:
                kept &= self._allowed[self._order.kind[first], self._order.kind[second]]
            self._tally.add(codes[kept])

    def frame(self) -> pl.DataFrame:
        """PAIR_COUNTS without the corpus."""
        codes, counts = self._tally.counts()
        size = self._order.size
        found, together = np.divmod(codes, len(Together))
        fold, pair = np.divmod(found, size**2)
        kept = ~np.isin(pair, self._order.one_spelling)
        found, together, fold, pair, counts = (x[kept] for x in (found, together, fold, pair, counts))
        row = np.concatenate([[True], found[1:] != found[:-1]])[: len(found)]
        columns = np.zeros((len(Together), int(row.sum())), dtype=np.int64)
        columns[together, np.cumsum(row) - 1] = counts
        one, other = (self._order.term[x] for x in np.divmod(pair[row], size))
        return pl.DataFrame(
            {
                "fold": fold[row],
                "first": np.minimum(one, other),
                "second": np.maximum(one, other),
                "documents": columns[Together.DOCUMENTS],
                "sentences": columns[Together.SENTENCES],
                "windows": columns[Together.WINDOWS],
            },
            schema={name: kind for name, kind in PAIR_COUNTS.items() if name != "corpus"},
        )
