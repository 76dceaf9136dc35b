"""Read the members of one large JSON object one at a time, with little memory."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from evenhand.schema import DataError

PIECE = 1 << 20
MOST_CHARACTERS = 1 << 26
"""Maximum length of one value, and of the white space before it."""
SPACE = re.compile(r"[ \t\n\r]*")


def json_members(handle: BinaryIO, name: str, expected: str) -> Iterator[tuple[str, Any]]:
    """Yield each key and value of the JSON object in a UTF-8 file, in order.

    handle: file, which is read forwards, a megabyte at a time. name: of the file, for messages. expected: description
    of the expected content. Raises DataError for invalid UTF-8, for something other than an object, and for a file that
    is truncated or continues after the object.

    >>> import io
    >>> list(json_members(io.BytesIO(b'{"a": [1], "b": {}}'), "x.json", ""))
    [('a', [1]), ('b', {})]
    """
    text = _JsonReader(handle, name, expected)
    text.take("{", "it does not begin with an object")
    if text.next() == "}":
        text.at += 1
    else:
        while True:
            key = text.value()
            if not isinstance(key, str):
                raise text.wrong(f"the key {key!r} is not a text")
            text.take(":", f"no colon follows {key!r}")
            yield key, text.value()
            if text.next() == "}":
                text.at += 1
                break
            text.take(",", f"no comma follows the value of {key!r}")
    if text.next():
        raise text.wrong("there is text after the end of the object")


class _JsonReader:
    """Characters of a file that were read and not yet used."""

    def __init__(self, handle: BinaryIO, name: str, expected: str):
        self.handle, self.name, self.expected = handle, name, expected
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.reader = json.JSONDecoder()
        self.buffer, self.at, self.ended = "", 0, False

    def wrong(self, what: str) -> DataError:
        return DataError(f"{self.name} is not the expected file: {what}.", self.expected)

    def next(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        blank = 0
        while True:
            self.at = SPACE.match(self.buffer, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.buffer):
                return self.buffer[self.at]
            if self.ended:
                return ""
            blank += len(self.buffer)
            if blank > MOST_CHARACTERS:
                raise self.wrong(
                    f"it contains more than {MOST_CHARACTERS / 1000000.0:.0f} million blanks in a row"
                )
            self.more()

    def take(self, character: str, otherwise: str) -> None:
        found = self.next()
        if found != character:
            raise self.truncated_error() if not found else self.wrong(otherwise)
        self.at += 1

    def value(self) -> Any:
        if not self.next():
            raise self.truncated_error()
        read = 1
        while True:
            try:
                value, end = self.reader.raw_decode(self.buffer, self.at)
            except RecursionError as error:
                raise self.wrong("it is nested too deeply") from error
            except ValueError as error:
                if self.ended:
                    raise self.truncated_error() from error
            else:
                # a number may continue in the next piece
                if end < len(self.buffer) or self.ended:
                    self.at = end
                    return value
            if len(self.buffer) - self.at > MOST_CHARACTERS:
                raise self.wrong(
                    f"a single value has more than {MOST_CHARACTERS / 1e6:.0f} million characters"
                )
            for _ in range(read):
                self.more()
            read *= 2

    def truncated_error(self) -> DataError:
        return self.wrong(
            "it ends within the object, or is not valid JSON at that position; it may be incomplete"
        )

    def more(self) -> None:
        piece = self.handle.read(PIECE)
        self.ended = not piece
        try:
            text = self.decoder.decode(piece, final=self.ended)
        except UnicodeDecodeError as error:
            raise self.wrong(f"it contains bytes that are not UTF-8 ({error.reason})") from error
        self.buffer, self.at = self.buffer[self.at :] + text, 0
