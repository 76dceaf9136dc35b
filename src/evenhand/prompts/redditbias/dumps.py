"""Comments out of local Reddit dumps (.zst, .jsonl, .gz), line by line: memory does not grow with the dump.

What is wrong in a dump is counted, never passed over: lines that are no JSON, rows without id or body, an end in the
middle.
"""

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, Literal

import polars as pl

from evenhand.prompts.redditbias.queries import Terms
from evenhand.schema import DataError, is_folder, parse_json, without_surrogates

ENDINGS = (".zst", ".jsonl", ".ndjson", ".gz")
LONGEST_LINE = 1 << 24
"""Bytes; a longer one is no comment and is counted as broken."""
WINDOW = 1 << 31
"""The window that published dumps are packed with (zstd --long=31)."""
UNPACKED_AT_ONCE = 1 << 18
LONGEST_FRAME_HEADER = 18
SKIPPABLE = {bytes([first, 0x2A, 0x4D, 0x18]) for first in range(0x50, 0x60)}
"""How frames begin that hold no data of ours."""
TOLD_EVERY = 1 << 20
"""Lines between two reports of progress."""
FOUND = pl.Struct({"id": pl.String, "body": pl.String, "target": pl.String, "attribute": pl.String})
COUNTS = ("lines", "broken", "without_fields", "matched")
SEARCHED: dict[str, pl.DataType | type[pl.DataType]] = {
    "dump": pl.String,
    "state": pl.String,
    **dict.fromkeys(COUNTS, pl.Int64),
    "comments": pl.List(FOUND),
}
EXPECTED = (
    f"Expected dumps of comments: JSON lines with `id` and `body`, in files that end in {', '.join(ENDINGS)}."
)
State = Literal["complete", "truncated", "empty", "no comments"]


class Truncated(Exception):
    """The packed stream ends before its end, or goes on with what is none."""


def dump_files(places: Sequence[Path | str]) -> list[Path]:
    """The dumps that are named, and those in folders that are named, in order.

    Raises DataError for a place that is not there, a file of another kind, and a folder without dumps.
    """
    files: list[Path] = []
    for place in [Path(place).expanduser() for place in places]:
        if is_folder(place):
            inside = sorted(path for path in place.iterdir() if path.suffix.lower() in ENDINGS)
            if not inside:
                raise DataError(f"The folder {place} holds no dumps.", EXPECTED)
            files += inside
        elif not place.is_file():
            raise DataError(f"There is no file {place}.", EXPECTED)
        elif place.suffix.lower() not in ENDINGS:
            raise DataError(f"{place}: files ending in '{place.suffix}' cannot be read.", EXPECTED)
        else:
            files.append(place)
    return files


