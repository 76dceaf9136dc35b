"""Find all terms of a table in documents, in one pass regardless of the number of terms."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.matching.hits import Hits, join_hits
from evenhand.corpus.matching.numbering import Numbering, Places
from evenhand.corpus.matching.original import places_in_originals
from evenhand.corpus.normalising import keep_words, normalise, normalise_bytes
from evenhand.corpus.terms import TermTable
from evenhand.schema import DataError

CORPUS_COMMAND = "pip install 'evenhand[corpus]'"
AT_ONCE = 1 << 18
"""Characters that are searched at a time, unless one document has more."""
SPACE, LINE_END = b" \n"


def automaton(patterns: list[bytes]) -> Any:
    """Return an Aho-Corasick automaton. Raise DataError if the extra `corpus` is not installed."""
    try:
        from ahocorasick_rs import BytesAhoCorasick, Implementation
    except ImportError as error:
        raise DataError(
            "Searching for terms requires the package ahocorasick-rs, which is not installed.", CORPUS_COMMAND
        ) from error
    return BytesAhoCorasick(patterns, implementation=Implementation.DFA)


class Matcher:
    """Finds the terms of a table in documents.

    Use it to examine single hits; `count_batch` counts them.

    Parameters
    ----------
    table : TermTable
        The terms. Each term has one or several surfaces (spellings).

    Raises
    ------
    DataError
        The extra `corpus` of evenhand is not installed.

    Notes
    -----
    A hit is an occurrence of the normalised surface in the normalised document. No letter, digit, mark or underscore
    may be directly before or after it. Normalisation (`normalise`) ignores case, hyphens, and kinds of spaces and
    apostrophes.

    - "he" is not in "the" or "hé".
    - "women" is in "women's", "white" is in "white-collar", and "Muslim" is in "non-Muslim".
    - "African American" is in "African-American", also across a line end, but not in "African, American".

    In text without spaces between words (Chinese, Thai), terms are found only between punctuation. All hits are found,
    including nested and overlapping surfaces, and several terms with the same surface.

    A document is searched as a whole. A document of n bytes needs about 10 n bytes of memory, or 80 n if it consists
    only of hits.

    Examples
    --------
    >>> from evenhand.corpus import build_terms
    >>> table = build_terms(["pronouns"])
    >>> hits = Matcher(table).find(["", "She saw the women's choir."])
    >>> table.surfaces["text"].gather(hits.surface).to_list(), hits.word.tolist()
    (['she', 'women'], [0, 3])
    """

    def __init__(self, table: TermTable):
        """Create a matcher for a table of terms."""
        surfaces = [text.encode() for text in table.surfaces["text"].to_list()]
        words = [bytes(keep_words(bytearray(surface))) for surface in surfaces]
        patterns: dict[bytes, list[int]] = {}
        for row, spelt in enumerate(words):
            patterns.setdefault(b" " + spelt + b" ", []).append(row)
        self.table = table
        self._automaton = automaton(list(patterns)) if patterns else None
        self._lengths = np.array([len(surface) for surface in surfaces], np.int64)
        self._longest = int(self._lengths.max(initial=0))
        self._characters = np.array([len(surface.decode()) for surface in surfaces], np.int64)
        self._parted = np.array([b" " in spelt for spelt in words], bool)
        self._text = np.frombuffer(b"".join(surfaces), np.uint8)
        self._text_from = np.concatenate([[0], np.cumsum(self._lengths)[:-1]]) if surfaces else self._lengths
        self._rows = np.array(list(chain.from_iterable(patterns.values())), np.int64)
        self._shared_by = np.array([len(rows) for rows in patterns.values()], np.int64)
        self._rows_from = np.cumsum(self._shared_by) - self._shared_by

    def normalise(self, text: str) -> str:
        """Return a document in the normalised form in which `Hits.start` counts characters."""
        return normalise(text)

    def originals(
        self, texts: Sequence[str], starts: Sequence[int], surfaces: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Return the first character of each hit in its original document, and the first one after it.

        `texts` are the documents of the hits. `starts` and `surfaces` are from `find` for these documents.
        """
        ends = [start + int(self._characters[row]) for start, row in zip(starts, surfaces, strict=True)]
        return list(
            chain.from_iterable(
                places_in_originals(texts[first:last], starts[first:last], ends[first:last])
                for first, last in _in_parts(texts)
            )
        )

    def find(self, texts: Sequence[str]) -> Hits:
        """Return all occurrences of terms (hits) in some documents.

        `texts` may be empty, or contain zero bytes or lone surrogates. A term cannot include such characters.
        """
        return join_hits([self._find(texts[first:last]) for first, last in _in_parts(texts)])

    def _find(self, texts: Sequence[str]) -> Hits:
        content = normalise_bytes(texts)
        words = keep_words(content)
        numbering = Numbering(content, words)
        surface, start, end = self._hits(content, words)
        edges = numbering.edges
        document = np.searchsorted(edges, start) - 1
        of_word = numbering.find_word(start)
        first_word = numbering.words_before(edges)
        first_sentence = np.searchsorted(numbering.sentence_ends, first_word, side="right")
        sentence = np.searchsorted(numbering.sentence_ends, of_word, side="right")
        return Hits(
            document=document.astype(np.int32),
            surface=surface.astype(np.int32),
            start=_characters_between(content, edges[document] + 1, start),
            nested=_nested(start, end),
            sentence=(sentence - first_sentence[document]).astype(np.int32),
            word=(of_word - first_word[document]).astype(np.int32),
            words=np.diff(first_word),
            sentences=np.diff(first_sentence),
        )

    def _hits(self, content: bytearray, words: bytearray) -> tuple[Places, Places, Places]:
        """Return surface, first byte and byte after the last of each hit, by first byte, longer hits first."""
        found = self._automaton.find_matches_as_indexes(words, overlapping=True) if self._automaton else []
        flat = np.fromiter(chain.from_iterable(found), np.int64, 3 * len(found)).reshape(-1, 3)
        pattern, start = flat[:, 0], flat[:, 1] + 1
        shared = self._shared_by[pattern]
        if len(pattern) and shared.max() > 1:
            each = np.arange(shared.sum()) - np.repeat(np.cumsum(shared) - shared, shared)
            surface = self._rows[np.repeat(self._rows_from[pattern], shared) + each]
            start = np.repeat(start, shared)
        else:
            surface = self._rows[self._rows_from[pattern]]
        kept = self._agrees(np.frombuffer(content, np.uint8), surface, start)
        surface, start = surface[kept], start[kept]
        length = self._lengths[surface]
        # surfaces at the same place are in the order of their rows, which a stable sort keeps
        order = np.argsort(start * (self._longest + 1) - length, kind="stable")
        return surface[order], start[order], (start + length)[order]

    def _agrees(self, content: NDArray[np.uint8], surface: Places, start: Places) -> NDArray[np.bool_]:
        """Return whether the document has the same characters between the words of a surface."""
        kept = np.ones(len(surface), bool)
        parted = np.flatnonzero(self._parted[surface])
        if not len(parted):
            return kept
        lengths = self._lengths[surface[parted]]
        begins = np.cumsum(lengths) - lengths
        within = np.arange(lengths.sum()) - np.repeat(begins, lengths)
        there = content[np.repeat(start[parted], lengths) + within]
        there = np.where(there == LINE_END, SPACE, there)
        meant = self._text[np.repeat(self._text_from[surface[parted]], lengths) + within]
        kept[parted] = np.logical_and.reduceat(there == meant, begins)
        return kept


