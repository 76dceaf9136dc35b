"""Where a stretch of normalised text stands in the document as it was given."""

import unicodedata
from bisect import bisect_left, bisect_right

from evenhand.corpus.normalising import normalised


class _NormalisedLengths:
    """How long a document's normalised beginnings are: longer beginnings are never shorter."""

    def __init__(self, text: str):
        self.text = text

    def __len__(self) -> int:
        return len(self.text) + 1

    def __getitem__(self, characters: int) -> int:
        return len(normalised(self.text[:characters]))


def place_in_original(text: str, start: int, end: int) -> tuple[int, int]:
    """First character, and one past the last, of what became the characters start to end of the normalised text.

    The first and the last of them are of words. Takes as long as normalising the text some twenty times, where that
    changes its length.

    >>> place_in_original("two  Mus\\u00adlim women", 4, 10)
    (5, 12)
    """
    if text.isascii() and len(normalised(text)) == len(text):
        return start, end
    lengths = _NormalisedLengths(text)
    first = bisect_right(lengths, start) - 1
    last = bisect_left(lengths, end, lo=first)
    while last < len(text) and unicodedata.category(text[last])[0] == "M":
        last += 1
    return first, last
