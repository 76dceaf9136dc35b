"""Check whether the sheets of a workbook fit in memory before they are loaded.

The reader of workbooks stores a sheet as a full rectangle from its first to its last filled cell, and aborts the
process if memory runs out. One cell in the last corner of an otherwise empty sheet is enough for that.
"""

import json
import posixpath
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from xml.parsers import expat

from evenhand.schema import DataError
from evenhand.weights import processor_memory

CELL_BYTES = 64
"""Bytes of memory per cell of the rectangle: 32 in the reader, and up to as many in the resulting table."""
TEXT_TIMES = 4
"""Bytes of memory per byte of unpacked XML, because texts and filled cells are kept until the rectangle is complete."""
FREE_IF_UNKNOWN = 16 << 30
"""Free memory in bytes that is assumed if the system does not report it."""
GIB = 1 << 30
CHUNK = 1 << 20
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)
READING_APART = """
import json, sys
import fastexcel
path, most = json.load(sys.stdin)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
except (ImportError, OSError, ValueError):
    pass
print("ready", flush=True)
try:
    book = fastexcel.read_excel(path)
    for name in book.sheet_names:
        book.load_sheet(name, header_row=None)
except Exception:  # the process that asked meets it again where it reads the file
    pass
"""


@dataclass
class Extent:
    """The filled cells of one sheet, with rows and columns from 0."""

    first_row: int = sys.maxsize
    last_row: int = -1
    first_column: int = sys.maxsize
    last_column: int = -1
    filled: int = 0

    def add(self, row: int, column: int, rows: int = 1, columns: int = 1) -> None:
        # called for each cell; min and max would take four times as long as these comparisons
        if row < self.first_row:
            self.first_row = row
        if row + rows > self.last_row:
            self.last_row = row + rows - 1
        if column < self.first_column:
            self.first_column = column
        if column + columns > self.last_column:
            self.last_column = column + columns - 1
        self.filled += rows * columns

    @property
    def shape(self) -> tuple[int, int]:
        if not self.filled:
            return 0, 0
        return self.last_row - self.first_row + 1, self.last_column - self.first_column + 1

    @property
    def bytes(self) -> int:
        rows, columns = self.shape
        return max(rows * columns, self.filled) * CELL_BYTES


def check_workbook_fits(path: Path, expected: str, *, sheet: str | None = None) -> None:
    """Raise DataError if loading the sheets of a workbook would take more memory than is free.

    path: the file. expected: the documented format, for the error message. sheet: of .xlsx, the only one that is going
    to be loaded; None if every sheet is. The XML of .xlsx, .xlsm and .ods is searched for filled cells. The binary
    formats (.xls, .xlsb) are loaded in another process first, whose memory is limited.
    """
    memory = processor_memory()
    free = FREE_IF_UNKNOWN if memory is None else memory
    kind = path.suffix.lower()
    if kind not in (".xlsx", ".xlsm", ".ods") or not zipfile.is_zipfile(path):
        return _load_apart(path, free)
    try:
        with zipfile.ZipFile(path) as archive:
            for name, extent in _extents(archive, sheet, kind == ".ods", free):
                if extent.bytes > free:
                    raise _too_large(path, name, extent, free)
    except expat.ExpatError as error:
        raise DataError(f"{path} cannot be read: invalid XML, {error}.", expected) from error
    except BROKEN as error:
        raise DataError(f"{path} cannot be read: {error}.", expected) from error


def _too_large(path: Path, name: str, extent: Extent, free: int) -> DataError:
    rows, columns = extent.shape
    corner = f"{_letters(extent.last_column)}{extent.last_row + 1}"
    return DataError(
        f"{path}: the sheet {name!r} has {rows:,} rows and {columns:,} columns (its last filled cell is in {corner}). "
        f"Loading it takes about {extent.bytes / GIB:,.1f} GiB of memory, and {free / GIB:,.1f} GiB are free.",
        "Delete the cells that do not belong to the table, or save the table as CSV.",
    )


def _extents(
    archive: zipfile.ZipFile, sheet: str | None, is_ods: bool, free: int
) -> Iterator[tuple[str, Extent]]:
    """Yield each sheet that is going to be loaded; raises ValueError if the XML itself would not fit."""
    names = {} if is_ods else _sheet_parts(archive)
    unpacked = 0
    for info in archive.infolist():
        name = names.get(info.filename.lower(), info.filename)
        if sheet is not None and info.filename.lower() in names and name != sheet:
            continue
        sheets = _OpenDocument() if is_ods else _Worksheet(name)
        for chunk in _xml_chunks(archive, info):
            unpacked += len(chunk)
            if unpacked * TEXT_TIMES > free:
                raise ValueError(
                    f"its XML has more than {unpacked / GIB:,.2f} GiB, which is too much for {free / GIB:,.1f} "
                    "GiB of free memory"
                )
            sheets.parser.Parse(chunk)
        yield from sheets.extents


