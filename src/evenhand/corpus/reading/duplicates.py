"""Find exact duplicates of earlier documents in the same corpus, across all ranks.

First each rank writes hashes of its documents, sorted by their leading bits (`write_hashes`). Then `find_repeats` reads
all files together, one share of the hashes at a time, so that only one share is in memory. Texts count as equal if 128
bits of their SHA-256 are equal. Among n different texts, the probability of any false match is below n^2 / 2^129, which
is 5e-22 for 600 million texts.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.documents import Piece, Reason
from evenhand.corpus.reading.drawing import Draw
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.schema import DataError, WriteError, atomic_write, write_bytes

DIGEST = np.dtype([("high", "<u8"), ("low", "<u8")])
HASH = np.dtype([("high", "<u8"), ("low", "<u8"), ("piece", "<u4"), ("place", "<u8")])
"""One row per document: the hash of its text, the number of its piece, its place."""
REPEAT = np.dtype([("piece", "<u4"), ("place", "<u8")])
SLICE = np.dtype([("rows", "<u8"), ("checksum", "<u4")])
SHARES = 1024
"""Number of shares into which hashes are divided by their first ten bits; 17 MB per share for 600 million documents."""
ROWS_AT_ONCE = 1 << 19
"""Number of documents whose hashes are sorted at a time."""
HELD = 1 << 22
"""Number of duplicates of all ranks that are buffered before they are written."""
MAGIC = b"evenhand hashes 1\n"


def digests(texts: Sequence[str], corpus: str) -> NDArray[np.void]:
    """Return digests of texts, (n,) DIGEST: 128 bits of SHA-256; equal texts in two corpora have different ones.

    >>> one, two, three = digests(["a", "b", "a"], "wiki")
    >>> bool(one == three), bool(one == two), bool(one == digests(["a"], "news")[0])
    (True, False, False)
    """
    begun = hashlib.sha256(f"{corpus}\0".encode())
    found = bytearray()
    for text in texts:
        digest = begun.copy()
        digest.update(text.encode())
        found += digest.digest()[:16]
    return np.frombuffer(bytes(found), dtype=DIGEST)


def draw_texts(chunk: Chunk, corpus: str, options: ReadingOptions) -> Chunk:
    """Return a chunk without documents outside the sample, if texts are sampled; otherwise the chunk itself."""
    draw = Draw.for_texts(options)
    if draw.draws_all or not chunk.texts:
        return chunk
    drawn = draw.are_drawn(digests(chunk.texts, corpus)["high"])
    kept = np.flatnonzero(drawn).tolist()
    skipped = chunk.skipped.copy()
    skipped[Reason.NOT_SAMPLED] += len(chunk.texts) - len(kept)
    return Chunk([chunk.texts[n] for n in kept], [chunk.places[n] for n in kept], skipped)


def write_hash_file(path: Path, documents: Iterable[tuple[Piece, Chunk]]) -> int:
    """Write the hashes of documents to a file atomically, and return their number. Raises WriteError."""
    gathered: list[NDArray[np.void]] = []
    index: list[NDArray[np.void]] = []
    rows = 0
    with atomic_write(path) as handle:
        handle.write(MAGIC)
        for piece, chunk in documents:
            if not chunk.texts:
                continue
            hashes = np.empty(len(chunk.texts), dtype=HASH)
            found = digests(chunk.texts, piece.corpus)
            hashes["high"], hashes["low"] = found["high"], found["low"]
            hashes["piece"], hashes["place"] = piece.number, chunk.places
            gathered.append(hashes)
            rows += len(hashes)
            if sum(map(len, gathered)) >= ROWS_AT_ONCE:
                index.append(_write_run(handle, gathered))
                gathered = []
        if gathered:
            index.append(_write_run(handle, gathered))
        ending = b"".join(run.tobytes() for run in index)
        handle.write(ending)
        handle.write(np.array([len(index), zlib.crc32(ending)], dtype="<u8").tobytes() + MAGIC)
    return rows


def _write_run(handle: BinaryIO, gathered: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    run = np.concatenate(gathered)
    run = run[np.argsort(run["high"], kind="stable")]
    ends = np.searchsorted(run["high"], _first_of_shares()[1:])
    slices = np.split(run, ends)
    for part in slices:
        handle.write(part.tobytes())
    return np.array([(len(part), zlib.crc32(part.tobytes())) for part in slices], dtype=SLICE)


def _first_of_shares() -> NDArray[np.uint64]:
    return np.arange(SHARES, dtype=np.uint64) << np.uint64(64 - SHARES.bit_length() + 1)


class _HashFile:
    """A file of hashes, which is read one share at a time."""

    def __init__(self, path: Path):
        self.path = path
        try:
            with path.open("rb") as handle:
                size = handle.seek(0, 2)
                tail = 16 + len(MAGIC)
                handle.seek(max(size - tail, 0))
                ending = handle.read()
                runs, checksum = np.frombuffer(ending[:16], dtype="<u8").tolist()
                length = runs * SHARES * SLICE.itemsize
                handle.seek(size - tail - length)
                index = handle.read(length)
        except (OSError, ValueError) as error:
            raise self._make_damage_error() from error
        if ending[16:] != MAGIC or zlib.crc32(index) != checksum:
            raise self._make_damage_error()
        self._index = np.frombuffer(index, dtype=SLICE).reshape(runs, SHARES)
        rows = self._index["rows"].astype(np.int64)
        self._starts = len(MAGIC) + HASH.itemsize * (np.cumsum(rows).reshape(rows.shape) - rows)

    def share(self, number: int) -> NDArray[np.void]:
        """Return all hashes of a share. Raise DataError for a file that was changed."""
        parts = []
        with self.path.open("rb") as handle:
            for about, start in zip(self._index[:, number], self._starts[:, number], strict=True):
                handle.seek(int(start))
                content = handle.read(int(about["rows"]) * HASH.itemsize)
                if zlib.crc32(content) != about["checksum"]:
                    raise self._make_damage_error()
                parts.append(np.frombuffer(content, dtype=HASH))
        return np.concatenate(parts) if parts else np.empty(0, dtype=HASH)

    def _make_damage_error(self) -> DataError:
        return DataError(
            f"{self.path} is not a file of hashes, or is damaged.",
            "Delete it and run again: it is then created again.",
        )


def find_repeats(hashes: Sequence[Path], outputs: Sequence[Path]) -> int:
    """Find the documents of each rank that repeat one of an earlier piece or position of their corpus; return their
    number.

    `hashes` are files of all ranks that `write_hashes` wrote. `outputs` are as many files, to which the repeats of each
    rank are written for `read_repeats`. The first of equal documents is determined by the numbers of pieces, so the
    division into ranks has no effect. Raises a DataError for a damaged file, or a WriteError.
    """
    files = [_HashFile(path) for path in hashes]
    begun = [path.with_name(f"{path.name}.begun") for path in outputs]
    held: list[list[NDArray[np.void]]] = [[] for _ in files]
    holding = found = 0
    try:
        for path in begun:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)  # never follow an existing link
            path.open("xb").close()
        for share in range(SHARES):
            for rank, repeats in enumerate(_find_repeats_in([file.share(share) for file in files])):
                if len(repeats):
                    held[rank].append(repeats)
                    holding += len(repeats)
                    found += len(repeats)
            if holding >= HELD or share == SHARES - 1:
                for rank, parts in enumerate(held):
                    if parts:
                        with begun[rank].open("ab") as handle:
                            handle.write(np.concatenate(parts).tobytes())
                held, holding = [[] for _ in files], 0
        for path, output in zip(begun, outputs, strict=True):
            repeats = np.fromfile(path, dtype=REPEAT)
            repeats.sort(order=["piece", "place"])
            content = repeats.tobytes()
            write_bytes(output, MAGIC + np.array([zlib.crc32(content)], dtype="<u4").tobytes() + content)
    except OSError as error:
        raise WriteError(
            f"Could not write repeats next to {outputs[0]}: {error.strerror or error}.",
            "Free some space or choose another folder, then run again.",
        ) from error
    finally:
        for path in begun:
            with suppress(OSError):
                path.unlink(missing_ok=True)
    return found


def _find_repeats_in(shares: Sequence[NDArray[np.void]]) -> Iterator[NDArray[np.void]]:
    """Yield each rank's documents that repeat an earlier one, within one share of the hashes of all ranks."""
    together = np.concatenate(shares)
    ranks = np.repeat(np.arange(len(shares)), [len(share) for share in shares])
    order = np.lexsort((together["place"], together["piece"], together["low"], together["high"]))
    together, ranks = together[order], ranks[order]
    alike = np.zeros(len(together), dtype=np.bool_)
    alike[1:] = (together["high"][1:] == together["high"][:-1]) & (
        together["low"][1:] == together["low"][:-1]
    )
    together, ranks = together[alike], ranks[alike]
    by_rank = np.argsort(ranks, kind="stable")
    repeats = np.empty(len(together), dtype=REPEAT)
    repeats["piece"], repeats["place"] = together["piece"][by_rank], together["place"][by_rank]
    yield from np.split(repeats, np.searchsorted(ranks[by_rank], np.arange(1, len(shares))))


def read_repeats(path: Path, pieces: Iterable[Piece]) -> Mapping[int, NDArray[np.int64]]:
    """Return the sorted positions of a rank's documents that repeat earlier ones, by the number of their piece.

    `path` is a file that `find_repeats` wrote. `pieces` are those of the rank; each has an entry. Raises a DataError
    for a missing or damaged file.
    """
    try:
        content = path.read_bytes()
        head = len(MAGIC) + 4
        repeats = np.frombuffer(content[head:], dtype=REPEAT)
        whole = content[: len(MAGIC)] == MAGIC
        whole = whole and zlib.crc32(content[head:]) == int.from_bytes(content[len(MAGIC) : head], "little")
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} cannot be read: {error}.", "Delete it and run again: it is then created again."
        ) from error
    if not whole:
        raise DataError(f"{path} is damaged.", "Delete it and run again: it is then created again.")
    return {
        piece.number: repeats["place"][repeats["piece"] == piece.number].astype(np.int64) for piece in pieces
    }
