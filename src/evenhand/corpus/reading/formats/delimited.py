"""CSV and TSV: rows under a heading, whose fields may hold line ends within quotation marks."""

import csv
from collections.abc import Iterator

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.documents import LONGEST, Piece, Reason
from evenhand.corpus.reading.drawing import Draw
from evenhand.corpus.reading.formats.lines import BOM, lines_of
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.corpus.reading.sources import ending_of
from evenhand.corpus.reading.stores import Stored
from evenhand.corpus.reading.unpacking import Damaged

ROWS_AT_ONCE = 512


def rows_of(stored: Stored, piece: Piece) -> Iterator[list[str]]:
    """The rows of a file, heading first; bytes that are no UTF-8 are lone surrogates in them.

    Raises Damaged behind the last row of a file that breaks off, or in which a quotation mark is never closed.
    """
    csv.field_size_limit(LONGEST)
    separator = "\t" if ending_of(piece.address) == ".tsv" else ","
    try:
        yield from csv.reader(_lines(stored, piece), delimiter=separator, strict=False)
    except csv.Error as error:
        raise Damaged(Reason.UNREADABLE, f"its rows cannot be told apart any further ({error})") from error


def _lines(stored: Stored, piece: Piece) -> Iterator[str]:
    for lines in lines_of(stored, piece):
        content = lines.content.removeprefix(BOM) if lines.place == 0 else lines.content
        if lines.too_long:
            raise Damaged(Reason.TOO_LONG, f"it has a line of more than {LONGEST:,} bytes")
        for line in content.splitlines(keepends=True):
            yield line.decode("utf-8", "surrogateescape")


def read_rows(stored: Stored, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    """The documents of a file; a document's place is the number of its row below the heading, from 0.

    Raises Damaged as `rows_of` does.
    """
    draw = Draw.of_places(options, piece.name)
    rows = rows_of(stored, piece)
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
    except Damaged:
        yield chunk
        raise
    yield chunk
