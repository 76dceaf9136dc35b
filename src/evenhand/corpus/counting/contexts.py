"""Keep a few hits of each term with the words around them: those with the smallest keys, however the
work was divided.
"""

import hashlib
import re
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.corpus.counting.counts import CONTEXTS
from evenhand.corpus.counting.order import Order
from evenhand.corpus.counting.tallies import find_run_starts
from evenhand.corpus.matching import Hits
from evenhand.corpus.reading import Piece
from evenhand.schema import without_surrogates

AROUND = 60
"""Maximum number of characters before and after a hit."""
HELD = 1 << 24
"""Maximum number of characters of documents that wait to be cut. Hits that are replaced meanwhile need not be cut."""
BEGUN_WORD = re.compile(r"^\S+\s+(?=\S)")
UNFINISHED_WORD = re.compile(r"(?<=\S)\s+\S+$")
LARGEST = np.iinfo(np.uint64).max
STEP = np.uint64(0x9E3779B97F4A7C15)


Originals = Callable[[Sequence[str], Sequence[int], Sequence[int]], list[tuple[int, int]]]
"""Function from texts, starts and surfaces of hits to their first characters and the ones after
(`Matcher.originals`).
"""


@dataclass
class _SampledHit:
    """A hit in the current sample; `text` is kept until it is cut."""

    key: int
    near_person: bool
    address: str
    place: int
    start: int
    surface: int
    text: str | None
    cut: tuple[str, str, str] = ("", "", "")


class ContextSample:
    """The `most` hits of each term with the smallest keys."""

    def __init__(self, order: Order, originals: Originals, most: int, seed: int):
        self._order, self._originals, self._most, self._seed = order, originals, most, seed
        self._limit = np.full(order.size, LARGEST, dtype=np.uint64)
        self._drawn: dict[int, list[_SampledHit]] = {}
        self._held = 0

    def add(
        self,
        texts: Sequence[str],
        places: Sequence[int],
        piece: Piece,
        hits: Hits,
        ranks: NDArray[np.int64],
        near: NDArray[np.bool_],
    ) -> None:
        """Sample from the hits in some documents of a piece. ranks, near: (hits,)."""
        if not self._most or not len(ranks):
            return
        keys = _keys(self._seed, piece, places, hits)
        candidates = np.flatnonzero(keys < self._limit[ranks])
        candidates = candidates[np.lexsort((keys[candidates], ranks[candidates]))]
        starts = find_run_starts(ranks[candidates])
        behind = np.arange(len(candidates)) - np.repeat(starts, np.diff(starts, append=len(candidates)))
        taken: set[int] = set()
        for i in candidates[behind < self._most].tolist():
            document = int(hits.document[i])
            drawn = _SampledHit(
                int(keys[i]),
                bool(near[i]),
                piece.address,
                places[document],
                int(hits.start[i]),
                int(hits.surface[i]),
                texts[document],
            )
            self._draw(int(ranks[i]), drawn)
            taken.add(document)
        self._held += sum(len(texts[document]) for document in taken)
        if self._held > HELD:
            waiting = {id(one.text): len(one.text) for one in self._iterate_hits() if one.text is not None}
            self._held = sum(waiting.values())  # hits that were replaced no longer count
            if self._held > HELD // 2:
                self._cut_texts()

    def frame(self) -> pl.DataFrame:
        """Return the table CONTEXTS without the corpus."""
        self._cut_texts()
        rows = [
            (int(self._order.term[rank]), one.key, one.near_person, *one.cut, one.address, one.place)
            for rank, several in self._drawn.items()
            for one in several
        ]
        schema = {name: kind for name, kind in CONTEXTS.items() if name != "corpus"}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _draw(self, rank: int, drawn: _SampledHit) -> None:
        several = self._drawn.setdefault(rank, [])
        insort(several, drawn, key=attrgetter("key"))
        del several[self._most :]
        if len(several) == self._most:
            self._limit[rank] = several[-1].key

    def _cut_texts(self) -> None:
        waiting = [(one, one.text) for one in self._iterate_hits() if one.text is not None]
        texts = [text for _, text in waiting]
        starts, surfaces = [one.start for one, _ in waiting], [one.surface for one, _ in waiting]
        for (one, text), place in zip(waiting, self._originals(texts, starts, surfaces), strict=True):
            one.cut, one.text = around(text, *place), None
        self._held = 0

    def _iterate_hits(self) -> Iterator[_SampledHit]:
        return chain.from_iterable(self._drawn.values())


def around(text: str, first: int, last: int) -> tuple[str, str, str]:
    """Return the text before, at and after the characters first to last - 1, cut between words.

    >>> around("He said that she was, in his words, a deaf woman of about forty, whom nobody there knew.", 38, 42)
    ('He said that she was, in his words, a ', 'deaf', ' woman of about forty, whom nobody there knew.')
    """
    before, after = text[max(first - AROUND, 0) : first], text[last : last + AROUND]
    if first > AROUND and not text[first - AROUND - 1].isspace():
        before = BEGUN_WORD.sub("", before)
    if last + AROUND < len(text) and not text[last + AROUND].isspace():
        after = UNFINISHED_WORD.sub("", after)
    return without_surrogates(before), without_surrogates(text[first:last]), without_surrogates(after)


def _keys(seed: int, piece: Piece, places: Sequence[int], hits: Hits) -> NDArray[np.uint64]:
    """Return pseudo-random numbers (hits,) that depend only on the seed and the location of the hit.

    For a file, its name within the source is used, if it has one, so that a moved corpus gives the same contexts.
    """
    where = f"{seed}\0{piece.corpus}\0{piece.name or piece.address}"
    digest = hashlib.blake2b(where.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    documents = _mix_bits(
        np.uint64(int.from_bytes(digest, "little")) + np.array(places, dtype=np.uint64) * STEP
    )
    return _mix_bits(documents[hits.document] + hits.start.astype(np.uint64) * STEP)


def _mix_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashed values, by the finisher of SplitMix64 (Steele, Lea and Flood 2014): every bit
    depends on all bits.
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
