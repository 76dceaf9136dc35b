"""Unpack files (.gz, .zst) as a stream of bytes, member by member, with limited memory."""

import zlib
from collections.abc import Iterator
from typing import Any

from evenhand.corpus.reading.documents import Reason
from evenhand.corpus.reading.stores import EXTRA, OpenedFile
from evenhand.schema import DataError

PACKINGS = {".gz": "gzip", ".bgz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
UNPACKED_AT_ONCE = 1 << 18
GZIP_AT_ONCE = 1 << 15
"""Bytes of gzip that are read at a time. Bytes after the end of a member are copied, and crawls have many members."""
FED_AT_ONCE = 1 << 9
"""Bytes of zstd that are unpacked at a time. In the worst case (malicious files), they become 16 MiB."""
LARGEST_WINDOW = 1 << 27
"""Maximum window of zstd in bytes, as for zstd without --long=31."""


class DamagedStream(Exception):
    """A stream is truncated or damaged: a message, and the reason to count it under (None: already counted).

    at: the byte of the stored file up to which it was read; None: up to the requested end.
    """

    def __init__(self, reason: Reason | None, told: str, at: int | None = None):
        super().__init__(told)
        self.reason, self.told, self.at = reason, told, at


def find_compression(address: str) -> str:
    """Return the compression of a file from its suffix; "" for none.

    >>> find_compression("a.json.gz"), find_compression("a.jsonl")
    ('gzip', '')
    """
    path = address.split("?")[0].lower() if address.startswith("http") else address.lower()
    return next((packing for ending, packing in PACKINGS.items() if path.endswith(ending)), "")


def unpack(stored: OpenedFile) -> Iterator[bytes]:
    """Yield the content of a file in blocks, unpacked according to its suffix.

    Raises DamagedStream after the last block that could be unpacked, if the file is truncated or damaged.
    """
    match find_compression(stored.address):
        case "gzip":
            return _gzip(stored)
        case "zstd":
            return _zstd(stored)
        case _:
            return iter(lambda: stored.read(UNPACKED_AT_ONCE), b"")


def _gzip(stored: OpenedFile) -> Iterator[bytes]:
    data = stored.read(GZIP_AT_ONCE)
    while data:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            if not data and not (data := stored.read(GZIP_AT_ONCE)):
                raise DamagedStream(Reason.TRUNCATED, "it ends within a gzip member")
            before = member.copy()
            try:
                block = member.decompress(data, UNPACKED_AT_ONCE)
            except zlib.error as error:
                block, good = _before_damage(before, data)
                if block:
                    yield block
                at = stored.bytes_read - len(data) + good
                raise DamagedStream(Reason.UNREADABLE, f"its gzip is damaged ({error})", at) from error
            data = member.unconsumed_tail
            if block:
                yield block
        data = member.unused_data.lstrip(b"\0")  # padding, which tapes and some programs add
        while not data and (more := stored.read(GZIP_AT_ONCE)):
            data = more.lstrip(b"\0")
        if len(data) == 1:
            data += stored.read(1)
        if data and not data.startswith(b"\x1f\x8b"):
            at = stored.bytes_read - len(data)
            raise DamagedStream(
                Reason.UNREADABLE, "after its last gzip member there is data that is not gzip", at
            )


def _before_damage(member: Any, data: bytes) -> tuple[bytes, int]:
    """Return what can be unpacked before the damage, and from how many bytes."""
    blocks = []
    for place in range(len(data)):
        try:
            blocks.append(member.decompress(data[place : place + 1]))
        except zlib.error:
            return b"".join(blocks), place
    return b"".join(blocks), len(data)


def _zstd(stored: OpenedFile) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise DataError(
            f"{stored.address} is compressed with zstd, which requires the package zstandard.", EXTRA
        ) from error
    unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
    frame, within = unpacker.decompressobj(), False
    gathered: list[bytes] = []
    size = 0
    while data := stored.read(UNPACKED_AT_ONCE):
        for start in range(0, len(data), FED_AT_ONCE):
            fed = data[start : start + FED_AT_ONCE]
            while fed:
                try:
                    block = frame.decompress(fed)
                except zstandard.ZstdError as error:
                    if gathered:
                        yield b"".join(gathered)
                    at = stored.bytes_read - len(data) + start
                    raise DamagedStream(Reason.UNREADABLE, _zstd_damage(str(error)), at) from error
                gathered.append(block)
                size += len(block)
                within, fed = not frame.eof, frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame = unpacker.decompressobj()
            if size >= UNPACKED_AT_ONCE:
                yield b"".join(gathered)
                gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)
    if within:
        raise DamagedStream(Reason.TRUNCATED, "it ends within a zstd frame")


def _zstd_damage(told: str) -> str:
    if "memory" in told:
        return (
            "its zstd needs more memory than 128 MiB to be unpacked; unpack it first: zstd -d --long=31 FILE"
        )
    return f"its zstd is damaged ({told})"
