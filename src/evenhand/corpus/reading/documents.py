"""What readers hand on: pieces of sources, and batches of documents with what was skipped."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Reason(StrEnum):
    """Why a document, or the rest of a file, was not counted. Counted per corpus, never dropped silently."""

    NOT_JSON = "not_json"
    NO_TEXT = "no_text"  # the column is absent from the row, null, or no string
    EMPTY = "empty"
    INVALID_UTF8 = "invalid_utf8"
    BINARY = "binary"
    TRUNCATED = "truncated"  # the file ends within a record or compressed frame: what came before counts
    UNREADABLE = "unreadable"  # the file, or a row group, cannot be decoded
    OTHER_RECORD = (
        "other_record"  # a WARC record that holds no text for readers (request, metadata, an image)
    )
    TOO_LONG = "too_long"  # a document of more than `LONGEST` bytes
    DUPLICATE = "duplicate"
    NOT_SAMPLED = "not_sampled"


@dataclass(frozen=True)
class Piece:
    """Part of a source that is read at a time: a file, or a range of one."""

    corpus: str
    """The name of the corpus it belongs to."""
    address: str
    """Path or fsspec address (s3://, hf://, https://)."""
    kind: str
    """One of KINDS; kinds of text state what one document is."""
    size: int
    """Bytes as stored (of the range)."""
    first: int = 0
    """First byte (jsonl, text) or row group (parquet) of the range."""
    last: int | None = None
    """One past the last; None: to the end of the file."""
    name: str = ""
    """Its path within the source: by it and the place documents are sampled, wherever the corpus is kept."""
    version: str = ""
    """What the store said of the file when it was found; a file of another version is not read."""
    number: int = 0
    """Its place among all pieces of a plan: of equal documents the one in the first piece is kept."""


@dataclass(frozen=True)
class Batch:
    """Some documents of one piece, in order."""

    texts: list[str]
    folds: list[int]
    """Fold of each document for the grouped jackknife: 0 to FOLDS-1, from a hash of its text (same text, same fold)."""
    places: list[int]
    """Place of each document in its file: the first byte of its line, or the row or record number."""
    skipped: Mapping[Reason, int] = field(default_factory=dict)
    """Documents left out since the batch before, by reason."""
    bytes_read: int = 0
    """Bytes of the stored file read since the previous batch."""
    last: bool = False
    """Whether this is the last one of its piece; every piece that was read has one, with texts or without."""
    sha256: str = ""
    """With the last one: of the file as stored, where all of it was read through; else what the store calls it."""
    damage: str = ""
    """With the last one: what ended reading before the end of the file, in a sentence that names it."""
    lost: int = 0
    """Last batch only: stored bytes of the piece after the damage, whose documents could not be counted."""


KINDS = ("parquet", "jsonl", "csv", "warc", "text/line", "text/paragraph", "text/file")
"""What files hold. csv: with a heading, fields parted by commas (or tabs in .tsv); warc: also ARC and WET."""
LONGEST = 1 << 26
"""Maximum size of a document in bytes (64 MiB, ten times the longest novels). Longer documents count as TOO_LONG.
This limits memory for files without line ends and files that unpack to endless zeros."""
FOLDS = 20
"""Random groups of documents by which intervals are found."""


def fold_of(text: str) -> int:
    """The group of documents that a text belongs to: 0 ... FOLDS-1, by a hash of it.

    >>> fold_of("She saw him.") == fold_of("She saw " + "him.")
    True
    """
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % FOLDS
