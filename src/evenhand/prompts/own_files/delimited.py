"""Read text tables of spreadsheets and statistics programs, with any delimiter and several encodings.

The heading determines the delimiter, and the first bytes the encoding. Every guess is reported, with the flag that sets
it. If two readings are possible, an error is raised.
"""

import csv
import io
import mmap
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import polars as pl

from evenhand.schema import DataError, UsageError

CALLED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""Delimiters by name."""
BY_WORD = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
WINDOWS = "cp1252"
_FLAG = re.compile(r" \(--[^)]*\)\.$")
_LOOKED_AT = 200
_BEGINNING = 65_536
"""Number of characters in which a line end is searched."""


def read_delimited(
    path: Path,
    expected: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    guesses: list[str] | None = None,
) -> pl.DataFrame:
    """Read a table from a text file; all columns are text, so that a group such as "007" does not change.

    Parameters
    ----------
    path : path
        A .csv or .tsv file that is not empty.
    expected : str
        The documented format, for messages.
    delimiter : str, optional
        One character, or the word tab. Default: determined from the heading.
    encoding : str, optional
        Any encoding of Python. Default: UTF-8, or UTF-16 if the file begins with its mark.
    guesses : list of str, optional
        Receives sentences on what was guessed. If it is given, text that is not UTF-8 is read as Windows-1252, and
        several delimiters are tried.

    Raises
    ------
    DataError
        Bytes are not text or are zero, a column name occurs twice, a row has another length than the heading, or two
        delimiters are possible. The message names the line or row.
    """
    content = _decode_file(path, encoding, guesses)
    _check_line_ends(path, content)
    mark = _delimiter(path, content, delimiter, guesses)
    _check_heading(path, content, mark)
    try:
        # all columns as text: a group such as "007" must not change, nor the axis "null" become missing
        source = path if content is None else io.BytesIO(content.encode())
        frame = pl.read_csv(source, infer_schema=False, separator=mark)
    except (pl.exceptions.PolarsError, ValueError) as error:
        _check_records(path, content, mark)
        raise DataError(f"{path} cannot be read as csv: {str(error).splitlines()[0]}.", expected) from error
    # a row that is too short ends in an empty last column, as an empty last value does
    if frame.height and frame[frame.columns[-1]].null_count():
        _check_records(path, content, mark)
    return frame


def without_flags(sentences: Iterable[str], path: Path) -> tuple[str, ...]:
    """Return the sentences that `read_delimited` wrote about its guesses, for commands without the flags they name.

    >>> without_flags(["Read as Windows-1252, as line 2 is not UTF-8 (--encoding cp1252)."], Path("mine/a.csv"))
    ('a.csv: Read as Windows-1252, as line 2 is not UTF-8.',)
    """
    return tuple(f"{path.name}: {_FLAG.sub('.', sentence)}" for sentence in sentences)


def _decode_file(path: Path, encoding: str | None, guesses: list[str] | None) -> str | None:
    """Return the text of a file that is not UTF-8; None for UTF-8, because a large file is then read directly."""
    with path.open("rb") as handle:
        first = handle.read(4)
        if encoding is None and first.startswith(UTF_16):
            with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                if mapped.find(b"\0") < 0:  # in UTF-16, each comma and line end contains a zero byte
                    raise DataError(
                        f"{path} starts with the byte order mark of UTF-16 ({first[:2].hex(' ')}), but the rest "
                        "is not UTF-16.",
                        "Save the file again, as CSV UTF-8.",
                    )
        named = encoding or ("utf-16" if first.startswith(UTF_16) else "utf-8")
        if named.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
            with mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                place = mapped.find(b"\0")
                if place >= 0:
                    raise _zero(path, bytes(mapped[:place]).count(b"\n") + 1)
    if named.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
        wrong = _first_wrong_line(path)
        if wrong is None:
            return None
        number, byte = wrong
        if guesses is None or encoding is not None:
            raise DataError(
                f"{path}, line {number}: byte {byte:#04x} is not UTF-8.",
                "Save the file as UTF-8 (in a spreadsheet: CSV UTF-8) and try again.",
            )
        named = WINDOWS
        guesses.append(f"Read as Windows-1252, as line {number} is not UTF-8 (--encoding {WINDOWS}).")
    try:
        text = path.read_bytes().decode(named)
    except LookupError as error:
        raise UsageError(
            f"Unknown encoding: {named!r}.", "For example: --encoding utf-8, utf-16, cp1252 or latin-1."
        ) from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: byte {error.object[error.start]:#04x} is "
            + (
                "neither valid UTF-8 nor Windows-1252."
                if encoding is None and named == WINDOWS
                else f"not valid {named}."
            ),
            "Save the file as UTF-8, or name its encoding: --encoding NAME.",
        ) from error
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        raise _zero(path, text[: text.index("\0")].count("\n") + 1)
    return text


def _check_line_ends(path: Path, content: str | None) -> None:
    """Raise DataError for line ends of old Macintoshes, with which the whole table would be one line."""
    first = content
    if first is None:
        with path.open("rb") as handle:
            first = handle.read(_BEGINNING).decode("latin-1")
    if "\r" in first[:_BEGINNING].rstrip("\r") and "\n" not in first[:_BEGINNING]:
        raise DataError(
            f"{path}: the lines end in carriage returns (CR) only.",
            "Save the file with usual line ends (LF or CR LF); in a spreadsheet: CSV UTF-8.",
        )


def _zero(path: Path, line: int) -> DataError:
    return DataError(
        f"{path} is not a text file: it contains zero bytes (the first in line {line}).",
        "Save the file again, as CSV UTF-8. If it is UTF-16 without a byte order mark, use --encoding utf-16-le.",
    )


def _first_wrong_line(path: Path) -> tuple[int, int] | None:
    """Return line and byte of the first invalid UTF-8, or None."""
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            if not line.isascii():
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    return number, line[error.start]
    return None


def _delimiter(path: Path, content: str | None, given: str | None, guesses: list[str] | None) -> str:
    if given is not None:
        mark = BY_WORD.get(given.lower(), given)
        if len(mark) != 1 or not mark.isascii() or mark in '"\r\n':
            raise UsageError(f"`--delimiter` must be one character or the word tab, got {given!r}.")
        return mark
    if path.suffix.lower() == ".tsv":
        return "\t"
    with _open_text(path, content) as handle:
        line = handle.readline()
    there = [mark for mark in CALLED if mark in _remove_quoted_parts(line)]
    if len(there) > 1 and guesses is not None:
        fitting = [mark for mark in there if _fits(path, content, mark)]
        if len(fitting) != 1:
            some = fitting or there
            raise DataError(
                f"{path}: cannot tell whether values are separated by "
                f"{' or '.join(CALLED[mark] for mark in some)}.",
                "Give the delimiter: " + " or ".join(f"--delimiter {_flag(mark)}" for mark in some),
            )
        there = fitting
    mark = "," if len(there) != 1 and "," in there else there[0] if there else ","
    if guesses is not None and mark != ",":
        guesses.append(f"Values are separated by {CALLED[mark]} (--delimiter {_flag(mark)}).")
    return mark


def _flag(mark: str) -> str:
    return "tab" if mark == "\t" else f"'{mark}'"


def _remove_quoted_parts(line: str) -> str:
    """Return a heading without its quoted parts."""
    return "".join(part for place, part in enumerate(line.split('"')) if place % 2 == 0)


def _fits(path: Path, content: str | None, mark: str) -> bool:
    """Return whether the first rows have as many values as the heading with this delimiter."""
    rows = list(islice(_records(path, content, mark), _LOOKED_AT))
    return len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows if row)


def _check_heading(path: Path, content: str | None, mark: str) -> None:
    names = next(_records(path, content, mark), [])
    heading = Counter(name.strip() for name in names)
    if twice := next((name for name, times in heading.items() if times > 1), None):
        where = [str(place) for place, name in enumerate(names, 1) if name.strip() == twice]
        raise DataError(
            f"{path}, line 1: the column {twice!r} occurs {heading[twice]} times (columns {', '.join(where[:6])}).",
            "Rename these columns, or remove all but one.",
        )


def _check_records(path: Path, content: str | None, mark: str) -> None:
    """Raise DataError for the first row that has another length than the heading."""
    columns = None
    for number, record in enumerate(_records(path, content, mark)):
        columns = columns or len(record)
        if record and len(record) != columns:
            called = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}.get(mark, mark)
            raise DataError(
                f"{path}, row {number}: it has {len(record)} values, but the heading has {columns} columns.",
                f"Put values that contain a {called} or a line break in quotes."
                if len(record) > columns
                else "Fill in the missing values, or remove the row. An empty value needs its delimiter, too.",
            )


def _open_text(path: Path, content: str | None) -> io.TextIOBase:
    if content is not None:
        return io.StringIO(content, newline="")
    return path.open(encoding="utf-8-sig", errors="replace", newline="")


def _records(path: Path, content: str | None, mark: str) -> Iterator[list[str]]:
    with _open_text(path, content) as handle, suppress(csv.Error):
        yield from csv.reader(handle, delimiter=mark)
