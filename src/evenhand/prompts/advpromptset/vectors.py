"""Store vectors of many texts on disk: each text is embedded once per model, and a stopped run can be resumed."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.schema import UNREADABLE, DataError, read_parquet, write_table

Vectors = NDArray[np.float32]
TEXTS_A_PART = 8192


class Embedding(Protocol):
    """Interface of an object that converts texts to vectors, such as `SentenceEmbedding`."""

    @property
    def fingerprint(self) -> str:
        """Return what the vectors depend on, as characters that are valid in the name of a folder."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors, (n, dimensions), one row per text."""
        ...


class StoredVectors:
    """The vectors of one embedding in a folder of Parquet files, each written atomically.

    folder: base folder, with one subfolder per embedding. embedding: computes the vectors that are missing.
    """

    def __init__(self, folder: Path, embedding: Embedding):
        self.embedding = embedding
        self.folder = folder / embedding.fingerprint

    def prepare(self, texts: Sequence[str], report_progress: Callable[[int, int], None] | None = None) -> int:
        """Compute the missing vectors of some texts, part by part, and return their number.

        report_progress: called with the number of texts that have a vector and the total number.
        """
        parts = self._parts()
        embedded = {text for part in parts for text in _read(part, "text")["text"]}
        missing = [text for text in dict.fromkeys(texts) if text not in embedded]
        distinct = len(set(texts))
        for first in range(0, len(missing), TEXTS_A_PART):
            some = missing[first : first + TEXTS_A_PART]
            vectors = unit_length(self.embedding.encode(some))
            number = 1 + max((int(part.stem.removeprefix("part-")) for part in parts), default=-1)
            path = self.folder / f"part-{number:05d}.parquet"
            write_table(path, pl.DataFrame({"text": some, "vector": vectors}))
            parts.append(path)
            if report_progress:
                report_progress(distinct - len(missing) + first + len(some), distinct)
        return len(missing)

    def parts(self, texts: Sequence[str]) -> Iterator[tuple[list[str], Vectors]]:
        """Yield the texts that have a vector, with their unit vectors, part by part. Raises
        DataError for a broken part.
        """
        wanted = pl.DataFrame({"text": list(dict.fromkeys(texts))}, schema={"text": pl.String})
        for path in self._parts():
            part = _read(path, "text", "vector").join(wanted, on="text", how="semi", maintain_order="left")
            if part.height:
                yield part["text"].to_list(), part["vector"].to_numpy()

    def matrix(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of some texts in order, (n, dimensions); missing ones are computed."""
        self.prepare(texts)
        by_text = {
            text: vector for some, rows in self.parts(texts) for text, vector in zip(some, rows, strict=True)
        }
        return np.stack([by_text[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))


def unit_length(vectors: Vectors) -> Vectors:
    """Return vectors scaled to length 1; zero vectors stay zero.

    >>> unit_length(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


def _read(path: Path, *columns: str) -> pl.DataFrame:
    try:
        return read_parquet(path, columns)
    except UNREADABLE as error:
        raise DataError(
            f"{path} is a damaged file of vectors: {error}.", "Delete it. Its texts are then embedded again."
        ) from error
