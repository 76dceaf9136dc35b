"""Turn hits in batches of documents into counts, with a few sorts per batch for any number of terms."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.corpus.counting.contexts import ContextSample
from evenhand.corpus.counting.counts import SOURCES, TABLES, Counts
from evenhand.corpus.counting.frames import ALONE, FLAGS, group_frame, term_frame
from evenhand.corpus.counting.merging import sort_table
from evenhand.corpus.counting.options import CONTEXTS, DEFAULT_PAIRS, NEAR, WINDOW, CountingOptions
from evenhand.corpus.counting.order import Order
from evenhand.corpus.counting.pairs import CooccurrenceUnit, PairTally
from evenhand.corpus.counting.published import PublishedTally
from evenhand.corpus.counting.tallies import Tally, find_run_starts
from evenhand.corpus.matching import Hits
from evenhand.corpus.reading import FOLDS, Batch, Piece
from evenhand.corpus.terms import TermTable

AT_ONCE = 1 << 24
"""Characters of documents that are counted at a time."""


class Finder(Protocol):
    """Interface of a matcher that a counter uses (`evenhand.corpus.Matcher`)."""

    def find(self, texts: Sequence[str]) -> Hits:
        """Return all occurrences of terms (hits) in documents."""
        ...

    def originals(
        self, texts: Sequence[str], starts: Sequence[int], surfaces: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Return the first character of each hit in its original document, and the first one after it."""
        ...


class _Source(NamedTuple):
    """What was read from one piece of a corpus: the last columns of SOURCES."""

    bytes: int = 0
    documents: int = 0
    sha256: str | None = None
    damage: str | None = None
    lost: int = 0


