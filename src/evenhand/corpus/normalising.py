"""Normalise documents and terms before they are compared: fold letters and simplify punctuation.

The same rules apply to both, so a term is in a document exactly where the normalised spellings match:

- Unicode is composed (NFC), and letters are case-folded: "ß" as "ss", "İ" as "i".
- All spaces and hyphens (also no-break hyphens and en dashes) become a space: "African-American" is "African
  American". A hyphen with a space on both sides, several hyphens and an em dash are dashes, which separate like a
  comma.
- Several spaces become one. A line end is kept, so that sentences end there; within a term it counts as a space. An
  empty line separates.
- Soft hyphens, joiners and direction marks are removed ("Mus\\u00adlim" is "muslim"). A zero-width space is a space.
- Curly apostrophes and quotes become straight ones. All other characters except letters, digits, marks and underscores
  become . ! or ? if they have that meaning, and otherwise `OTHER`.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import without_surrogates

OTHER = "\x01"
"""Replacement of any sign that belongs neither to words nor to plain punctuation."""
GONE = b"\xff"
"""Placeholder for a removed byte; it occurs in no UTF-8 text."""
SPACE, LINE_END, HYPHEN, COMMA = b" \n-,"
_OF_WORDS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_")
_SPACES = frozenset(b" \t\r\v\f\x1c\x1d\x1e\x1f")


def _fold_byte(byte: int) -> int:
    if byte in _SPACES:
        return SPACE
    if byte == 127 or (0 < byte < SPACE and byte != LINE_END):
        return ord(OTHER)
    return byte + 32 if ord("A") <= byte <= ord("Z") else byte


_FOLDED = bytes(map(_fold_byte, range(256)))
_WORDS_ALONE = bytes(byte if byte in _OF_WORDS or byte >= 128 else SPACE for byte in range(256))
_PLAIN = (
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-")
    | dict.fromkeys("\u2018\u2019\u201b\u02bc\u2032\uff07\u00b4", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02", '"')
    | dict.fromkeys("\u2026\u3002\uff0e\uff61", ".")
    | dict.fromkeys("\u203c\uff01", "!")
    | dict.fromkeys("\u061f\u203d\uff1f", "?")
    | dict.fromkeys("\u0085\u2028\u2029", "\n")
    | {"\u200b": " ", "\u0130": "i"}
    | dict.fromkeys(map(chr, (0x034F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))), "")
)
"""Replacements of non-ASCII signs; marks that only select a glyph are removed."""
_LONGEST_KEPT = 24
"""Maximum length in bytes of a non-ASCII run whose plain spelling is cached: curly quotes, an accented letter."""


def normalise(text: str) -> str:
    """Return a text in the form in which terms are searched: lower case, with simple punctuation.

    Use it to see why a term is or is not found. The rules are described in `evenhand.corpus.normalising`.

    Parameters
    ----------
    text : str
        A document or a term.

    Returns
    -------
    str
        The normalised text. `Hits.start` counts its characters.

    Examples
    --------
    >>> normalise("Afro\\u2010American women\\u2019s  RIGHTS")
    "afro american women's rights"
    """
    return bytes(normalise_bytes([text])[1:-1]).decode()


def normalise_bytes(texts: Sequence[str]) -> bytearray:
    """Return normalised documents, joined as UTF-8. Zero bytes occur only before, between and after the documents.

    All bytes above 127 belong to words. Zero bytes and lone surrogates in documents separate words like punctuation.
    """
    content = join_texts(texts)
    spelt = fold_case_and_hyphens(
        content if content.isascii() else apply_replacements(content, find_replacements(content))
    )
    return spelt.translate(None, GONE) if reduce_spaces(spelt) else spelt


def keep_words(content: bytearray) -> bytearray:
    """Return normalised documents with spaces in place of all bytes outside words; positions do not change."""
    return content.translate(_WORDS_ALONE)


def join_texts(texts: Sequence[str]) -> bytes:
    """Return documents, joined as UTF-8. Zero bytes occur only before, between and after the documents."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError:
        encoded = [without_surrogates(text).encode() for text in texts]
    content = b"\0".join([b"", *encoded, b""])
    if np.count_nonzero(np.frombuffer(content, np.uint8) == 0) > len(encoded) + 1:
        content = b"\0".join([b"", *(each.replace(b"\0", OTHER.encode()) for each in encoded), b""])
    return content


