"""Number the words and sentences of a document, to look up the numbers at a place in normalised text."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
SPACE, LINE_END, FULL_STOP, EXCLAMATION, QUESTION, APOSTROPHE = b" \n.!?'"
CLOSING = np.isin(np.arange(256), list(b"\"')]}"))
"""Bytes that may be between the end of a sentence and the following space, at most two."""
TITLES = ("mr", "ms", "mx", "dr", "st", "jr", "sr", "vs", "mrs")
"""Words whose full stop does not end a sentence; nor does that of a single letter ("J. K.", "U.S.", "e.g.")."""


class Numbering:
    """The words and sentences of documents that were normalised together.

    A word is a run of letters, digits, marks and underscores. An apostrophe inside does not divide it: "don't" is one
    word, and "African-American" two. A sentence ends at . ! or ? before a space (with closing quotes and brackets in
    between), at a line end, and at the end of the document, but not after `TITLES` and single letters. A sentence
    without a word does not count. Other abbreviations ("etc.", "Prof.") end sentences here.
    """

    def __init__(self, content: bytearray, words: bytearray):
        """content: result of `normalised_bytes`. words: result of `words_alone` for it."""
        self._content = np.frombuffer(content, np.uint8)
        self._of_word = np.frombuffer(words, np.uint8) != SPACE
        self.edges: Places = np.flatnonzero(self._content == 0)
        """Positions of the zero bytes around n documents, (n + 1,)."""

    @cached_property
    def _rank(self) -> tuple[NDArray[np.uint64], Places]:
        """Return bits that mark where words begin, for 64 positions each, and the number of words before each 64."""
        of_word, apostrophe = self._of_word, self._content == APOSTROPHE
        starts = of_word.copy()
        starts[1:] &= ~of_word[:-1]
        starts[2:] &= ~(apostrophe[1:-1] & of_word[:-2])
        packed = np.packbits(starts, bitorder="little")
        bits = np.zeros(len(starts) // 64 + 1, "<u8")
        bits.view(np.uint8)[: len(packed)] = packed
        before = np.zeros(len(bits), np.int64)
        np.cumsum(np.bitwise_count(bits[:-1]), out=before[1:])
        return bits, before

    def words_before(self, places: Places) -> Places:
        """Return the number of words that begin before each position, across all documents."""
        bits, before = self._rank
        block = places >> 6
        below = (np.uint64(1) << (places & 63).astype(np.uint64)) - np.uint64(1)
        found: Places = before[block] + np.bitwise_count(bits[block] & below)
        return found

    def find_word(self, places: Places) -> Places:
        """Return the number of the word at each place, or of the next word if the place is outside words."""
        inside = self._of_word[places].astype(np.int64)
        words: Places = self.words_before(places + inside) - inside
        return words

    @cached_property
    def sentence_ends(self) -> Places:
        """Return the word after the last one of each sentence, counted across all documents, ascending."""
        content = self._content
        may_end = content == 0
        for sign in (LINE_END, FULL_STOP, EXCLAMATION, QUESTION):
            may_end |= content == sign
        marks = np.flatnonzero(may_end)
        kind = content[marks]
        last = len(content) - 1
        behind = np.minimum(marks + 1, last)
        following = content[behind]
        for _ in range(2):
            closed = np.flatnonzero(CLOSING[following])
            behind[closed] = np.minimum(behind[closed] + 1, last)
            following[closed] = content[behind[closed]]
        ends = (kind <= LINE_END) | (following <= SPACE)
        stops = np.flatnonzero(ends & (kind == FULL_STOP))
        ends[stops] = ~self._is_abbreviation(marks[stops])
        found = self.words_before(marks[ends])
        with_words: Places = found[np.diff(found, prepend=0) > 0]
        return with_words

    def _is_abbreviation(self, stops: Places) -> NDArray[np.bool_]:
        found = np.zeros(len(stops), bool)
        words = np.flatnonzero(self._of_word[stops - 1])  # a stop is never the first byte, which is zero
        before = stops[words]
        longer = self._of_word[before - 2]
        for back in (3, 4):
            longer &= self._of_word[np.maximum(before - back, 0)]
        short = words[~longer]
        found[short] = self._is_title(stops[short])
        return found

    def _is_title(self, stops: Places) -> NDArray[np.bool_]:
        one, two, three, four = (
            np.where(self._of_word[at], self._content[at], SPACE)
            for at in (np.maximum(stops - back, 0) for back in range(1, 5))
        )
        found: NDArray[np.bool_] = (two == SPACE) & (one > ord("9"))
        for title in TITLES:
            if len(title) == 2:
                found |= (three == SPACE) & (two == ord(title[0])) & (one == ord(title[1]))
            else:
                same = (three == ord(title[0])) & (two == ord(title[1])) & (one == ord(title[2]))
                found |= same & (four == SPACE)
        return found
