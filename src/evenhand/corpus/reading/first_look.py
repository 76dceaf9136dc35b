"""Check whether a source has the required column before all of it is read."""

from itertools import islice

from evenhand.corpus.reading.documents import Piece
from evenhand.corpus.reading.formats import (
    column_types,
    get_value,
    holds_text,
    open_parquet,
    parse_rows,
    read_line_blocks,
)
from evenhand.corpus.reading.stores import OpenedFile
from evenhand.corpus.reading.unpacking import DamagedStream
from evenhand.schema import DataError, list_names, nearest_names, parse_json

LOOKED_AT = 100
"""Number of JSON lines to check: if none of them has the column, the column name is wrong."""


def check_column(piece: Piece, column: str) -> bool:
    """Return whether a file has the column; False for a broken or empty file, which shows nothing.

    Raises DataError, with the existing columns, for a file without it.
    """
    if piece.kind not in ("parquet", "jsonl", "csv"):
        return True
    if not piece.size:
        return False
    with OpenedFile(piece.address, piece.version) as stored:
        try:
            match piece.kind:
                case "parquet":
                    return _parquet_has(stored, column)
                case "jsonl":
                    return _json_has(stored, piece, column)
            heading = next(parse_rows(stored, piece), [])
        except DamagedStream:
            return False
    if column not in heading:
        raise DataError(f"{piece.address} has no column {column!r}.", _choose(heading, column))
    return True


def _parquet_has(stored: OpenedFile, column: str) -> bool:
    types = column_types(open_parquet(stored))
    if column in types and not holds_text(types[column]):
        raise DataError(
            f"{stored.address}: the column {column!r} has the type {types[column]}, not text.",
            _choose([name for name, kind in types.items() if holds_text(kind)], column),
        )
    if column not in types:
        raise DataError(f"{stored.address} has no column {column!r}.", _choose(list(types), column))
    return True


def _json_has(stored: OpenedFile, piece: Piece, column: str) -> bool:
    rows, names, broken = 0, dict[str, None](), 0
    lines = (
        line
        for block in read_line_blocks(stored, piece)
        for line in block.content.split(b"\n")
        if line.strip()
    )
    for line in islice(lines, LOOKED_AT):
        if not rows and not broken and line.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):
            raise DataError(
                f"{stored.address} is a JSON list, not one object per line.",
                'Expected lines such as {"text": "..."}. To convert a list: jq -c ".[]"',
            )
        try:
            row = parse_json(line.decode("utf-8-sig"))
        except ValueError:
            broken += 1
            continue
        rows += 1
        if isinstance(get_value(row, column, column.split(".")), str):
            return True
        names.update(dict.fromkeys(_names(row)))
    if broken and not rows:
        raise DataError(
            f"{stored.address}: none of its first {broken} lines is JSON.",
            'Expected one object per line, such as {"text": "..."}. For plain text: --kind text',
        )
    if rows:
        raise DataError(
            f"{stored.address}: none of its first {rows} rows has a text in {column!r}.",
            _choose(list(names), column),
        )
    return False


def _names(row: object, before: str = "") -> list[str]:
    if not isinstance(row, dict):
        return []
    names = []
    for key, value in row.items():
        names += _names(value, f"{before}{key}.") if isinstance(value, dict) else [f"{before}{key}"]
    return names


def _choose(names: list[str], column: str) -> str:
    near = nearest_names(column, names, most=1)
    nearest = (
        near[0] if near else next((name for name in names if "text" in name or "content" in name), "NAME")
    )
    return f"Found: {list_names(names) or 'none'}. Name the column of the text: --column {nearest}"