def _xml_chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the content of a part in pieces, or nothing if it is not XML."""
    # the size in the archive's directory may be false; the checksum covers the full content
    info.file_size = sys.maxsize
    with archive.open(info) as part:
        chunk = part.read(CHUNK)
        if chunk.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")[:1] != b"<":
            return
        while chunk:
            yield chunk
            chunk = part.read(CHUNK)


class _Worksheet:
    """Finds the filled cells of one worksheet (.xlsx); other parts have none."""

    def __init__(self, name: str) -> None:
        self._extent = Extent()
        self.extents = [(name, self._extent)]
        self._row, self._column = -1, -1
        self._is_cell_open = False
        self.parser = _parser(self._start, self._end)

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        # a cell with content; an empty cell with only a format takes no memory
        if self._is_cell_open:
            self._extent.add(self._row, self._column)
            self._is_cell_open = False
        if tag == "c":
            row, column = _place(attributes.get("r", ""))
            self._row = max(self._row, 0) if row is None else row
            self._column = self._column + 1 if column is None else column
            self._is_cell_open = True
        elif tag == "row":
            place = attributes.get("r", "")
            self._row, self._column = int(place) - 1 if place.isdecimal() else self._row + 1, -1

    def _end(self, tag: str) -> None:
        self._is_cell_open = False


class _OpenDocument:
    """Finds the filled cells of the sheets of an OpenDocument file, in which one element may be repeated many times."""

    def __init__(self) -> None:
        self.extents: list[tuple[str, Extent]] = []
        self._extent = Extent()
        self._row = self._rows = self._column = self._columns = 0
        self._cells: list[tuple[int, int]] = []
        self._is_cell_open = False
        self.parser = _parser(self._start, self._end)

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._is_cell_open:
            self._cells.append((self._column, self._columns))
            self._is_cell_open = False
        if tag == "table":
            self._extent, self._row = Extent(), 0
            self.extents.append((attributes.get("name", ""), self._extent))
        elif tag == "table-row":
            self._rows, self._column, self._columns = _times(attributes, "number-rows-repeated"), 0, 0
            self._cells = []
        elif tag in ("table-cell", "covered-table-cell"):
            self._column, self._columns = (
                self._column + self._columns,
                _times(attributes, "number-columns-repeated"),
            )
            self._is_cell_open = "value-type" not in attributes
            if not self._is_cell_open:
                self._cells.append((self._column, self._columns))

    def _end(self, tag: str) -> None:
        self._is_cell_open = False
        if tag == "table-row":
            for column, columns in self._cells:
                self._extent.add(self._row, column, self._rows, columns)
            self._row += self._rows


def _parser(
    start: Callable[[str, Mapping[str, str]], None], end: Callable[[str], None]
) -> expat.XMLParserType:
    """Return a parser that reports elements and attributes without their prefixes."""

    def start_local(tag: str, attributes: Mapping[str, str]) -> None:
        if ":" in tag:
            tag = tag.rpartition(":")[2]
        if attributes and any(":" in name for name in attributes):
            attributes = {name.rpartition(":")[2]: value for name, value in attributes.items()}
        start(tag, attributes)

    def end_local(tag: str) -> None:
        end(tag.rpartition(":")[2])

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start_local, end_local
    return parser


def _times(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name, "1")
    return int(text) if text.isdecimal() else 1


@lru_cache(1 << 15)
def _column(letters: str) -> int | None:
    """Return the column, from 0, of its letters; None without letters."""
    column = 0
    for letter in letters.upper():
        if not "A" <= letter <= "Z" or column > 1 << 40:
            raise ValueError(f"{letters[:40]!r} is not a column")
        column = 26 * column + ord(letter) - ord("A") + 1
    return column - 1 if letters else None


def _place(reference: str) -> tuple[int | None, int | None]:
    """Return row and column, counted from 0, of a reference such as "AB12"; None for a missing part."""
    letters = reference.rstrip("0123456789")
    digits = reference[len(letters) :]
    return int(digits) - 1 if digits else None, _column(letters)


def _letters(column: int) -> str:
    """Return the letters of a column from 0.

    >>> _letters(0), _letters(16383)
    ('A', 'XFD')
    """
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the sheet's name by the lower-case name of its part; empty if one could be taken for another."""
    sheets: list[tuple[str, str]] = []
    targets: list[tuple[str, str]] = []

    def start_sheet(tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "sheet":
            sheets.append((attributes.get("id", ""), attributes.get("name", "")))

    def start_target(tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "Relationship":
            targets.append((attributes.get("Id", ""), attributes.get("Target", "")))

    for part, start in (("xl/workbook.xml", start_sheet), ("xl/_rels/workbook.xml.rels", start_target)):
        if part not in archive.namelist():
            return {}
        _parser(start, lambda tag: None).Parse(archive.read(part), True)
    by_id = dict(targets)
    found = [
        (posixpath.normpath(posixpath.join("/xl", by_id[place])).strip("/").lower(), name)
        for place, name in sheets
        if place in by_id
    ]
    parts, names = {part for part, _ in found}, {name for _, name in found}
    is_clear = len(by_id) == len(targets) and len(parts) == len(names) == len(found) == len(sheets)
    return dict(found) if is_clear else {}


def _load_apart(path: Path, free: int) -> None:
    """Load a binary workbook in another process, whose memory is limited; raise DataError if that ends it."""
    command = [sys.executable, "-P", "-c", READING_APART]
    try:
        done = subprocess.run(command, input=json.dumps([str(path), free]).encode(), capture_output=True)
    except OSError:  # no process can be started here, so nothing is known
        return
    if done.stdout.startswith(b"ready") and done.returncode:
        raise DataError(
            f"{path} cannot be loaded: the reading process was killed or crashed, with {free / GIB:,.1f} GiB of "
            "free memory. A filled cell far away from the table can be the cause.",
            "Save the table as CSV.",
        )
