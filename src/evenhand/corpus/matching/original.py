"""Map spans of normalised text to the original documents."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from evenhand.corpus.normalising import (
    GONE,
    apply_replacements,
    find_replacements,
    fold_case_and_hyphens,
    join_texts,
    reduce_spaces,
    spell_plainly,
)


def places_in_originals(
    texts: Sequence[str], starts: Sequence[int], ends: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the spans in the original documents that correspond to spans in the normalised documents.

    All documents are normalised again to map positions back. Combining marks after the last character belong to the
    span.

    texts: original documents. starts, ends: for each document, the first character of a span of its normalised text,
    and the one after its last. Returns (start, end) in the original document, in the same convention.

    >>> places_in_originals(["two  Mus\\u00adlim women", "(he)"], [4, 1], [10, 3])
    [(5, 12), (1, 3)]
    """
    content = join_texts(texts)
    origin = _Origin(content, [] if content.isascii() else find_replacements(content))
    spelt = fold_case_and_hyphens(apply_replacements(content, origin.replaced))
    reduce_spaces(spelt)
    array = np.frombuffer(spelt, np.uint8)
    characters = np.flatnonzero(((array & 0xC0) != 0x80) & (array != GONE[0]))
    # the zero byte before a document counts as its character -1
    edges = np.flatnonzero(array[characters] == 0)[:-1]
    zeros = np.flatnonzero(np.frombuffer(content, np.uint8) == 0)[:-1].tolist()
    firsts = characters[edges + 1 + np.array(starts, np.int64)].tolist()
    lasts = characters[edges + np.array(ends, np.int64)].tolist()
    found = []
    for text, zero, first, last in zip(texts, zeros, firsts, lasts, strict=True):
        behind = origin.character(zero, last) + 1
        while behind < len(text) and unicodedata.category(text[behind])[0] == "M":
            behind += 1
        found.append((origin.character(zero, first), behind))
    return found


class _Origin:
    """Origin of bytes in joined documents whose non-ASCII stretches were replaced by their plain spelling."""

    def __init__(self, content: bytes, replaced: list[tuple[int, int, bytes]]):
        self.content, self.replaced = content, replaced
        self._begun: list[int] = []
        """Start of the replacement of each stretch."""
        longer = 0
        for first, last, plain in replaced:
            self._begun.append(first + longer)
            longer += len(plain) - (last - first)

    def character(self, zero: int, place: int) -> int:
        """Return the character of a document from which a byte comes. zero: the byte before
        the document, before replacing.
        """
        stretch = bisect_right(self._begun, place) - 1
        if stretch >= 0:
            first, last, plain = self.replaced[stretch]
            within = place - self._begun[stretch]
            if within < len(plain):
                return self._characters(zero, first) + _find_character(
                    self.content[first:last].decode(), within
                )
            place = last + within - len(plain)
        return self._characters(zero, place)

    def _characters(self, zero: int, place: int) -> int:
        return len(self.content[zero:place].decode()) - 1


def _find_character(run: str, place: int) -> int:
    """Return the character of a run from which the byte at a position of its plain spelling comes.

    It relies on longer beginnings of a run never having shorter plain spellings.
    """
    return (
        bisect_right(range(len(run) + 1), place, key=lambda characters: len(spell_plainly(run[:characters])))
        - 1
    )
