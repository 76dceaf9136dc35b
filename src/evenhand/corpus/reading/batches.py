"""Yield the documents of a piece in batches, in order, with the number of omitted documents by reason."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.documents import Batch, Piece, Reason, assign_fold
from evenhand.corpus.reading.duplicates import draw_texts, write_hash_file
from evenhand.corpus.reading.formats import (
    read_columns,
    read_file,
    read_jsonl,
    read_lines,
    read_paragraphs,
    read_records,
    read_rows,
)
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.corpus.reading.stores import OpenedFile
from evenhand.corpus.reading.unpacking import DamagedStream
from evenhand.schema import UsageError

Reader = Callable[[OpenedFile, Piece, ReadingOptions], Iterator[Chunk]]
READERS: Mapping[str, Reader] = {
    "parquet": read_columns,
    "jsonl": read_jsonl,
    "csv": read_rows,
    "warc": read_records,
    "text/line": read_lines,
    "text/paragraph": read_paragraphs,
    "text/file": read_file,
}


def read_batches(
    piece: Piece, options: ReadingOptions | None = None, repeats: NDArray[np.int64] | None = None
) -> Iterator[Batch]:
    """Yield the documents of a piece of a corpus in batches, in constant memory.

    Parameters
    ----------
    piece : Piece
        The piece, from `pieces`.
    options : ReadingOptions, optional
        How to read. A batch has about `options.batch_bytes` of text.
    repeats : numpy.ndarray of int64, optional
        Sorted places of duplicates: this piece's entry in `repeats_of`. Required if duplicates are dropped.

    Yields
    ------
    Batch
        Some documents. The last batch, which may contain no text, identifies the file and describes its
        damage.

    Raises
    ------
    DataError
        The file is missing, unreadable, or changed since the work was planned.
    UsageError
        Duplicates are to be dropped, but `repeats` is missing.
    """
    options = options or ReadingOptions()
    if options.duplicates == "drop" and repeats is None:
        raise UsageError(
            "Duplicate documents have not been searched for yet.",
            "Search for them first: write_hashes of each rank, then find_repeats.",
        )
    texts: list[str] = []
    places: list[int] = []
    skipped: Counter[Reason] = Counter()
    held = counted = 0
    damage, lost = "", 0
    whole = not piece.first and piece.last is None
    with OpenedFile(piece.address, piece.version, hashed=whole) as stored:
        try:
            for chunk in _chunks(stored, piece, options):
                repeated = _among(chunk.places, repeats)
                skipped.update(chunk.skipped)
                skipped[Reason.DUPLICATE] += sum(repeated)
                for text, place, again in zip(chunk.texts, chunk.places, repeated, strict=True):
                    if again:
                        continue
                    texts.append(text)
                    places.append(place)
                    held += len(text)
                    if held >= options.batch_bytes:
                        yield _batch(texts, places, skipped, stored.bytes_read - counted)
                        texts, places, skipped, held, counted = [], [], Counter(), 0, stored.bytes_read
        except DamagedStream as found:
            # if a file has no text, only its first piece reports it
            if found.reason is not None and not (found.reason is Reason.BINARY and piece.first):
                skipped[found.reason] += 1
            lost = _estimate_lost_bytes(piece, found, stored.bytes_read)
            damage = f"{piece.address}: {found.told}{_describe_loss(piece, found, lost)}."
        sha256 = stored.identity()
        stored.check_version()
        batch = _batch(texts, places, skipped, stored.bytes_read - counted)
    yield Batch(
        batch.texts, batch.folds, batch.places, batch.skipped, batch.bytes_read, True, sha256, damage, lost
    )


def write_hashes(pieces: Sequence[Piece], options: ReadingOptions, path: Path) -> int:
    """Write the hashes of all documents of some pieces to a file, for `find_repeats`; return their number.

    It reads the same documents as `read_batches` with the same options, and raises the same errors and WriteError.
    """
    return write_hash_file(path, _all_chunks(pieces, options))


def _all_chunks(pieces: Sequence[Piece], options: ReadingOptions) -> Iterator[tuple[Piece, Chunk]]:
    for piece in pieces:
        with (
            OpenedFile(piece.address, piece.version) as stored,
            suppress(DamagedStream),
        ):  # which read_batches counts
            for chunk in _chunks(stored, piece, options):
                yield piece, chunk


def _chunks(stored: OpenedFile, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    if piece.version.startswith("size 0"):  # an empty shard, which is not valid in any format
        return
    for chunk in READERS[piece.kind](stored, piece, options):
        yield draw_texts(chunk, piece.corpus, options)


def _among(places: Sequence[int], repeats: NDArray[np.int64] | None) -> list[bool]:
    if repeats is None or not len(repeats):
        return [False] * len(places)
    return list(np.isin(np.array(places, dtype=np.int64), repeats).tolist())


def _estimate_lost_bytes(piece: Piece, found: DamagedStream, read: int) -> int:
    """Return the number of stored bytes of a piece whose documents were neither read nor counted."""
    if found.reason is None or piece.kind == "text/file":  # each lost document was counted
        return 0
    if found.reason is Reason.BINARY or piece.kind == "parquet":  # nothing of it could be read
        return piece.size
    # the full length is unknown, so assume that as much is missing as was read
    if found.reason is Reason.TRUNCATED:
        return piece.size // 2
    return max(0, piece.size - (read if found.at is None else found.at))


def _describe_loss(piece: Piece, found: DamagedStream, lost: int) -> str:
    if not lost:
        return ""
    if found.reason is Reason.TRUNCATED and lost < piece.size:
        return "; the missing amount is unknown, so as much again is assumed"
    return f"; {lost:,} of its {piece.size:,} bytes are lost" if lost < piece.size else "; all of it is lost"


def _batch(texts: list[str], places: list[int], skipped: Counter[Reason], size: int) -> Batch:
    return Batch(
        texts,
        [assign_fold(text) for text in texts],
        places,
        {reason: n for reason, n in skipped.items() if n},
        size,
    )
