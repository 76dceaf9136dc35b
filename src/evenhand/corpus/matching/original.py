"""Where a stretch of normalised text stands in the document as it was given."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from evenhand.corpus.normalising import normalised, normalised_bytes

PART = 64
"""Characters of a part of a document, at least."""
BETWEEN_LETTERS = re.compile("[A-Za-z](?=[A-Za-z])")
"""Where a document can be parted: its parts, normalised one by one, are the document normalised."""
LONGEST = 1 << 10
"""Characters of a part of which all beginnings are normalised at once; of a longer one (Chinese), some."""


class _NormalisedLengths:
    """How long a text's normalised beginnings are: longer beginnings are never shorter."""

    def __init__(self, text: str):
        self.text = text

    def __len__(self) -> int:
        return len(self.text) + 1

    def __getitem__(self, characters: int) -> int:
        return len(normalised(self.text[:characters]))


def place_in_original(text: str, start: int, end: int) -> tuple[int, int]:
    """First character, and one past the last, of what became the characters start to end of the normalised text.

    The first and the last of them are of words. Takes as long as normalising the text once or twice.

    >>> place_in_original("two  Mus\\u00adlim women", 4, 10)
    (5, 12)
    """
    if text.isascii() and len(normalised(text)) == len(text):
        return start, end
    parts = _parts(text)
    lengths = _lengths(parts)
    before = list(accumulate(map(len, parts), initial=0))
    normal_before = list(accumulate(lengths, initial=0))
    one = min(bisect_right(normal_before, start) - 1, len(parts) - 1)
    beginnings = _beginnings(parts[one], lengths[one])
    first = before[one] + bisect_right(beginnings, start - normal_before[one]) - 1
    other = max(bisect_left(normal_before, end) - 1, 0)
    if other != one:
        beginnings = _beginnings(parts[other], lengths[other])
    last = before[other] + bisect_left(beginnings, end - normal_before[other])
    while last < len(text) and unicodedata.category(text[last])[0] == "M":
        last += 1
    return first, last


def _parts(text: str) -> list[str]:
    parts, done = [], 0
    while found := BETWEEN_LETTERS.search(text, done + PART):
        parts.append(text[done : found.end()])
        done = found.end()
    return [*parts, text[done:]]


def _beginnings(part: str, length: int) -> Sequence[int]:
    """How long the first 0, 1, ... characters of a text are when they are normalised; length: of it normalised."""
    if length == len(part) and part.isascii():
        return range(length + 1)
    if len(part) > LONGEST:
        return _NormalisedLengths(part)  # type: ignore[return-value]  # all that bisecting asks of a sequence
    return _lengths([part[:characters] for characters in range(len(part) + 1)])


def _lengths(texts: Sequence[str]) -> list[int]:
    return [len(each.decode()) for each in bytes(normalised_bytes(texts)[1:-1]).split(b"\0")]
