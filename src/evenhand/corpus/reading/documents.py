"""Data that readers produce: pieces of sources, and batches of documents with the numbers of omitted ones."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Reason(StrEnum):
    """Reasons why a document, or the rest of a file, was not counted.

    Such documents are counted per corpus and reason. None is dropped silently.
    """

    NOT_JSON = "not_json"
    NO_TEXT = "no_text"  # the column is missing in the row, null, or not a string
    EMPTY = "empty"
    INVALID_UTF8 = "invalid_utf8"
    BINARY = "binary"
    # the file ends within a record or compressed frame; documents before it are counted
    TRUNCATED = "truncated"
    UNREADABLE = "unreadable"  # the file, or a row group, cannot be decoded
    OTHER_RECORD = "other_record"  # a WARC record without text for readers (request, metadata, an image)
    TOO_LONG = "too_long"  # a document of more than `LONGEST` bytes
    DUPLICATE = "duplicate"
    NOT_SAMPLED = "not_sampled"


@dataclass(frozen=True)
class Piece:
    """A part of a source that is read at a time: a file, or a range of a file.

    `pieces` creates them from files, folders and URLs.
    """

    corpus: str
    """Name of the corpus to which the piece belongs."""
    address: str
    """Path or fsspec address (s3://, hf://, https://)."""
    kind: str
    """Format, one of KINDS. For text it also states what one document is."""
    size: int
    """Number of stored bytes of the file or the range."""
    first: int = 0
    """First byte (jsonl, text) or row group (parquet) of the range."""
    last: int | None = None
    """First byte or row group after the range. None: the range reaches to the end of the file."""
    name: str = ""
    """Path within the source. Sampling depends on it and the place of a document, so a copy of the corpus elsewhere
    gives the same sample."""
    version: str = ""
    """Version of the file when it was found, as its store states it. A file of another version is not read."""
    number: int = 0
    """Position among all pieces of a plan. If duplicates are dropped, the document in the first piece is kept."""


@dataclass(frozen=True)
class Batch:
    """Some documents of one piece of a corpus, in order; `read_batches` yields them."""

    texts: list[str]
    folds: list[int]
    """Fold of each document for the grouped jackknife: 0 to FOLDS-1, from a hash of its text (same text, same fold)."""
    places: list[int]
    """Place of each document in its file: the first byte of its line, or the row or record number."""
    skipped: Mapping[Reason, int] = field(default_factory=dict)
    """Number of documents left out since the previous batch, by reason."""
    bytes_read: int = 0
    """Bytes of the stored file read since the previous batch."""
    last: bool = False
    """Whether this is the last batch of its piece. Every piece has one, with or without texts."""
    sha256: str = ""
    """Last batch only: hash of the stored file if all of it was read, otherwise the version that the store states."""
    damage: str = ""
    """Last batch only: a sentence on why reading ended before the end of the file, which it names."""
    lost: int = 0
    """Last batch only: number of stored bytes after the damage, whose documents could not be counted."""


KINDS = ("parquet", "jsonl", "csv", "warc", "text/line", "text/paragraph", "text/file")
"""Supported file formats. csv has a heading and commas (tabs in .tsv); warc includes ARC and WET."""
LONGEST = 1 << 26
"""Maximum size of a document in bytes (64 MiB, ten times the longest novels). Longer documents count as TOO_LONG.
This limits memory for files without line ends and files that unpack to endless zeros."""
FOLDS = 20
"""Number of random groups of documents from which confidence intervals are computed."""


def assign_fold(text: str) -> int:
    """Return the random group of a text, 0 to FOLDS - 1, from its hash.

    >>> assign_fold("She saw him.") == assign_fold("She saw " + "him.")
    True
    """
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % FOLDS
