"""Read JSON lines: one object per line, with the text under a key or within nested records."""

from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.documents import Piece, Reason
from evenhand.corpus.reading.drawing import Draw
from evenhand.corpus.reading.formats.lines import BOM, read_line_blocks
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.corpus.reading.stores import EXTRA, OpenedFile
from evenhand.schema import DataError, parse_json, without_surrogates


def read_jsonl(stored: OpenedFile, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    """Yield the documents of a piece. Lines outside the sample are not parsed.

    Raises Damaged after the last complete line of a file that is truncated or not text.
    """
    try:
        from orjson import JSONDecodeError, loads
    except ImportError as error:
        raise DataError("Reading JSON Lines requires a package that is not installed.", EXTRA) from error
    draw = Draw.for_places(options, piece.name)
    keys = options.column.split(".")
    for lines in read_line_blocks(stored, piece):
        drawn, skipped = lines.draw_lines(draw)
        chunk = Chunk()
        chunk.skipped.update(skipped)
        for start, end in drawn:
            line = lines.content[start:end]
            place = lines.place + start
            by_python = False
            try:
                row = loads(line)
            except JSONDecodeError:
                row, by_python = _otherwise(line.removeprefix(BOM)), True
            if isinstance(row, Reason):
                chunk.skipped[row] += 1
                continue
            text = get_value(row, options.column, keys)
            if not isinstance(text, str):
                chunk.skipped[Reason.NO_TEXT] += 1
            elif by_python and without_surrogates(text) != text:  # the faster reader rejects lone surrogates
                chunk.skipped[Reason.INVALID_UTF8] += 1
            else:
                chunk.add(text, place)
        yield chunk


def _otherwise(line: bytes) -> Any:
    """Return a row that only Python's reader accepts (NaN, lone surrogates), or the reason why there is none."""
    if not line.strip():
        return Reason.EMPTY
    try:
        return parse_json(line.decode())
    except UnicodeDecodeError:
        return Reason.INVALID_UTF8
    except ValueError:
        return Reason.NOT_JSON


def get_value(row: Any, column: str, keys: Sequence[str]) -> Any:
    """Return the value of a key, or of a path of keys into nested records; None if there is none.

    >>> get_value({"meta": {"body": "x"}}, "meta.body", ["meta", "body"])
    'x'
    """
    if not isinstance(row, dict):
        return None
    if column in row or len(keys) == 1:
        return row.get(column)
    for key in keys:
        row = row.get(key) if isinstance(row, dict) else None
    return row
