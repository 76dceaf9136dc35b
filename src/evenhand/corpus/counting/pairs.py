"""Count pairs of terms that occur together in documents, sentences and windows of words."""

from enum import IntEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.corpus.counting.counts import PAIR_COUNTS
from evenhand.corpus.counting.options import allowed_pairs
from evenhand.corpus.counting.order import Order
from evenhand.corpus.counting.tallies import SparseTally, find_run_starts, sums
from evenhand.corpus.reading import FOLDS


class CooccurrenceUnit(IntEnum):
    """Units in which two terms can occur together."""

    DOCUMENTS = 0
    SENTENCES = 1
    WINDOWS = 2


class PairTally:
    """Counts of pairs of terms.

    The code of a pair is ((fold * size + first) * size + second) * 3 + unit, with ranks as terms. For windows, `first`
    may be the larger rank, because sorting the two is cheaper for the counts than for each pair.
    """

    def __init__(self, order: Order, pairs: tuple[str, ...]):
        self._order = order
        self._allowed = allowed_pairs(pairs, order.kinds)
        self._paired = np.asarray(self._allowed.any(axis=1))[order.kind]
        self._any = bool(self._paired.any())
        self._tally = SparseTally(FOLDS * order.size**2 * len(CooccurrenceUnit), self._is_countable)

    def add_within(
        self,
        together: CooccurrenceUnit,
        wholes: NDArray[np.int64],
        ranks: NDArray[np.int64],
        folds: NDArray[np.int64],
    ) -> None:
        """Count every two terms of the same document or sentence.

        wholes: (found,) number of the document or sentence, ascending. ranks: (found,) distinct terms in it, ascending
        within it. folds: (found,).
        """
        if not self._any:
            return
        kept = self._paired[ranks]
        wholes, ranks, folds = wholes[kept], ranks[kept], folds[kept]
        starts = find_run_starts(wholes)
        ends = np.append(starts, len(wholes))[1:]
        self._add(together, np.repeat(ends, ends - starts), ranks, folds)

    def add_windows(
        self,
        positions: NDArray[np.int64],
        window: int,
        ranks: NDArray[np.int64],
        folds: NDArray[np.int64],
    ) -> None:
        """Count pairs of hits of two terms that are at most `window` words apart.

        positions: (hits,) position of each hit in words, ascending. ranks, folds: (hits,) rank and fold of each hit.
        """
        if not self._any:
            return
        kept = self._paired[ranks]
        positions, ranks, folds = positions[kept], ranks[kept], folds[kept]
        self._add(
            CooccurrenceUnit.WINDOWS, np.searchsorted(positions, positions + window, "right"), ranks, folds
        )

    def _add(
        self,
        together: CooccurrenceUnit,
        ends: NDArray[np.intp],
        ranks: NDArray[np.int64],
        folds: NDArray[np.int64],
    ) -> None:
        size = self._order.size
        first = (folds * size + ranks) * size * len(CooccurrenceUnit) + together
        second = ranks * len(CooccurrenceUnit)
        for codes in sums(ends, first.astype(self._tally.type), second.astype(self._tally.type)):
            self._tally.add(codes)

    def _is_countable(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        size, one_spelling = self._order.size, self._order.one_spelling
        first, second = np.divmod(codes // len(CooccurrenceUnit), size)
        first %= size
        wanted: NDArray[np.bool_] = self._allowed[self._order.kind[first], self._order.kind[second]]
        wanted &= first != second
        if len(one_spelling):
            pair = np.minimum(first, second) * size + np.maximum(first, second)
            place = np.searchsorted(one_spelling, pair).clip(max=len(one_spelling) - 1)
            wanted &= one_spelling[place] != pair
        return wanted

    def frame(self) -> pl.DataFrame:
        """Return the table PAIR_COUNTS without the corpus."""
        size = self._order.size
        each = size**2 * len(CooccurrenceUnit)
        schema = pl.Schema({name: kind for name, kind in PAIR_COUNTS.items() if name != "corpus"})
        frames = [pl.DataFrame(schema=schema)]
        for fold in range(FOLDS):  # one fold at a time, because there may be many millions of pairs
            codes, counts = self._tally.counts(fold * each, (fold + 1) * each)
            pair, together = np.divmod(codes - fold * each, len(CooccurrenceUnit))
            one, other = (self._order.term[x] for x in np.divmod(pair, size))
            columns = {
                whole.name.lower(): np.where(together == whole, counts, 0) for whole in CooccurrenceUnit
            }
            pairs = {"first": np.minimum(one, other), "second": np.maximum(one, other)}
            frame = pl.DataFrame(pairs | columns).group_by("first", "second").sum()
            frames.append(frame.with_columns(fold=pl.lit(fold)).select(schema.names()).cast(schema))
        return pl.concat(frames)
