"""Read files of lines, whole or as byte ranges. Each line is read exactly once, wherever a file was divided.

A line belongs to the range that contains its first byte. Lines end only at \\n (or \\r\\n).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.reading.documents import LONGEST, Piece, Reason
from evenhand.corpus.reading.drawing import Draw
from evenhand.corpus.reading.stores import OpenedFile
from evenhand.corpus.reading.unpacking import UNPACKED_AT_ONCE, DamagedStream, find_compression, unpack

BOM = b"\xef\xbb\xbf"
HEAD = 1024
MAGIC = {
    b"PAR1": "Parquet",
    b"\x1f\x8b": "packed with gzip (.gz)",
    b"\x28\xb5\x2f\xfd": "packed with zstd (.zst)",
    b"BZh91AY&SY": "packed with bzip2",
    b"\xfd7zXZ\0": "packed with xz",
    b"PK\x03\x04": "a ZIP archive",
    b"%PDF": "PDF",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"ARROW1": "Arrow",
}
"""First bytes of files that do not contain lines in UTF-8."""


@dataclass(frozen=True)
class Lines:
    """Some consecutive complete lines."""

    place: int
    """Position of the first byte in the unpacked file."""
    content: bytes
    too_long: int = 0
    """Number of lines longer than LONGEST bytes, whose content is left out."""

    def spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the starts (n,) and ends (n,) of lines in `content`, without their line feeds."""
        ends = np.flatnonzero(np.frombuffer(self.content, dtype=np.uint8) == ord("\n"))
        if not self.content.endswith(b"\n"):
            ends = np.append(ends, len(self.content))
        return np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1] + 1]), ends

    def draw_lines(self, draw: Draw) -> tuple[list[tuple[int, int]], dict[Reason, int]]:
        """Return the starts and ends of the sampled lines, and the numbers of omitted and too long ones."""
        if not self.content:
            return [], {Reason.TOO_LONG: self.too_long}
        starts, ends = self.spans()
        chosen = draw.are_drawn(starts + self.place)
        long = chosen & (ends - starts > LONGEST)
        skipped = {
            Reason.NOT_SAMPLED: int((~chosen).sum()),
            Reason.TOO_LONG: self.too_long + int(long.sum()),
        }
        chosen &= ~long
        return list(zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True)), skipped


def check_head(head: bytes) -> None:
    """Raise DamagedStream, as BINARY, for the first bytes of a file that is not UTF-8 text."""
    kind = next((told for magic, told in MAGIC.items() if head.startswith(magic)), None)
    if kind or b"\0" in head[:HEAD]:
        raise DamagedStream(Reason.BINARY, f"it is {kind or 'binary'}, not UTF-8 text")


def open_at_first_line(stored: OpenedFile, piece: Piece) -> tuple[int, Iterator[bytes]]:
    """Return the position of the first line of a piece, and the content of the file from there on.

    Raises DamagedStream if the file does not begin as text; for all but the first range, it counts nothing.
    """
    if find_compression(piece.address):
        return 0, _check_first_block(unpack(stored))
    if piece.first == 0:
        return 0, _check_first_block(unpack(stored))
    stored.seek(0)
    check_head(stored.read(HEAD))
    place = piece.first - 1
    stored.seek(place)
    while block := stored.read(UNPACKED_AT_ONCE):
        if end := block.find(b"\n") + 1:
            place += end
            break
        place += len(block)
    stored.seek(place)
    return place, unpack(stored)


def _check_first_block(blocks: Iterator[bytes]) -> Iterator[bytes]:
    begun = False
    for block in blocks:
        if not begun:
            check_head(block)
            begun = True
        yield block


def read_line_blocks(stored: OpenedFile, piece: Piece) -> Iterator[Lines]:
    """Yield the lines that begin in a piece, in blocks.

    Raises DamagedStream after the last complete line of a file that is truncated or not text.
    """
    place, blocks = open_at_first_line(stored, piece)
    return line_blocks(place, blocks, piece.last)


def line_blocks(place: int, blocks: Iterator[bytes], last: int | None) -> Iterator[Lines]:
    """Yield lines from a stream that begins with a line.

    place: position of the first byte of the stream. last: position from which lines are not wanted; None: all are.
    """
    pending: list[bytes] = []
    held, skipping = 0, False
    for block in blocks:
        if last is not None and place >= last:
            return
        end = block.rfind(b"\n") + 1
        if not end:
            if skipping:
                place += len(block)
                continue
            pending.append(block)
            held += len(block)
            if held > LONGEST:
                yield Lines(place, b"", too_long=1)
                place, pending, held, skipping = place + held, [], 0, True
            continue
        if skipping:
            cut = block.index(b"\n") + 1
            place, whole, skipping = place + cut, block[cut:end], False
        else:
            whole = b"".join([*pending, block[:end]])
        if last is not None and place >= last:
            return
        if last is not None and place + len(whole) >= last:
            yield Lines(place, whole[: whole.find(b"\n", last - 1 - place) + 1])
            return
        if whole:
            yield Lines(place, whole)
        place += len(whole)
        pending, held = ([block[end:]], len(block) - end) if end < len(block) else ([], 0)
    if held and (last is None or place < last):
        yield Lines(place, b"".join(pending))
