"""Read plain text in UTF-8: one document per line, per paragraph (lines up to a blank one), or per file."""

from collections.abc import Iterator

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.documents import LONGEST, Piece, Reason
from evenhand.corpus.reading.drawing import Draw
from evenhand.corpus.reading.formats.lines import (
    BOM,
    Lines,
    line_blocks,
    open_at_first_line,
    read_line_blocks,
)
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.corpus.reading.stores import OpenedFile

SPACES = b" \t\r\f\v"
LOOKED_BACK_AT_ONCE = 1 << 12


def read_lines(stored: OpenedFile, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    """Yield one document per line. Raises Damaged after the last complete line."""
    draw = Draw.for_places(options, piece.name)
    for lines in read_line_blocks(stored, piece):
        drawn, skipped = lines.draw_lines(draw)
        chunk = Chunk()
        chunk.skipped.update(skipped)
        for start, end in drawn:
            line, place = lines.content[start:end], lines.place + start
            chunk.add_bytes(_whole_line(line, place), place)
        yield chunk


def _whole_line(line: bytes, place: int) -> bytes:
    return (line.removeprefix(BOM) if place == 0 else line).removesuffix(b"\r")


def read_paragraphs(stored: OpenedFile, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    """Yield one document per paragraph (lines without a blank line between them).

    A paragraph belongs to the piece in which it begins. Raises Damaged after the last complete line.
    """
    draw = Draw.for_places(options, piece.name)
    begin, blocks = open_at_first_line(stored, piece)
    # a line inside a paragraph belongs to the previous piece
    theirs = begin > 0 and not _follows_a_blank_line(piece, begin)
    first, held, gathered = 0, 0, list[bytes]()
    for lines in line_blocks(begin, blocks, None):
        chunk = Chunk()
        for line, place in _lines_with_places(lines):
            if line is not None and not line.strip(SPACES):
                if held:
                    _add(chunk, gathered, held, first, draw)
                gathered, held, theirs = [], 0, False
            elif not theirs:
                if not held:
                    if piece.last is not None and place >= piece.last:
                        yield chunk
                        return
                    first = place
                held += LONGEST + 1 if line is None else len(line) + 1
                if held <= LONGEST and line is not None:
                    gathered.append(line)
        yield chunk
        if not held and piece.last is not None and place >= piece.last:
            return
    if held:
        chunk = Chunk()
        _add(chunk, gathered, held, first, draw)
        yield chunk


def _lines_with_places(lines: Lines) -> Iterator[tuple[bytes | None, int]]:
    if lines.too_long:
        yield None, lines.place
        return
    for start, end in zip(*(array.tolist() for array in lines.spans()), strict=True):
        place = lines.place + start
        yield _whole_line(lines.content[start:end], place), place


def _add(chunk: Chunk, gathered: list[bytes], held: int, first: int, draw: Draw) -> None:
    if not draw.draws(first):
        chunk.skipped[Reason.NOT_SAMPLED] += 1
    elif held > LONGEST:
        chunk.skipped[Reason.TOO_LONG] += 1
    else:
        chunk.add_bytes(b"\n".join(gathered), first)


def _follows_a_blank_line(piece: Piece, place: int) -> bool:
    """Return whether the line before the one at `place` is blank or missing."""
    with OpenedFile(piece.address) as stored:
        end = place - 1  # its line feed
        while end > 0:
            start = max(0, end - LOOKED_BACK_AT_ONCE)
            stored.seek(start)
            before = stored.read(end - start)
            if start == 0:
                before = before.removeprefix(BOM)
            if kept := before.rstrip(SPACES):
                return kept.endswith(b"\n")
            end = start
    return True


def read_file(stored: OpenedFile, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    """Yield the whole file as one document; if it is truncated or cannot be unpacked, raise Damaged instead."""
    chunk = Chunk()
    if not Draw.for_places(options, piece.name).draws(0):
        chunk.skipped[Reason.NOT_SAMPLED] += 1
        yield chunk
        return
    content = bytearray()
    _, blocks = open_at_first_line(stored, piece)
    for block in blocks:
        content += block
        if len(content) > LONGEST:
            chunk.skipped[Reason.TOO_LONG] += 1
            yield chunk
            return
    if content:
        chunk.add_bytes(bytes(content).removeprefix(BOM).replace(b"\r\n", b"\n"), 0)
    yield chunk
