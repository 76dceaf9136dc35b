"""The stages of counting, each divided into ranks. Duplicates are found in all ranks before counting."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.counting import read_counts, write_counts
from evenhand.corpus.pipeline.keeping import kept_ranks, rank_file
from evenhand.corpus.pipeline.work import Counters, RankDone, Work, done_of
from evenhand.corpus.reading import find_repeats, read_batches, repeats_of, write_hashes

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
    run: Callable[[Work, int], RankDone]
    kept: Callable[[Work], set[int]]
    tell: Callable[[Work, int], RankDone]


def count_rank(work: Work, rank: int) -> RankDone:
    """Count a rank and store its counts.

    Raises DataError for missing or changed files, and WriteError.
    """
    counters = Counters(work.table, work.counting)
    known = known_repeats(work, rank)
    for piece in work.ranks[rank]:
        mine = counters.of(piece.corpus)
        for batch in read_batches(piece, work.reading, known.get(piece.number)):
            mine.add(batch, piece)
    counts = counters.counts()
    write_counts(rank_file(work.folder, rank), counts)
    return done_of(work, rank, counts)


def hash_rank(work: Work, rank: int) -> RankDone:
    """Store the hashes of a rank's documents. Raises the errors of `count_rank`."""
    documents = write_hashes(work.ranks[rank], work.reading, _hashes(work, rank))
    return RankDone(rank, sum(piece.size for piece in work.ranks[rank]), documents, 0)


def known_repeats(work: Work, rank: int) -> Repeats:
    """Return the positions of duplicates among a rank's documents, by piece; empty if duplicates are counted.

    Raises DataError if a file of duplicates is missing or damaged.
    """
    if work.reading.duplicates == "keep":
        return {}
    return repeats_of(_repeats(work, rank), work.ranks[rank])


def are_repeats_known(work: Work) -> bool:
    """Return True if the duplicates of every rank are known, or are not needed."""
    return work.reading.duplicates == "keep" or all(
        _repeats(work, rank).is_file() for rank in range(len(work.ranks))
    )


def find_all_repeats(work: Work) -> int:
    """Find duplicate documents from the hashes of all ranks, and return their number.

    Raises DataError for damaged hashes, and WriteError.
    """
    ranks = range(len(work.ranks))
    found = find_repeats([_hashes(work, rank) for rank in ranks], [_repeats(work, rank) for rank in ranks])
    for rank in ranks:
        _hashes(work, rank).unlink()
    return found


def _hashes(work: Work, rank: int) -> Path:
    return Path(work.folder) / "hashes" / f"{rank:05d}"


def _repeats(work: Work, rank: int) -> Path:
    return Path(work.folder) / "repeats" / f"{rank:05d}"


def _hashed(work: Work) -> set[int]:
    return {rank for rank in range(len(work.ranks)) if _hashes(work, rank).is_file()}


def _hashed_size(work: Work, rank: int) -> RankDone:
    return RankDone(rank, sum(piece.size for piece in work.ranks[rank]), 0, 0)


def _counted(work: Work) -> set[int]:
    return kept_ranks(work.folder, len(work.ranks))


def _kept_counts(work: Work, rank: int) -> RankDone:
    return done_of(work, rank, read_counts(rank_file(work.folder, rank)))


COUNTING = Stage("counting", count_rank, _counted, _kept_counts)
HASHING = Stage("hashing", hash_rank, _hashed, _hashed_size)