def _in_parts(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of documents that are searched at a time; each has about as many bytes as a CPU cache."""
    size = np.cumsum([len(text) for text in texts])
    if not texts:
        yield 0, 0
    first = 0
    while first < len(texts):
        so_far = size[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(size, so_far + AT_ONCE)))
        yield first, last
        first = last


def _nested(start: Places, end: Places) -> NDArray[np.bool_]:
    """Return whether each hit is within a longer one. Hits are sorted by start, longer ones first."""
    if not len(start):
        return np.zeros(0, bool)
    new = np.ones(len(start), bool)  # hits at the same place, of terms with the same spelling, are not nested
    new[1:] = (start[1:] != start[:-1]) | (end[1:] != end[:-1])
    spans = end[new]
    reached = np.maximum.accumulate(spans)
    within = np.zeros(len(spans), bool)
    within[1:] = reached[:-1] >= spans[1:]
    nested: NDArray[np.bool_] = within[np.cumsum(new) - 1]
    return nested


def _characters_between(content: bytearray, first: Places, last: Places) -> Places:
    if content.isascii():
        return last - first
    continued = np.flatnonzero((np.frombuffer(content, np.uint8) & 0xC0) == 0x80)
    return last - first - (np.searchsorted(continued, last) - np.searchsorted(continued, first))
