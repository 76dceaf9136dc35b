"""Read CSV and TSV: rows below a heading, whose fields may contain line ends within quotation marks."""

import csv
from collections.abc import Iterator

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.documents import LONGEST, Piece, Reason
from evenhand.corpus.reading.drawing import Draw
from evenhand.corpus.reading.formats.lines import BOM, Lines, read_line_blocks
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.corpus.reading.sources import find_format_suffix
from evenhand.corpus.reading.stores import OpenedFile
from evenhand.corpus.reading.unpacking import DamagedStream

ROWS_AT_ONCE = 512
END = "\x1eend of rows\x1e"
"""Marker after the last line."""


def parse_rows(stored: OpenedFile, piece: Piece) -> Iterator[list[str]]:
    """Yield the rows of a file, the heading first. Invalid UTF-8 bytes become lone surrogates.

    Raises DamagedStream after the last row if the file is truncated or a quotation mark is not closed.
    """
    usual = csv.field_size_limit(LONGEST)
    separator = "\t" if find_format_suffix(piece.address) == ".tsv" else ","
    lines = _Lines(stored, piece)
    reader = csv.reader(lines, delimiter=separator, strict=False)
    behind = 0
    try:
        for row in reader:
            if row and END in row[-1]:
                if row == [END]:
                    return
                told = f"a quotation mark in its row before line {reader.line_num:,} is never closed"
                raise DamagedStream(Reason.UNREADABLE, told, lines.estimate_stored_position(behind))
            behind = lines.read
            yield row
    except csv.Error as error:
        told = f"its remaining rows cannot be separated ({error})"
        raise DamagedStream(Reason.UNREADABLE, told, lines.estimate_stored_position(behind)) from error
    finally:
        csv.field_size_limit(usual)


class _Lines:
    """Lines of a file as text, followed by a marker that shows whether a quotation mark is still open."""

    def __init__(self, stored: OpenedFile, piece: Piece):
        self._stored, self._lines = stored, self._read(read_line_blocks(stored, piece))
        self.read = 0
        """Number of bytes of the unpacked file that were passed on."""
        self._unpacked = 0

    def estimate_stored_position(self, place: int) -> int:
        """Return the approximate position in the stored file of a byte of the unpacked file."""
        return self._stored.bytes_read * place // max(self._unpacked, 1)

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _read(self, blocks: Iterator[Lines]) -> Iterator[str]:
        for lines in blocks:
            if lines.too_long:
                told = f"it has a line of more than {LONGEST:,} bytes"
                raise DamagedStream(Reason.TOO_LONG, told, self.estimate_stored_position(self.read))
            self._unpacked = lines.place + len(lines.content)
            content = lines.content.removeprefix(BOM) if lines.place == 0 else lines.content
            for line in content.splitlines(keepends=True):
                self.read += len(line)
                yield line.decode("utf-8", "surrogateescape")
        if self._unpacked:
            yield END


def read_rows(stored: OpenedFile, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    """Yield the documents of a file. The position of a document is the number of its row below the heading, from 0.

    Raises DamagedStream as `parse_rows` does.
    """
    draw = Draw.for_places(options, piece.name)
    rows = parse_rows(stored, piece)
    heading = next(rows, [])
    column = heading.index(options.column) if options.column in heading else None
    chunk = Chunk()
    try:
        for place, row in enumerate(row for row in rows if row):
            if not draw.draws(place):
                chunk.skipped[Reason.NOT_SAMPLED] += 1
            elif column is None or column >= len(row):
                chunk.skipped[Reason.NO_TEXT] += 1
            else:
                chunk.add_bytes(row[column].encode("utf-8", "surrogateescape"), place)
            if place % ROWS_AT_ONCE == ROWS_AT_ONCE - 1:
                yield chunk
                chunk = Chunk()
    except DamagedStream:
        yield chunk
        raise
    yield chunk
