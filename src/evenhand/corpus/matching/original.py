"""Where a stretch of normalised text stands in the document as it was given."""

import unicodedata
from bisect import bisect_right

import numpy as np

from evenhand.corpus.normalising import (
    folded,
    joined_bytes,
    plainly,
    replacements,
    single_spaces,
    with_replacements,
)


def place_in_original(text: str, start: int, end: int) -> tuple[int, int]:
    """First character, and one past the last, of what became the characters start to end of the normalised text.

    The document is normalised once more, step by step, and the steps are gone back. Marks that became one letter with
    the last character belong to the hit.

    >>> place_in_original("two  Mus\\u00adlim women", 4, 10)
    (5, 12)
    """
    content = joined_bytes([text])
    replaced = [] if content.isascii() else replacements(content)
    spelt = folded(with_replacements(content, replaced))
    kept = single_spaces(spelt)
    stayed = np.arange(len(spelt)) if kept is None else np.flatnonzero(kept)
    characters = stayed[(np.frombuffer(spelt, np.uint8)[stayed] & 0xC0) != 0x80]
    # the zero byte in front is the character -1
    first = _before_replacing(content, replaced, int(characters[start + 1]))
    last = _before_replacing(content, replaced, int(characters[end])) + 1
    while last < len(text) and unicodedata.category(text[last])[0] == "M":
        last += 1
    return first, last


def _before_replacing(content: bytes, replaced: list[tuple[int, int, bytes]], place: int) -> int:
    """The character of the document that a byte comes from."""
    longer = 0  # by how many bytes all before is longer than it was
    for first, last, plain in replaced:
        if place < first + longer:
            break
        within = place - first - longer
        if within < len(plain):
            return _characters(content, first) + _character_of(content[first:last].decode(), within)
        longer += len(plain) - (last - first)
    return _characters(content, place - longer)


def _characters(content: bytes, place: int) -> int:
    return len(content[:place].decode()) - 1  # without the zero byte in front


def _character_of(run: str, place: int) -> int:
    """The character of a run from which the byte at a place of its plain spelling comes.

    Longer beginnings of a run never have shorter plain spellings.
    """
    return bisect_right(range(len(run) + 1), place, key=lambda characters: len(plainly(run[:characters]))) - 1
