"""What there is to count, and one rank of it counted: the same wherever that happens."""

from dataclasses import dataclass

from evenhand.corpus.counting import Counter, CountingOptions, Counts, merged, read_counts, write_counts
from evenhand.corpus.matching import Matcher
from evenhand.corpus.pipeline.keeping import rank_file
from evenhand.corpus.reading import Piece, ReadingOptions, Reason, read_batches
from evenhand.corpus.terms import TermTable

CHOSEN = frozenset({Reason.DUPLICATE, Reason.NOT_SAMPLED, Reason.EMPTY, Reason.OTHER_RECORD})
"""Reasons that are a choice, or what such files hold; of the others something is wrong with the file."""


@dataclass(frozen=True)
class Work:
    """All that a process needs to count any rank: it is sent to each."""

    table: TermTable
    ranks: tuple[tuple[Piece, ...], ...]
    reading: ReadingOptions
    counting: CountingOptions
    folder: str
    """Where counts of ranks are kept: a path, or an address that all machines reach."""

    def reads(self, rank: int) -> str:
        """What a rank reads, in a few words."""
        addresses = list(dict.fromkeys(piece.address for piece in self.ranks[rank]))
        more = f" and {len(addresses) - 3:,} more" if len(addresses) > 3 else ""
        return ", ".join(addresses[:3]) + more


@dataclass(frozen=True)
class RankDone:
    """One rank whose counts are kept."""

    rank: int
    bytes: int
    """As stored, of its pieces."""
    documents: int
    broken: int


class Counters:
    """Counters of what is read in one rank, one for each corpus, with one automaton."""

    def __init__(self, table: TermTable, options: CountingOptions):
        self._table, self._options, self._matcher = table, options, Matcher(table)
        self._counters: dict[str, Counter] = {}

    def of(self, corpus: str) -> Counter:
        """The counter of a corpus."""
        if corpus not in self._counters:
            options = vars(self._options)
            self._counters[corpus] = Counter(self._table, self._matcher, corpus=corpus, **options)
        return self._counters[corpus]

    def counts(self) -> Counts:
        """All of them added up."""
        return merged([counter.counts() for counter in self._counters.values()])


def count_rank(work: Work, rank: int) -> RankDone:
    """Count a rank and keep its counts, whole or not at all; counted twice, it is the same.

    Raises DataError for files that are gone or were changed, WriteError.
    """
    counters = Counters(work.table, work.counting)
    for piece in work.ranks[rank]:
        mine = counters.of(piece.corpus)
        for batch in read_batches(piece, work.reading):
            mine.add(batch, piece)
    counts = counters.counts()
    write_counts(rank_file(work.folder, rank), counts)
    return _done(work, rank, counts)


def kept_rank(work: Work, rank: int) -> RankDone:
    """What is told of a rank that another counted. Raises DataError for a damaged file."""
    return _done(work, rank, read_counts(rank_file(work.folder, rank)))


def _done(work: Work, rank: int, counts: Counts) -> RankDone:
    size = sum(piece.size for piece in work.ranks[rank])
    return RankDone(rank, size, int(counts.totals["documents"].sum()), broken_documents(counts))


def broken_documents(counts: Counts) -> int:
    """Documents that could not be read, as far as they could be told apart."""
    chosen = [str(reason) for reason in CHOSEN]
    return int(counts.skipped.filter(~counts.skipped["reason"].is_in(chosen))["documents"].sum())
