"""What readers hand on: pieces of sources, and batches of documents with what was skipped."""

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
    """parquet, jsonl, text, warc."""
    size: int
    """Bytes as stored (of the range)."""
    first: int = 0
    """First byte (jsonl, text) or row group (parquet) of the range."""
    last: int | None = None
    """One past the last; None: to the end of the file."""


@dataclass(frozen=True)
class Batch:
    """Some documents of one piece, in order."""

    texts: list[str]
    folds: list[int]
    """Of each document: 0 ... FOLDS-1 by a hash of its text, for grouped jackknife intervals; equal texts share one."""
    places: list[int]
    """Of each document in its file: line's first byte, row or record number."""
    skipped: Mapping[Reason, int] = field(default_factory=dict)
    """Documents left out since the batch before, by reason."""
    bytes_read: int = 0
    """Of the stored file since the batch before."""


FOLDS = 20
"""Random groups of documents by which intervals are found."""
