"""Read the rows of a workbook (.xlsx) with tables of texts and numbers."""

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from evenhand.schema import DataError, is_file

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
MOST_BYTES = 1 << 26
"""Maximum decompressed size of one part of the file, in bytes (64 MiB)."""
MOST_CELLS = 10_000_000
"""Maximum number of cells in one sheet, including empty ones."""
BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)
COLUMN = re.compile(r"[A-Z]+")


def sheets(path: Path) -> Iterator[list[list[str]]]:
    """Yield the sheets of a workbook, each as a list of rows of texts. Empty cells are empty texts.

    path: an .xlsx file. Columns beyond those of a sheet's first row are ignored. Raises a DataError if the file is not
    a workbook, contains XML entities, or has a part of more than MOST_BYTES or a sheet of more than MOST_CELLS.
    """
    if not is_file(path):
        raise DataError(f"File not found: {path}.", "Check the path.")
    try:
        with zipfile.ZipFile(path) as archive:
            parts = sorted(
                (part for part in archive.namelist() if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", part)),
                key=lambda part: (len(part), part),
            )
            shared = "xl/sharedStrings.xml"
            texts = []
            if shared in archive.namelist():
                items = _part(archive, shared, path).findall(f"{MAIN}si")
                texts = ["".join(piece.text or "" for piece in item.iter(f"{MAIN}t")) for item in items]
            for part in parts:
                yield _rows(_part(archive, part, path), texts)
    except (*BROKEN, ElementTree.ParseError, ValueError, IndexError, RuntimeError) as error:
        raise DataError(
            f"{path} is not a workbook that can be read: {error}.", "Save the table as CSV."
        ) from error


def _part(archive: zipfile.ZipFile, name: str, path: Path) -> ElementTree.Element:
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise DataError(
            f"{path}: the part {name} of this workbook unpacks to more than {MOST_BYTES >> 20} MiB.",
            "Save the table as CSV.",
        )
    content = archive.read(name)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise DataError(
            f"{path}: the part {name} of this workbook contains XML entities, which are not supported.",
            "Save the table as CSV.",
        )
    if b"\0" in content:  # in UTF-16, the search for entities would find nothing
        raise DataError(
            f"{path}: the part {name} of this workbook is not in UTF-8.", "Save the table as CSV."
        )
    return ElementTree.fromstring(content)


def _rows(sheet: ElementTree.Element, texts: list[str]) -> list[list[str]]:
    """Return the rows of a sheet, which are at most as wide as the first one.

    texts: the shared texts of the workbook. Raises a ValueError if there are more than MOST_CELLS cells.
    """
    rows: list[list[str]] = []
    cells = 0
    for row in sheet.iter(f"{MAIN}row"):
        rows.append(_row(row, texts, len(rows[0]) if rows else None))
        cells += len(rows[-1])
        if cells > MOST_CELLS:
            raise ValueError(f"it has more than {MOST_CELLS:,} cells")
    return rows


def _row(row: ElementTree.Element, texts: list[str], width: int | None) -> list[str]:
    values: list[str] = []
    for cell in row.iter(f"{MAIN}c"):
        place = COLUMN.match(cell.get("r", ""))  # files may leave out empty cells
        column = max(_number(place[0]), len(values) + 1) if place else len(values) + 1
        if width is not None and column > width:
            break
        values += [""] * (column - 1 - len(values))
        value, kind = cell.find(f"{MAIN}v"), cell.get("t")
        if kind == "inlineStr":
            values.append("".join(piece.text or "" for piece in cell.iter(f"{MAIN}t")))
        else:
            text = "" if value is None else value.text or ""
            values.append(texts[_place(text)] if kind == "s" else text)
    return values


def _place(text: str) -> int:
    """Return the position of a shared text; raises a ValueError if the cell does not contain digits only."""
    if not text.isdecimal():
        raise ValueError(f"{text!r} is not a position in the list of texts")
    return int(text)


def _number(letters: str) -> int:
    """Return the number of a column: 1 for A, 27 for AA. At most three letters are used."""
    number = 0
    for letter in letters[:3]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
