"""Read records of web crawls: the texts of WET, and the pages of WARC and ARC without tags."""

from collections.abc import Iterator
from typing import Any

from evenhand.corpus.reading.chunks import Chunk
from evenhand.corpus.reading.documents import LONGEST, Piece, Reason
from evenhand.corpus.reading.drawing import Draw
from evenhand.corpus.reading.formats.html import decode_page, page_text
from evenhand.corpus.reading.options import ReadingOptions
from evenhand.corpus.reading.stores import EXTRA, OpenedFile
from evenhand.corpus.reading.unpacking import DamagedStream, unpack
from evenhand.schema import DataError, EvenhandError

TEXTS = ("text/plain",)
PAGES = ("text/html", "application/xhtml+xml")


class _Stream:
    """The unpacked file, as a stream for warcio."""

    def __init__(self, blocks: Iterator[bytes]):
        self._blocks, self._rest = blocks, b""
        self.damage: DamagedStream | None = None
        self.ended = False
        self.given = 0
        """Number of bytes that were read."""
        self.tail = b""
        """The last bytes that were read; at the end of a complete file, the blank lines that end a record."""

    @property
    def ends_with_a_record(self) -> bool:
        return self.tail.replace(b"\r", b"").endswith(b"\n\n")

    def read(self, size: int) -> bytes:
        while not self._rest and not self.ended:
            try:
                self._rest = next(self._blocks, b"")
            except DamagedStream as damage:  # kept for later, because warcio would ignore it
                self.damage = damage
            self.ended = not self._rest
            self.tail = (self.tail + self._rest[-4:])[-4:]
        data, self._rest = self._rest[:size], self._rest[size:]
        self.given += len(data)
        return data


def read_records(stored: OpenedFile, piece: Piece, options: ReadingOptions) -> Iterator[Chunk]:
    """Yield the documents of a file of records; a document's place is the number of its record.

    Raises DamagedStream after the last complete record if the file is truncated or continues with invalid data.
    """
    try:
        from warcio.archiveiterator import ArchiveIterator
    except ImportError as error:
        raise DataError(f"{stored.address} requires a package that is not installed.", EXTRA) from error
    draw = Draw.for_places(options, piece.name)
    stream = _Stream(unpack(stored))
    records = iter(ArchiveIterator(stream))
    # whether a record is complete shows only when the next one begins or the file ends
    held: Chunk | None = None
    whole, arc, place, good = True, False, 0, 0
    while True:
        chunk = Chunk()
        try:
            record = next(records, None)
            if record is None:
                break
            if held:
                yield held
            arc = record.format == "arc"
            whole = _add(chunk, record, place, draw)
        except EvenhandError:
            raise
        except Exception as error:  # warcio raises many kinds of exceptions for an incomplete record
            if held:
                yield held
            if stream.damage:
                raise stream.damage from error
            if place and stream.ended and not stream.ends_with_a_record:
                raise DamagedStream(Reason.TRUNCATED, f"it ends after record {place - 1}") from error
            told = " ".join(str(error).split())[:100]
            where = f"after record {place - 1}" if place else "at its beginning"
            told = f"there is no valid record {where} ({told})"
            raise DamagedStream(
                Reason.UNREADABLE, told, stored.bytes_read * good // max(stream.given, 1)
            ) from error
        held, good = chunk, stream.given
        place += 1
    if held and whole and (stream.ends_with_a_record or (arc and stream.tail.endswith(b"\n"))):
        yield held
    elif not stream.damage and place:
        raise DamagedStream(Reason.TRUNCATED, f"it ends within record {place - 1}")
    if stream.damage:
        raise stream.damage


def _add(chunk: Chunk, record: Any, place: int, draw: Draw) -> bool:
    """Add a record; return False without adding anything if it is truncated."""
    reader = _classify_record(record)
    if not draw.draws(place):
        reason: Reason | None = Reason.NOT_SAMPLED
    elif reader is None:
        reason = Reason.OTHER_RECORD
    else:
        reason = Reason.TOO_LONG if (record.length or 0) > LONGEST else None
    content = b""
    if reason is None:
        content = _read(record.content_stream())
        if len(content) > LONGEST:
            reason = Reason.TOO_LONG
    while record.raw_stream.read(1 << 16):
        pass
    if getattr(record.raw_stream, "limit", 0) > 0:
        return False
    if reason is not None:
        chunk.skipped[reason] += 1
    elif reader == "text":
        chunk.add_bytes(content, place)
    else:
        try:
            text = page_text(decode_page(content, _charset(record)))
        except UnicodeDecodeError:
            chunk.skipped[Reason.INVALID_UTF8] += 1
        else:
            chunk.add(text, place)
    return True


def _classify_record(record: Any) -> str | None:
    """Return "text", "page", or None for a record without text for readers (request, metadata, image, error page)."""
    if record.rec_type == "conversion":
        kind = _media_type(record.rec_headers.get_header("Content-Type"))
        return "text" if kind in (*TEXTS, "") else None
    if record.rec_type not in ("response", "resource"):
        return None
    if record.http_headers is not None:
        if record.http_headers.get_statuscode() != "200":
            return None
        kind = _media_type(record.http_headers.get_header("Content-Type"))
    else:
        kind = _media_type(record.rec_headers.get_header("Content-Type"))
    identified = _media_type(record.rec_headers.get_header("WARC-Identified-Payload-Type"))
    if (identified or kind) in PAGES:
        return "page"
    return "text" if (identified or kind) in TEXTS else None


def _media_type(header: str | None) -> str:
    return (header or "").partition(";")[0].strip().lower()


def _charset(record: Any) -> str | None:
    headers = record.http_headers or record.rec_headers
    _, found, charset = (headers.get_header("Content-Type") or "").lower().partition("charset=")
    return charset.partition(";")[0].strip() if found else None


def _read(stream: Any) -> bytes:
    """Return the content of a record, up to the length at which it is too long."""
    content = bytearray()
    while len(content) <= LONGEST and (block := stream.read(1 << 16)):
        content += block
    return bytes(content)