def search_dump(
    path: Path,
    targets: Sequence[str],
    attributes: Sequence[str],
    report_progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """The comments of one dump that hold a target and an attribute, as a table of one row.

    targets, attributes: terms as `queries.term_patterns` takes them (T1 and A1). report_progress: called now and then
    with the bytes of the file read so far, and of how many.

    Columns: dump (the file's name); state: complete, truncated (cut off or damaged; what came before counts),
    empty, or "no comments" (rows, but none with id and body); lines; broken (no JSON object, or longer than 16 MB);
    without_fields (no id or no body that is text); matched; comments: a list of id, body, and the first target and
    attribute of the lists that it holds. A comment that stands in the dump twice is listed once.
    Raises DataError for a file that cannot be opened or is no packed file at all, and where zstandard is missing.
    Source: Barikeri et al. 2021, section 2.2; the query language of the search service they used, which is closed.
    """
    target_terms, attribute_terms = Terms(targets), Terms(attributes)
    counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
    found: dict[str, dict[str, str]] = {}
    state: State = "complete"
    size = path.stat().st_size
    last, with_fields = b"", False
    try:
        with path.open("rb") as handle, closing(_unpacked(handle, path)) as lines:
            while (line := lines.readline(LONGEST_LINE)) != b"":
                counts["lines"] += 1
                if counts["lines"] % TOLD_EVERY == 0 and report_progress:
                    report_progress(handle.tell(), size)
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    _skip_line(lines)
                    counts["broken"] += 1
                    continue
                last = line
                stripped = line.strip()
                if not stripped:
                    counts["lines"] -= 1
                elif not (stripped.startswith(b"{") and stripped.endswith(b"}")):
                    counts["broken"] += 1
                elif not (b'"body"' in stripped and b'"id"' in stripped):
                    counts["without_fields"] += 1
                elif _may_hold(stripped, target_terms.stems, attribute_terms.stems):
                    row = _row(stripped)
                    if row is None:
                        counts["broken"] += 1
                    elif not (isinstance(row.get("id"), str) and isinstance(row.get("body"), str)):
                        counts["without_fields"] += 1
                    else:
                        with_fields = True
                        _keep(row, target_terms, attribute_terms, found)
                else:
                    with_fields = True
    except Truncated:
        state = "truncated"
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.", EXPECTED) from error
    if state == "complete" and last and not last.endswith((b"\n", b"}")):
        state = "truncated"  # the end of its last line is missing
        counts.subtract(["lines", "broken"])
    if state == "complete" and not with_fields:
        state = "no comments" if counts["lines"] else "empty"
    counts["matched"] = len(found)
    row_of_table = {"dump": path.name, "state": state, **counts, "comments": list(found.values())}
    return pl.DataFrame([row_of_table], schema=SEARCHED)


def found_comments(searched: pl.DataFrame) -> pl.DataFrame:
    """The comments of all dumps, each id once (the first of them stays): dump, id, body, target, attribute."""
    comments = searched.filter(pl.col("matched") > 0).select("dump", "comments").explode("comments")
    return comments.unnest("comments").unique("id", keep="first", maintain_order=True)


def _may_hold(line: bytes, *stems: tuple[bytes, ...]) -> bool:
    """Whether a line may hold one of each; far cheaper than to parse it."""
    small = line.lower()
    return all(not each or any(stem in small for stem in each) for each in stems)


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = parse_json(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _keep(row: dict[str, Any], targets: Terms, attributes: Terms, found: dict[str, dict[str, str]]) -> None:
    body = without_surrogates(row["body"])
    name = without_surrogates(row["id"])
    if name in found:
        return
    target = targets.first(body)
    attribute = target and attributes.first(body)
    if target and attribute:
        found[name] = {"id": name, "body": body, "target": target, "attribute": attribute}


def _skip_line(lines: io.BufferedReader) -> None:
    while piece := lines.readline(LONGEST_LINE):
        if piece.endswith(b"\n"):
            return


def _unpacked(handle: BinaryIO, path: Path) -> io.BufferedReader:
    match path.suffix.lower():
        case ".zst":
            return io.BufferedReader(_Stream(_zstd_pieces(handle, path)), UNPACKED_AT_ONCE)
        case ".gz":
            return io.BufferedReader(_Stream(_gzip_pieces(handle, path)), UNPACKED_AT_ONCE)
        case _:
            return io.BufferedReader(_Stream(_plain_pieces(handle)), UNPACKED_AT_ONCE)


class _Stream(io.RawIOBase):
    """Pieces of bytes as a file that can be read."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        taken = min(len(buffer), len(self._rest))
        buffer[:taken] = self._rest[:taken]
        self._rest = self._rest[taken:]
        return taken


def _plain_pieces(handle: BinaryIO) -> Iterator[bytes]:
    while piece := handle.read(UNPACKED_AT_ONCE):
        yield piece


def _gzip_pieces(handle: BinaryIO, path: Path) -> Iterator[bytes]:
    began = False
    with gzip.GzipFile(fileobj=handle, mode="rb") as unpacked:
        while True:
            try:
                piece = unpacked.read1(UNPACKED_AT_ONCE)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                if not began and isinstance(error, gzip.BadGzipFile):
                    raise DataError(f"{path} is no gzip file: {error}.", EXPECTED) from error
                raise Truncated from error
            if not piece:
                return
            began = True
            yield piece


def _zstd_pieces(handle: BinaryIO, path: Path) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise DataError(
            f"{path} is packed with zstd, which the package zstandard reads.",
            "Install it: pip install 'evenhand[reddit]'.",
        ) from error
    frames = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(
        handle, read_across_frames=True, closefd=False
    )
    began = False
    while True:
        try:
            piece = frames.read1(UNPACKED_AT_ONCE)  # what comes before damage, too
        except zstandard.ZstdError as error:
            if not began:
                raise DataError(f"{path} is no zstd file: {error}.", EXPECTED) from error
            raise Truncated from error
        if not piece:
            break
        began = True
        yield piece
    if not _is_whole(handle):  # the reader takes the end of a file for the end of a frame
        raise Truncated


def _is_whole(handle: BinaryIO) -> bool:
    """Whether a zstd file ends where a frame of it ends: from one block's header to the next, without unpacking.

    Source: RFC 8878, section 3.1.
    """
    import zstandard

    size = handle.seek(0, io.SEEK_END)
    place = 0
    while place < size:
        handle.seek(place)
        beginning = handle.read(LONGEST_FRAME_HEADER)
        if beginning[:4] in SKIPPABLE:
            place += 8 + int.from_bytes(beginning[4:8], "little")
            continue
        try:
            checked = zstandard.get_frame_parameters(beginning).has_checksum
            place += zstandard.frame_header_size(beginning)
        except zstandard.ZstdError:
            return False
        last = False
        while not last:
            handle.seek(place)
            header = handle.read(3)
            if len(header) < 3:
                return False
            block = int.from_bytes(header, "little")
            last, repeated, length = bool(block & 1), block >> 1 & 3 == 1, block >> 3
            place += 3 + (1 if repeated else length)
        place += 4 * checked
    return place == size