class Counter:
    """A counter of terms in the documents of one corpus.

    Use it to count a corpus of any size: pass batches to `add`. Memory does not grow with the number of
    documents.

    Parameters
    ----------
    table : TermTable
        The terms.
    matcher : Finder
        Matcher that was made for this table.
    corpus : str
        Name of the corpus.
    pairs, window, contexts, seed, published
        As in `CountingOptions`.

    Raises
    ------
    UsageError
        An option is invalid.
    """

    def __init__(
        self,
        table: TermTable,
        matcher: Finder,
        *,
        corpus: str,
        pairs: Sequence[str] = DEFAULT_PAIRS,
        window: int = WINDOW,
        contexts: int = CONTEXTS,
        seed: int = 0,
        published: bool = False,
    ):
        self._table, self._matcher, self._corpus = table, matcher, corpus
        self._options = CountingOptions(tuple(sorted(set(pairs))), window, contexts, seed, published)
        self._order = order = Order(table)
        self._totals = np.zeros((FOLDS, 4), dtype=np.int64)
        self._hits = Tally(FOLDS * order.size << FLAGS)
        self._documents = Tally(FOLDS * order.size << FLAGS)
        self._sentences = Tally(FOLDS * order.size << 1)
        columns = ("documents", "sentences", "again")
        self._groups = {column: Tally(FOLDS * order.groups.height) for column in columns}
        self._axes = {column: Tally(FOLDS * order.axes.height) for column in columns}
        self._pairs = PairTally(order, self._options.pairs)
        self._contexts = ContextSample(order, matcher.originals, contexts, seed)
        self._published = PublishedTally(table) if published else None
        self._skipped: dict[str, int] = {}
        self._sources: dict[Piece, _Source] = {}

    def add(self, batch: Batch, piece: Piece) -> None:
        """Count the documents of a batch that was read from a piece; raise ValueError for a piece of another corpus."""
        if piece.corpus != self._corpus:
            raise ValueError(f"a piece of {piece.corpus!r} was passed to the counter of {self._corpus!r}")
        for part in _parts(batch):
            self._add(part, piece)
        for reason, documents in batch.skipped.items():
            self._skipped[str(reason)] = self._skipped.get(str(reason), 0) + documents
        known = self._sources.get(piece, _Source())
        self._sources[piece] = _Source(
            known.bytes + batch.bytes_read,
            known.documents + len(batch.texts),
            batch.sha256 or known.sha256,
            batch.damage or known.damage,
            known.lost + batch.lost,
        )

    def _add(self, batch: Batch, piece: Piece) -> None:
        order = self._order
        hits = self._matcher.find(batch.texts)
        folds = np.array(batch.folds, dtype=np.int64)
        lengths = np.fromiter(map(len, batch.texts), dtype=np.int64, count=len(batch.texts))
        of_documents = np.stack([np.ones_like(lengths), hits.sentences, hits.words, lengths], axis=1)
        np.add.at(self._totals, folds, of_documents)
        document = hits.document.astype(np.int64)
        rank = order.of_surface[hits.surface]
        fold = folds[document]
        # leave gaps between documents, so that no word is near a word of the next document
        first_words = np.cumsum(hits.words + 2 * NEAR) - hits.words
        position = first_words[document] + hits.word
        near = near_person(position, order.person[rank]) | order.names_people[hits.surface]
        flags = order.exact[hits.surface] | (~hits.nested).view(np.uint8) << 1 | near.view(np.uint8) << 2
        self._hits.add((fold * order.size + rank) << FLAGS | flags)
        self._add_again(hits.surface, rank, fold)
        found, found_rank, alone = self._add_documents(document, rank, flags, folds)
        self._pairs.add_within(
            CooccurrenceUnit.DOCUMENTS, found[alone], found_rank[alone], folds[found[alone]]
        )
        first_sentences = np.cumsum(hits.sentences) - hits.sentences
        sentence = first_sentences[document] + hits.sentence
        of_sentences = np.repeat(folds, hits.sentences)
        found_sentence, in_sentence, alone = self._add_sentences(sentence, rank, hits.nested, of_sentences)
        self._pairs.add_within(
            CooccurrenceUnit.SENTENCES,
            found_sentence[alone],
            in_sentence[alone],
            of_sentences[found_sentence[alone]],
        )
        alone = ~hits.nested
        position += document * self._options.window  # nor in one window
        self._pairs.add_windows(position[alone], self._options.window, rank[alone], fold[alone])
        self._contexts.add(batch.texts, batch.places, piece, hits, rank, near)
        if self._published is not None:
            self._published.add(batch.texts, found, order.term[found_rank])

    def _add_again(
        self, surface: NDArray[np.int32], rank: NDArray[np.int64], fold: NDArray[np.int64]
    ) -> None:
        """Count hits at which another term of the same group or axis has the same spelling and is found as well."""
        order = self._order
        for tallies, of_rank, many, is_again in (
            (self._groups, order.group, order.groups.height, order.group_again),
            (self._axes, order.axis, order.axes.height, order.axis_again),
        ):
            if is_again.any():
                again = np.flatnonzero(is_again[surface])
                tallies["again"].add(fold[again] * many + of_rank[rank[again]])

    def _add_documents(
        self,
        document: NDArray[np.int64],
        rank: NDArray[np.int64],
        flags: NDArray[np.integer],
        folds: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Count documents of terms, groups and axes; return each document's terms, and whether
        a hit was outside longer terms.
        """
        order = self._order
        keys = (document << order.bits | rank) << FLAGS | flags
        keys.sort()
        starts = find_run_starts(keys >> FLAGS)
        seen = np.bitwise_or.reduceat(keys & ((1 << FLAGS) - 1), starts) if len(starts) else keys
        found = keys[starts] >> FLAGS
        document, rank = found >> order.bits, found & ((1 << order.bits) - 1)
        fold = folds[document]
        self._documents.add((fold * order.size + rank) << FLAGS | seen)
        self._add_groups("documents", document, rank, fold)
        return document, rank, (seen & ALONE).astype(bool)

    def _add_sentences(
        self,
        sentence: NDArray[np.int64],
        rank: NDArray[np.int64],
        nested: NDArray[np.bool_],
        folds: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Do the same for sentences, which are numbered through the batch."""
        order = self._order
        keys = (sentence << order.bits | rank) << 1 | nested
        keys.sort()
        starts = find_run_starts(keys >> 1)
        alone = ~(keys[starts] & 1).astype(bool)  # hits outside longer terms are sorted first
        found = keys[starts] >> 1
        sentence, rank = found >> order.bits, found & ((1 << order.bits) - 1)
        fold = folds[sentence]
        self._sentences.add((fold * order.size + rank) << 1 | alone)
        self._add_groups("sentences", sentence, rank, fold)
        return sentence, rank, alone

    def _add_groups(
        self, column: str, whole: NDArray[np.int64], rank: NDArray[np.int64], fold: NDArray[np.int64]
    ) -> None:
        order = self._order
        for tallies, of_rank, many in (
            (self._groups, order.group, order.groups.height),
            (self._axes, order.axis, order.axes.height),
        ):
            number = of_rank[rank]
            # terms of a group are adjacent, because ranks are sorted by group
            first = find_run_starts(whole * many + number)
            whole, rank, fold, number = whole[first], rank[first], fold[first], number[first]
            tallies[column].add(fold * many + number)

    def counts(self) -> Counts:
        """Return the counts so far. More documents may be added afterwards."""
        hits, order = self._hits.counts(), self._order
        columns = ("documents", "sentences", "words", "characters")
        totals = pl.DataFrame(self._totals, schema=list(columns)).with_columns(
            fold=pl.arange(FOLDS), windows=pl.col("words")
        )
        groups, axes = (
            {column: tally.counts() for column, tally in tallies.items()}
            for tallies in (self._groups, self._axes)
        )
        frames = {
            "totals": totals.filter(pl.col("documents") > 0),
            "terms": term_frame(order, hits, self._documents.counts(), self._sentences.counts()),
            "groups": group_frame(order, hits, groups, axes),
            "pairs": self._pairs.frame(),
            "contexts": self._contexts.frame(),
            "skipped": pl.DataFrame(
                list(self._skipped.items()), schema=["reason", "documents"], orient="row"
            ),
            "sources": pl.DataFrame(
                [
                    (piece.address, piece.kind, piece.first, piece.last, *read)
                    for piece, read in self._sources.items()
                ],
                schema=[column for column in SOURCES if column != "corpus"],
                orient="row",
            ),
        }
        for name in ("published", "published_groups"):
            frames[name] = pl.DataFrame(schema=TABLES[name])
        if self._published is not None:
            frames |= self._published.frames()
        tables = {name: self._finish_table(name, frame) for name, frame in frames.items()}
        return Counts(self._table.content_hash, **tables, options=self._options)

    def _finish_table(self, name: str, frame: pl.DataFrame) -> pl.DataFrame:
        named = frame.with_columns(corpus=pl.lit(self._corpus)).select(*TABLES[name])
        return sort_table(name, named.cast(pl.Schema(TABLES[name])), self._options.contexts)


def _parts(batch: Batch) -> Iterator[Batch]:
    """Yield the documents of a batch in parts of at most AT_ONCE characters, or of one longer document."""
    begun, characters = 0, 0
    for i, text in enumerate(batch.texts):
        if characters + len(text) > AT_ONCE and i > begun:
            yield _part(batch, begun, i)
            begun, characters = i, 0
        characters += len(text)
    if begun < len(batch.texts):
        yield _part(batch, begun, len(batch.texts))


def _part(batch: Batch, first: int, last: int) -> Batch:
    return Batch(batch.texts[first:last], batch.folds[first:last], batch.places[first:last])


def near_person(position: NDArray[np.int64], person: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether a word for a person is within NEAR words of each hit.

    position: (hits,) number of the first word of each hit, sorted, at least NEAR. person: (hits,) whether it refers to
    a person. A term is not near itself, nor near another term that begins with the same word.

    >>> near_person(np.array([5, 9, 9, 25]), np.array([False, True, False, True])).tolist()
    [True, False, False, False]
    """
    spoken = np.zeros(int(position[-1]) + NEAR + 1 if len(position) else 0, dtype=bool)
    spoken[position[person]] = True
    near = np.zeros(len(position), dtype=bool)
    for words in range(1, NEAR + 1):
        near |= spoken[position + words]
        near |= spoken[position - words]
    return near
