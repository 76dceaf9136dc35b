"""Read compressed or plain text files (.zst, .gz, .jsonl) in blocks of lines, in memory that does not grow."""

import codecs
import gzip
import io
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

from evenhand.schema import DataError

ENDINGS = (".zst", ".jsonl", ".ndjson", ".gz")
LONGEST_LINE = 1 << 24
"""Maximum number of bytes of a line. A longer line is replaced by TOO_LONG."""
TOO_LONG = b"...\n"
WINDOW = 1 << 31
"""Window size in bytes with which published dumps are compressed (zstd --long=31)."""
UNPACKED_AT_ONCE = 1 << 18
LONGEST_FRAME_HEADER = 18
SKIPPABLE = {bytes([first, 0x2A, 0x4D, 0x18]) for first in range(0x50, 0x60)}
"""First bytes of zstd frames that contain no lines and are skipped."""
EXPECTED = (
    f"Expected dumps of comments: JSON lines with `id` and `body`, in files that end in {', '.join(ENDINGS)}."
)


class TruncatedFileError(Exception):
    """Raised if a compressed file is cut off or damaged, or is followed by other data."""


def line_blocks(handle: BinaryIO, path: Path) -> Generator[bytes, None, None]:
    """Yield the decompressed content of a file in blocks of whole lines.

    Each block ends with a line feed, except the last one if the file does not end with a line feed.

    handle: the file, opened for reading bytes. path: its name; the suffix determines the compression. Raises Truncated
    after the last complete line of a damaged file. Raises a DataError if the file does not have the format of its name,
    needs the missing package zstandard, or cannot be decompressed in memory.
    """
    match path.suffix.lower():
        case ".zst":
            pieces = _zstd_pieces(handle, path)
        case ".gz":
            pieces = _gzip_pieces(handle, path)
        case _:
            pieces = _plain_pieces(handle)
    rest, skipping, begun = b"", False, False
    for piece in pieces:
        data = rest + piece
        if not begun and len(data) >= len(codecs.BOM_UTF8):
            data, begun = data.removeprefix(codecs.BOM_UTF8), True
        if skipping:
            if b"\n" not in data:
                continue
            data = data[data.index(b"\n") + 1 :]
            skipping = False
        end = data.rfind(b"\n") + 1
        if end:
            yield data[:end]
        rest = data[end:]
        if len(rest) > LONGEST_LINE:
            yield TOO_LONG
            rest, skipping = b"", True
    if rest:
        yield rest


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
                    raise DataError(f"{path} is not a gzip file: {error}.", EXPECTED) from error
                raise TruncatedFileError from error
            if not piece:
                return
            began = True
            yield piece


def _zstd_pieces(handle: BinaryIO, path: Path) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise DataError(
            f"{path} is compressed with zstd, which requires the package zstandard.",
            "Install it: pip install 'evenhand[reddit]'.",
        ) from error
    frames = zstandard.ZstdDecompressor(max_window_size=WINDOW).stream_reader(
        handle, read_across_frames=True, closefd=False
    )
    began = False
    while True:
        try:
            piece = frames.read1(UNPACKED_AT_ONCE)  # also returns the data before damage
        except zstandard.ZstdError as error:
            if "memory" in str(error):
                window = zstandard.get_frame_parameters(_beginning(handle)).window_size
                raise DataError(
                    f"{path} cannot be decompressed: its window of {window / 1e6:,.0f} MB does not fit into "
                    "memory.",
                    "Decompress it on a machine with more memory (zstd -d --long=31 FILE), and give the "
                    "decompressed file.",
                ) from error
            if not began:
                raise DataError(f"{path} is not a zstd file: {error}.", EXPECTED) from error
            raise TruncatedFileError from error
        if not piece:
            break
        began = True
        yield piece
    if not _is_whole(handle):  # the reader does not report a frame that is cut off
        raise TruncatedFileError


def _beginning(handle: BinaryIO) -> bytes:
    handle.seek(0)
    return handle.read(LONGEST_FRAME_HEADER)


def _is_whole(handle: BinaryIO) -> bool:
    """Return True if a zstd file ends at the end of a frame.

    Only the headers of frames and blocks are read, and nothing is decompressed.

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
