"""Which word and which sentence of its document a place of normalised text lies in."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
FULL_STOP, EXCLAMATION, QUESTION, LINE_END = b".!?\n"
APOSTROPHE, SPACE = b"' "
CLOSING = np.isin(np.arange(256), list(b"\"')]}"))
"""Bytes that may stand between the end of a sentence and the space behind it."""
TITLES = ("mr", "ms", "mx", "dr", "st", "jr", "sr", "vs", "mrs")
"""Words whose full stop ends no sentence; nor does one behind a single letter ("J. K.", "U.S.", "e.g.")."""


def _code(word: str) -> int:
    """Up to three letters behind what is no letter, as one number."""
    return int.from_bytes(word.encode().rjust(3, b" ")[-3:], "big")


_SHORT = np.array(sorted(_code(word) for word in TITLES))


class Numbering:
    """The words and sentences of documents that were normalised together.

    A word is a run of letters, digits, marks and underscores; an apostrophe between two does not part it ("don't" is
    one, "African-American" two). A sentence ends at . ! or ? with a space behind it (closing quotes and brackets may
    stand between), at a line end, and at the document's; not behind `TITLES` and single letters. One without a word is
    none. Other abbreviations ("etc.", "Prof.") end sentences here.
    """

    def __init__(self, content: bytes, words: bytes):
        """content: as `normalised_bytes` gives it. words: the same, of `words_alone`."""
        self._content = np.frombuffer(content, np.uint8)
        self._of_word = np.frombuffer(words, np.uint8) != SPACE
        self.edges: Places = np.flatnonzero(self._content == 0)
        """(n + 1,) the zero bytes around n documents."""

    @cached_property
    def _rank(self) -> tuple[NDArray[np.uint64], Places]:
        of_word, apostrophe = self._of_word, self._content == APOSTROPHE
        starts = of_word.copy()
        starts[1:] &= ~of_word[:-1]
        starts[2:] &= ~(apostrophe[1:-1] & of_word[:-2])
        packed = np.packbits(starts, bitorder="little")
        blocks = np.zeros(len(starts) // 64 + 1, "<u8")
        blocks.view(np.uint8)[: len(packed)] = packed
        before = np.zeros(len(blocks), np.int64)
        np.cumsum(np.bitwise_count(blocks[:-1]), out=before[1:])
        return blocks, before

    def words_before(self, places: Places) -> Places:
        """How many words begin before each place, all documents counted through."""
        blocks, before = self._rank
        block = places >> 6
        below = (np.uint64(1) << (places & 63).astype(np.uint64)) - np.uint64(1)
        found: Places = before[block] + np.bitwise_count(blocks[block] & below)
        return found

    def word_at(self, places: Places) -> Places:
        """The word that each place lies in; of a place outside words the one that follows. Counted through."""
        inside = self._of_word[places]
        return self.words_before(places + inside) - inside

    @cached_property
    def sentence_ends(self) -> Places:
        """For each sentence one past its last word, all counted through, rising."""
        content = self._content
        stop = content == FULL_STOP
        marks = np.flatnonzero(stop | (content == EXCLAMATION) | (content == QUESTION))
        last = len(content) - 1
        behind = marks + 1
        for _ in range(2):
            behind = np.where(CLOSING[content[behind]], np.minimum(behind + 1, last), behind)
        marks = marks[(content[behind] <= SPACE) & ~(stop[marks] & self._abbreviated(marks))]
        hard = np.flatnonzero((content == LINE_END) | (content == 0))
        ends = np.unique(self.words_before(np.concatenate([marks, hard])))
        return ends[ends > 0]

    def _abbreviated(self, marks: Places) -> NDArray[np.bool_]:
        one, two, three, four = (
            np.where(self._of_word[at], self._content[at], SPACE).astype(np.int64)
            for at in (np.maximum(marks - back, 0) for back in range(1, 5))
        )
        letter = (one != SPACE) & (two == SPACE) & (one > ord("9"))
        code = (three << 16) | (two << 8) | one
        short = np.isin(code, _SHORT) & ((three == SPACE) | (four == SPACE))
        return letter | short

    def of_documents(self) -> tuple[Places, Places]:
        """(n,) words and (n,) sentences of each document."""
        words = self.words_before(self.edges)
        return np.diff(words), np.diff(np.searchsorted(self.sentence_ends, words, side="right"))
