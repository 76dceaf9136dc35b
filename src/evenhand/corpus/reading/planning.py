"""Divide sources into pieces that can be read separately: small files whole, large ones by bytes or row groups."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from evenhand.corpus.reading.documents import Piece
from evenhand.corpus.reading.first_look import check_column
from evenhand.corpus.reading.formats import open_parquet
from evenhand.corpus.reading.options import Documents
from evenhand.corpus.reading.sources import Source, SourceFile, find_format_suffix, list_files, parse_sources
from evenhand.corpus.reading.stores import OpenedFile, get_scheme, local
from evenhand.corpus.reading.unpacking import DamagedStream, find_compression
from evenhand.schema import DataError, UsageError, unknown_name

LARGEST = 128 << 20
LARGEST_DOCUMENT = 100_000
"""Mean size in bytes up to which each text file of a folder is a document; larger files contain many documents."""
BOOKS = (".txt", ".text")
PACKED_BY = 4
"""Approximate ratio of unpacked to packed size of text."""


@dataclass(frozen=True)
class Survey:
    """Plan of what to read from some sources.

    Attributes
    ----------
    pieces : list of Piece
        The pieces.
    notes : list of str
        Sentences on files that were left out, and on what counts as one document.
    """

    pieces: list[Piece]
    notes: list[str]


def pieces(
    sources: Sequence[str],
    *,
    column: str = "text",
    kind: str | None = None,
    documents: Documents = "auto",
    largest: int = LARGEST,
) -> list[Piece]:
    """Find the files of a corpus and divide them into pieces that can be read independently.

    Small files are one piece each. Large files are divided into ranges of bytes or row groups.

    Parameters
    ----------
    sources : sequence of str
        Files, folders, patterns or URLs.
    column : str, default "text"
        Column, or key of JSON, with the text.
    kind : str, optional
        Format of the files. Default: detected from the names.
    documents : {"auto", "line", "paragraph", "file"}, default "auto"
        What counts as one document of a text file.
    largest : int
        Maximum number of bytes of a piece.

    Returns
    -------
    list of Piece
        The pieces.
    """
    return survey(sources, column=column, kind=kind, documents=documents, largest=largest).pieces


def survey(
    sources: Sequence[str],
    *,
    column: str = "text",
    kind: str | None = None,
    documents: Documents = "auto",
    largest: int = LARGEST,
) -> Survey:
    """Divide sources into pieces, in the order of sources and file names. Each document is in exactly one piece.

    `sources` are `[NAME=]ADDRESS`: a file, a folder (without files that begin with a dot or underscore) or a pattern,
    local or at s3://, hf://datasets/ or https://. Sources with the same name form one corpus. `column` is the text
    column in Parquet, CSV and JSON. `kind` is the file format, instead of inferring it from suffixes. `documents` is
    what counts as a document in plain text. "auto": a file, for folders and patterns with several files of at most 100
    kB on average, otherwise a line. `largest` is the maximum size of a piece in bytes.

    Raises a UsageError for sources that conflict: a file twice in a corpus, two unnamed sources with the same name, or
    lines and files as documents in one corpus. Raises a DataError if nothing is found, a file cannot be read, or the
    column is missing.
    """
    notes: list[str] = []
    found: list[Piece] = []
    named: dict[str, Source] = {}
    seen: dict[tuple[str, str], str] = {}
    checked: set[tuple[str, str]] = set()
    units: dict[str, tuple[str, str]] = {}
    if documents != "auto" and documents not in _UNIT_TOLD:
        raise unknown_name("value of `--documents`", documents, ["auto", *_UNIT_TOLD])
    if not sources:
        raise UsageError("No source was given.", "Give files, folders or patterns: [NAME=]SOURCE ...")
    for given, source in zip(sources, parse_sources(sources), strict=True):
        _check_name(source, named)
        files = list_files(source, kind, notes)
        for entry in files:
            _check_once(source, entry, given, seen)
        files = _without_empty(files, source, notes)
        kinds = Counter(entry.kind for entry in files)
        if len(kinds) > 1:
            told = ", ".join(f"{kind} ({number:,})" for kind, number in kinds.most_common())
            notes.append(f"{source.address}: files of several kinds are read as one corpus: {told}.")
        unit = _unit(files, documents)
        if any(entry.kind == "text" for entry in files):
            notes.append(f"{source.address}: {_UNIT_TOLD[unit]}.")
            _check_unit(source, unit, units)
        for entry in files:
            piece = _piece(source, entry, unit)
            if (source.corpus, piece.kind) not in checked and check_column(piece, column):
                checked.add((source.corpus, piece.kind))
            found += _divide(piece, entry, largest)
    return Survey([replace(piece, number=number) for number, piece in enumerate(found)], notes)


_UNIT_TOLD = {
    "line": "each line of plain text is a document",
    "paragraph": "lines of plain text up to a blank one are a document",
    "file": "each file of plain text is a document",
}


def _check_name(source: Source, named: dict[str, Source]) -> None:
    before = named.setdefault(source.corpus, source)
    if source.named or before.named or _folder(before) == _folder(source):
        return
    raise UsageError(
        f"{before.address} and {source.address} would both be part of the corpus {source.corpus!r}.",
        f"Name them, with the same or different names: one={before.address} other={source.address}",
    )


def _check_unit(source: Source, unit: str, units: dict[str, tuple[str, str]]) -> None:
    before, address = units.setdefault(source.corpus, (unit, source.address))
    if before != unit:
        raise UsageError(
            f"The corpus {source.corpus!r} would mix two kinds of documents: each {before} of plain text in "
            f"{address}, and each {unit} in {source.address}. Their shares cannot be added.",
            "Set the unit with --documents line, paragraph or file, or use different corpus names.",
        )


def _folder(source: Source) -> str:
    return source.address.rpartition("/")[0]


def _check_once(source: Source, entry: SourceFile, given: str, seen: dict[tuple[str, str], str]) -> None:
    address = entry.file.address
    there = address if get_scheme(address) else str(Path(local(address)).resolve())
    if (before := seen.get((source.corpus, there))) is not None:
        raise UsageError(
            f"{address} was given twice: by {before} and by {given}. Each of its documents would count twice.",
            f"Give each file once in the corpus {source.corpus!r}.",
        )
    seen[source.corpus, there] = given


def _without_empty(files: list[SourceFile], source: Source, notes: list[str]) -> list[SourceFile]:
    empty = [entry for entry in files if entry.file.size == 0 and entry.file.divisible]
    if len(empty) == len(files):
        raise DataError(
            f"{source.address}: all files are empty ({_files(len(files))}).",
            "Check that the path is right and that the files were copied completely.",
        )
    if empty:
        notes.append(
            f"{source.address}: empty files, which have no documents: {_files(len(empty))}, such as "
            f"{empty[0].file.address}."
        )
    return files


def _files(number: int) -> str:
    return f"{number:,} file{'s' if number != 1 else ''}"


def _unit(files: list[SourceFile], documents: Documents) -> str:
    if documents != "auto":
        return documents
    texts = [entry for entry in files if entry.kind == "text"]
    sizes = [entry.file.size * (PACKED_BY if find_compression(entry.file.address) else 1) for entry in texts]
    small = len(texts) > 1 and sum(sizes) <= LARGEST_DOCUMENT * len(texts)
    return "file" if small and all(find_format_suffix(entry.name) in BOOKS for entry in texts) else "line"


def _piece(source: Source, entry: SourceFile, unit: str) -> Piece:
    kind = f"text/{unit}" if entry.kind == "text" else entry.kind
    file = entry.file
    return Piece(source.corpus, file.address, kind, file.size, name=entry.name, version=file.version)


def _divide(piece: Piece, entry: SourceFile, largest: int) -> Iterator[Piece]:
    if piece.size <= largest or not entry.file.divisible:
        yield piece
    elif piece.kind == "parquet":
        yield from _by_row_groups(piece, largest)
    elif piece.kind in ("jsonl", "text/line", "text/paragraph") and not find_compression(piece.address):
        parts = -(-piece.size // largest)
        cuts = [piece.size * part // parts for part in range(parts + 1)]
        for first, last in pairwise(cuts):
            yield replace(piece, first=first, last=last, size=last - first)
    else:
        yield piece


def _by_row_groups(piece: Piece, largest: int) -> Iterator[Piece]:
    try:
        with OpenedFile(piece.address, piece.version) as stored:
            about = open_parquet(stored).metadata
            sizes = [about.row_group(group).total_byte_size for group in range(about.num_row_groups)]
    except DamagedStream:  # counted when the file is read
        yield piece
        return
    # scale to stored sizes, because row groups report their unpacked sizes
    stored_sizes = [size * piece.size / max(sum(sizes), 1) for size in sizes]
    first, held = 0, 0.0
    for group, size in enumerate(stored_sizes):
        if held and held + size > largest:
            yield replace(piece, first=first, last=group, size=int(held))
            first, held = group, 0.0
        held += size
    yield replace(piece, first=first, last=len(sizes), size=int(held)) if first else piece
