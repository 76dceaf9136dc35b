"""The work to count and the progress report of a rank, the same for all places."""

from collections import Counter as Tally
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from evenhand.corpus.counting import Counter, CountingOptions, Counts, merged
from evenhand.corpus.matching import Matcher
from evenhand.corpus.reading import Piece, ReadingOptions, Reason
from evenhand.corpus.terms import TermTable

CHOSEN = frozenset({Reason.DUPLICATE, Reason.NOT_SAMPLED, Reason.EMPTY, Reason.OTHER_RECORD})
"""Reasons that are a choice or normal for a format; all others are problems of the file."""


@dataclass(frozen=True)
class CorpusWork:
    """Everything that a process needs to count any rank. It is sent to each process."""

    table: TermTable
    ranks: tuple[tuple[Piece, ...], ...]
    reading: ReadingOptions
    counting: CountingOptions
    folder: str
    """Folder for the counts of each rank: a path, or a URL that all machines can reach. It must be a path if duplicates
    are dropped, because they are found through files in this folder."""

    def reads(self, rank: int) -> str:
        """Return a short description of what a rank reads."""
        addresses = list(dict.fromkeys(piece.address for piece in self.ranks[rank]))
        more = f" and {len(addresses) - 3:,} more" if len(addresses) > 3 else ""
        return ", ".join(addresses[:3]) + more


@dataclass(frozen=True)
class RankDone:
    """A rank (unit of work) whose counts are stored."""

    rank: int
    bytes: int
    """Size of its pieces in bytes, as stored."""
    documents: int
    broken: int


class Counters:
    """Counters of one rank, one per corpus, which share one automaton."""

    def __init__(self, table: TermTable, options: CountingOptions):
        self._table, self._options, self._matcher = table, options, Matcher(table)
        self._counters: dict[str, Counter] = {}

    def get_counter(self, corpus: str) -> Counter:
        """Return the counter of a corpus."""
        if corpus not in self._counters:
            options = vars(self._options)
            self._counters[corpus] = Counter(self._table, self._matcher, corpus=corpus, **options)
        return self._counters[corpus]

    def counts(self) -> Counts:
        """Return the sum of all counters."""
        return merged([counter.counts() for counter in self._counters.values()])


def report_rank(work: CorpusWork, rank: int, counts: Counts) -> RankDone:
    """Return the progress report of a rank with these counts."""
    size = sum(piece.size for piece in work.ranks[rank])
    return RankDone(rank, size, int(counts.totals["documents"].sum()), broken_documents(counts))


def broken_documents(counts: Counts) -> int:
    """Return the number of unreadable documents that could be separated from others."""
    chosen = [str(reason) for reason in CHOSEN]
    return int(counts.skipped.filter(~counts.skipped["reason"].is_in(chosen))["documents"].sum())


def lost_documents(counts: Counts, pieces: Iterable[Piece]) -> float:
    """Estimate the number of documents lost after damage in files, from the documents per byte before the damage.

    If nothing of a piece was counted, the rate of its corpus is used, or that of all.

    Parameters
    ----------
    pieces
        All pieces to read.
    """
    damaged = counts.sources.filter(pl.col("lost") > 0)
    if not damaged.height:
        return 0.0
    sizes = {(piece.corpus, piece.address, piece.first): piece.size for piece in pieces}
    whole, lost, documents = Tally[str](), Tally[str](), Tally[str]()
    for (corpus, *_), size in sizes.items():
        whole[corpus] += size
    for corpus, size in damaged.select("corpus", "lost").iter_rows():
        lost[corpus] += size
    for corpus, number in counts.totals.select("corpus", "documents").iter_rows():
        documents[corpus] += number
    everywhere = documents.total() / max(whole.total() - lost.total(), 1)
    found = 0.0
    for row in damaged.iter_rows(named=True):
        corpus = row["corpus"]
        there = sizes.get((corpus, row["address"], row["first"]), 0) - row["lost"]
        if row["documents"] and there > 0:
            rate = row["documents"] / there
        elif documents[corpus]:
            rate = documents[corpus] / max(whole[corpus] - lost[corpus], 1)
        else:
            rate = everywhere
        found += row["lost"] * rate
    return found
