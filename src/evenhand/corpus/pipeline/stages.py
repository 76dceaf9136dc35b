"""The stages of counting, each divided into ranks. Duplicates are found in all ranks before counting."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.counting import read_counts, write_counts
from evenhand.corpus.pipeline.keeping import kept_ranks, rank_file
from evenhand.corpus.pipeline.work import CorpusWork, Counters, RankDone, report_rank
from evenhand.corpus.reading import find_repeats, read_batches, read_repeats, write_hashes

Repeats = Mapping[int, NDArray[np.int64]]


@dataclass(frozen=True)
class Stage:
    """One stage of a count, such as hashing or counting.

    Attributes
    ----------
    run : callable
        Processes a rank (unit of work) completely or not at all. Repeating it gives the same result.
    kept : callable
        Returns the finished ranks.
    tell : callable
        Returns the progress report of a rank that another process finished.
    """

    name: str
    run: Callable[[CorpusWork, int], RankDone]
    kept: Callable[[CorpusWork], set[int]]
    tell: Callable[[CorpusWork, int], RankDone]


def count_rank(work: CorpusWork, rank: int) -> RankDone:
    """Count a rank and store its counts.

    Raises DataError for missing or changed files, and WriteError.
    """
    counters = Counters(work.table, work.counting)
    known = known_repeats(work, rank)
    for piece in work.ranks[rank]:
        mine = counters.get_counter(piece.corpus)
        for batch in read_batches(piece, work.reading, known.get(piece.number)):
            mine.add(batch, piece)
    counts = counters.counts()
    write_counts(rank_file(work.folder, rank), counts)
    return report_rank(work, rank, counts)


def hash_rank(work: CorpusWork, rank: int) -> RankDone:
    """Store the hashes of a rank's documents. Raises the errors of `count_rank`."""
    documents = write_hashes(work.ranks[rank], work.reading, _hashes(work, rank))
    return RankDone(rank, sum(piece.size for piece in work.ranks[rank]), documents, 0)


def known_repeats(work: CorpusWork, rank: int) -> Repeats:
    """Return the positions of duplicates among a rank's documents, by piece; empty if duplicates are counted.

    Raises DataError if a file of duplicates is missing or damaged.
    """
    if work.reading.duplicates == "keep":
        return {}
    return read_repeats(_repeats(work, rank), work.ranks[rank])


def are_repeats_known(work: CorpusWork) -> bool:
    """Return True if the duplicates of every rank are known, or are not needed."""
    return work.reading.duplicates == "keep" or all(
        _repeats(work, rank).is_file() for rank in range(len(work.ranks))
    )


def find_all_repeats(work: CorpusWork) -> int:
    """Find duplicate documents from the hashes of all ranks, and return their number.

    Raises DataError for damaged hashes, and WriteError.
    """
    ranks = range(len(work.ranks))
    found = find_repeats([_hashes(work, rank) for rank in ranks], [_repeats(work, rank) for rank in ranks])
    for rank in ranks:
        _hashes(work, rank).unlink()
    return found


def _hashes(work: CorpusWork, rank: int) -> Path:
    return Path(work.folder) / "hashes" / f"{rank:05d}"


def _repeats(work: CorpusWork, rank: int) -> Path:
    return Path(work.folder) / "repeats" / f"{rank:05d}"


def _find_hashed_ranks(work: CorpusWork) -> set[int]:
    return {rank for rank in range(len(work.ranks)) if _hashes(work, rank).is_file()}


def _report_hashed_rank(work: CorpusWork, rank: int) -> RankDone:
    return RankDone(rank, sum(piece.size for piece in work.ranks[rank]), 0, 0)


def _find_counted_ranks(work: CorpusWork) -> set[int]:
    return kept_ranks(work.folder, len(work.ranks))


def _report_counted_rank(work: CorpusWork, rank: int) -> RankDone:
    return report_rank(work, rank, read_counts(rank_file(work.folder, rank)))


COUNTING = Stage("counting", count_rank, _find_counted_ranks, _report_counted_rank)
HASHING = Stage("hashing", hash_rank, _find_hashed_ranks, _report_hashed_rank)