def find_replacements(content: bytes) -> list[tuple[int, int, bytes]]:
    """Return the runs of non-ASCII bytes in joined documents, with their plain spelling.

    Each result is (first byte, byte after the last, plain spelling). The spelling is composed (NFC) and case-folded.
    """
    beyond = np.frombuffer(content, np.uint8) >= 128  # never the first or the last byte, which are zero
    edges = np.flatnonzero(beyond[1:] != beyond[:-1]) + 1
    found = []
    for first, last in edges.reshape(-1, 2).tolist():
        run = content[first:last]
        plain = _plain_kept(run) if len(run) <= _LONGEST_KEPT else _find_plain_spelling(run)
        if plain is None:  # it begins with a mark that may combine with the character before it
            first -= 1
            plain = spell_plainly(content[first:last].decode())
        found.append((first, last, plain))
    return found


def apply_replacements(content: bytes, replaced: list[tuple[int, int, bytes]]) -> bytes:
    """Return joined documents with plain spellings in place of the stretches."""
    pieces: list[bytes] = []
    done = 0
    for first, last, plain in replaced:
        pieces += content[done:first], plain
        done = last
    pieces.append(content[done:])
    return b"".join(pieces)


def _find_plain_spelling(run: bytes) -> bytes | None:
    text = run.decode()
    return None if unicodedata.category(text[0])[0] == "M" else spell_plainly(text)


_plain_kept = lru_cache(maxsize=1 << 16)(_find_plain_spelling)


def spell_plainly(text: str) -> bytes:
    """Return the plain spelling of a stretch of text."""
    return "".join(map(_plain_character, unicodedata.normalize("NFC", text))).encode()


@lru_cache(maxsize=1 << 16)
def _plain_character(character: str) -> str:
    plain = _PLAIN.get(character)
    if plain is not None or character.isascii():
        return character if plain is None else plain
    category = unicodedata.category(character)
    if character.isalnum() or category[0] == "M":
        return character.casefold()
    if category == "Cf":
        return ""
    return " " if category == "Zs" else OTHER


def fold_case_and_hyphens(content: bytes) -> bytearray:
    """Return joined documents in lower case, without hyphens.

    A hyphen that is part of a dash (next to another hyphen, or between spaces or line ends) becomes a comma. Other
    hyphens become spaces.
    """
    spelt = bytearray(content).translate(_FOLDED)
    array = np.frombuffer(spelt, np.uint8)
    hyphens = np.flatnonzero(array == HYPHEN)
    before, behind = array[hyphens - 1], array[hyphens + 1]
    dash = (before == HYPHEN) | (behind == HYPHEN) | (_is_gap(before) & _is_gap(behind))
    array[hyphens] = np.where(dash, COMMA, SPACE)
    return spelt


def reduce_spaces(spelt: bytearray) -> bool:
    """Reduce runs of spaces and line ends in place, and return True if there are superfluous bytes.

    A run becomes one space if it has no line end, one line end if it has one, and two line ends if it has several. The
    superfluous bytes are set to `GONE`.
    """
    content = np.frombuffer(spelt, np.uint8)
    gap = _is_gap(content)
    seconds = np.flatnonzero(gap[1:] & gap[:-1]) + 1  # all bytes of a run except the first
    if not len(seconds):
        return False
    new = np.ones(len(seconds), bool)
    new[1:] = seconds[1:] != seconds[:-1] + 1
    firsts = seconds[new] - 1
    line_ends = np.add.reduceat(content[seconds] == LINE_END, np.flatnonzero(new), dtype=np.int64)
    line_ends += content[firsts] == LINE_END
    content[firsts[line_ends > 0]] = LINE_END
    parting = firsts[line_ends > 1] + 1
    content[seconds] = GONE[0]
    content[parting] = LINE_END
    return len(parting) < len(seconds)


def _is_gap(content: NDArray[np.uint8]) -> NDArray[np.bool_]:
    gap: NDArray[np.bool_] = (content == SPACE) | (content == LINE_END)
    return gap
