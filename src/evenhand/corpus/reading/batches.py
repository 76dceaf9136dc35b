"""Documents of a piece in batches, in order, with what was left out and why."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.columns import read_columns
from evenhand.corpus.reading.documents import FOLDS, Batch, Piece, Reason
from evenhand.corpus.reading.jsonl import read_jsonl
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.corpus.reading.plain import read_file, read_lines, read_paragraphs
from evenhand.corpus.reading.stores import Stored
from evenhand.corpus.reading.unpacking import Damaged
from evenhand.schema import UsageError

Reader = Callable[[Stored, Piece, ReadingOptions], Iterator[Chunk]]
READERS: Mapping[str, Reader] = {
    "parquet": read_columns,
    "jsonl": read_jsonl,
    "text/line": read_lines,
    "text/paragraph": read_paragraphs,
    "text/file": read_file,
}


def read_batches(
    piece: Piece, options: ReadingOptions | None = None, repeats: NDArray[np.int64] | None = None
) -> Iterator[Batch]:
    """The documents of a piece, about `options.batch_bytes` of text at a time; memory does not grow with the file.

    repeats: where duplicates are dropped, the places of this piece that `repeats` found. The last batch, which may
    hold no text, says of the file which it was and what was wrong with it. Raises DataError for a file that is not
    there, may not be read, or is another than when the work was planned; UsageError where duplicates are to be dropped
    and nobody looked for them.
    """
    options = options or ReadingOptions()
    if options.duplicates == "drop" and repeats is None:
        raise UsageError(
            "Which documents repeat others is not known yet.", "Find them first: write_hashes, repeats."
        )
    known = frozenset() if repeats is None else frozenset(repeats.tolist())
    texts: list[str] = []
    places: list[int] = []
    skipped: Counter[Reason] = Counter()
    held = counted = 0
    damage = ""
    with Stored(piece.address, piece.version, hashed=not piece.first and piece.last is None) as stored:
        try:
            for chunk in READERS[piece.kind](stored, piece, options):
                skipped.update(chunk.skipped)
                for text, place in zip(chunk.texts, chunk.places, strict=True):
                    if place in known:
                        skipped[Reason.DUPLICATE] += 1
                        continue
                    texts.append(text)
                    places.append(place)
                    held += len(text)
                    if held >= options.batch_bytes:
                        yield _batch(texts, places, skipped, stored.bytes_read - counted)
                        texts, places, skipped, held, counted = [], [], Counter(), 0, stored.bytes_read
        except Damaged as found:
            # of a file that is no text, its first piece speaks
            if found.reason is not None and not (found.reason is Reason.BINARY and piece.first):
                skipped[found.reason] += 1
            damage = f"{piece.address}: {found.told}."
        sha256 = stored.identity()
        stored.check_version()
        batch = _batch(texts, places, skipped, stored.bytes_read - counted)
    yield Batch(batch.texts, batch.folds, batch.places, batch.skipped, batch.bytes_read, True, sha256, damage)


def _batch(texts: list[str], places: list[int], skipped: Counter[Reason], size: int) -> Batch:
    folds = [fold_of(text) for text in texts]
    return Batch(texts, folds, places, {reason: n for reason, n in skipped.items() if n}, size)


def fold_of(text: str) -> int:
    """The fold of a document, by its text alone.

    >>> fold_of("We are here.") == fold_of("We are here.") < FOLDS
    True
    """
    return zlib.crc32(text.encode()) % FOLDS
