"""The rows of a workbook (.xlsx), as far as tables of texts and numbers need it."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from evenhand.schema import DataError, is_file

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
MOST_BYTES = 1 << 26
"""Of one part, unpacked."""
COLUMN = re.compile(r"[A-Z]+")


def sheets(path: Path) -> Iterator[list[list[str]]]:
    """The sheets of a workbook, each a list of rows of texts; empty cells are empty texts.

    path: an .xlsx file. Raises DataError for anything else, for a part of more than 64 MiB, and for entities, of which
    such files have none.
    """
    if not is_file(path):
        raise DataError(f"There is no file {path}.")
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
                yield [_row(row, texts) for row in _part(archive, part, path).iter(f"{MAIN}row")]
    except (zipfile.BadZipFile, ElementTree.ParseError, ValueError, IndexError, RuntimeError) as error:
        raise DataError(f"{path} is no workbook that can be read: {error}.", "Save it as CSV.") from error


def _part(archive: zipfile.ZipFile, name: str, path: Path) -> ElementTree.Element:
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise DataError(f"{path}: {name} unpacks to more than {MOST_BYTES >> 20} MiB.", "Save it as CSV.")
    content = archive.read(name)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise DataError(f"{path}: {name} declares entities, which workbooks do not.", "Save it as CSV.")
    return ElementTree.fromstring(content)


def _row(row: ElementTree.Element, texts: list[str]) -> list[str]:
    values: list[str] = []
    for cell in row.iter(f"{MAIN}c"):
        if place := COLUMN.match(cell.get("r", "")):  # empty cells may be left out
            values += [""] * (_number(place[0]) - 1 - len(values))
        value, kind = cell.find(f"{MAIN}v"), cell.get("t")
        if kind == "inlineStr":
            values.append("".join(piece.text or "" for piece in cell.iter(f"{MAIN}t")))
        else:
            text = "" if value is None else value.text or ""
            values.append(texts[int(text)] if kind == "s" else text)
    return values


def _number(letters: str) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters[:3]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
