"""A complete response of a service: its size is limited, and at most one layer of gzip is unpacked."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.schema import ResponseError

LARGEST = 16 << 20  # bytes of a response; larger ones would fill the memory
GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class Response:
    """A complete, unpacked response."""

    status: int
    headers: Mapping[str, str]  # lower-case names
    content: bytes


class LostResponse(Exception):
    """No response, or an unreadable one.

    error, detail: for the Answer. connected: whether a connection was established. passing: whether a retry may help.
    """

    def __init__(self, error: ResponseError, detail: str, *, connected: bool = True, passing: bool = True):
        super().__init__(detail)
        self.error, self.detail, self.connected, self.passing = error, detail, connected, passing


def too_large(largest: int) -> LostResponse:
    shown = f"{largest >> 20} MiB" if largest >= 1 << 20 else f"{largest >> 10} KiB"
    lost = f"the answer is larger than {shown}"
    return LostResponse(ResponseError.MODEL_ERROR, lost, passing=False)


def unpack_response(response: Response, largest: int) -> bytes:
    """Return the content after unpacking one layer of gzip, the only encoding that was requested."""
    packed = response.headers.get("content-encoding", "").strip().lower()
    if packed in ("", "identity") or not response.content:
        return response.content
    if packed not in ("gzip", "x-gzip"):
        lost = f"the answer is packed as {packed[:100]!r}, and at most one layer of gzip was asked for"
        raise LostResponse(ResponseError.MODEL_ERROR, lost, passing=False)
    unpacking = zlib.decompressobj(GZIP)
    try:
        content = unpacking.decompress(response.content, largest + 1)
    except zlib.error as error:
        raise LostResponse(
            ResponseError.MODEL_ERROR, f"the response is not gzip, although its header declares gzip: {error}"
        ) from error
    if len(content) > largest:
        raise too_large(largest)
    if not unpacking.eof:
        raise LostResponse(ResponseError.MODEL_ERROR, "the gzip response is incomplete")
    return content
