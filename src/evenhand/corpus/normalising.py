"""How documents and terms are spelt before they are compared: letters folded, punctuation made plain.

One rule for both, so that a term stands in a document exactly where the two spellings agree:

- Unicode is composed (NFC), and letters are case-folded: "ß" as "ss", "İ" as "i".
- A space of any kind and a hyphen (also a no-break or en one) are a space: "African-American" is "African American".
  Runs of them are one. A hyphen between spaces, two hyphens and an em dash are dashes, which part like a comma.
- A line end stays, so that sentences end there, and counts as a space within terms; an empty line parts.
- Soft hyphens, joiners and marks of writing direction vanish ("Mus\\u00adlim" is "muslim"). A zero-width space is a space.
- Curly apostrophes and quotes become straight ones; what else is no letter, digit, mark or underscore becomes a sign
  of ASCII that ends sentences where it does, and is otherwise one and the same.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from evenhand.schema import without_surrogates

LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789_"
OTHER = "\x01"
"""What any sign becomes that is neither a word's nor plain punctuation."""
_SPACES = b" \t\r\v\f\x1c\x1d\x1e\x1f-"
_FOLDED = bytes(
    0 if byte == 0  # parts documents
    else 32 if byte in _SPACES
    else 1 if (byte < 32 and byte != 10) or byte == 127
    else byte + 32 if 65 <= byte <= 90
    else byte
    for byte in range(256)
)  # fmt: skip
_WORDS = bytes(byte if byte in LETTERS or byte >= 128 else 32 for byte in range(256))
_ABOVE_ASCII = re.compile(rb"[\x80-\xff]+")
_LONGEST_KEPT = 24
"""Bytes of a run outside ASCII whose spelling is kept for the next time: curly quotes, an accented letter."""

HYPHENS = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
APOSTROPHES = "\u2018\u2019\u201b\u02bc\u2032\uff07\u00b4"
QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02"
_PLAIN = (
    dict.fromkeys(HYPHENS, "-")
    | dict.fromkeys(APOSTROPHES, "'")
    | dict.fromkeys(QUOTES, '"')
    | dict.fromkeys("\u3002\uff0e\uff61\u2026", ".")
    | dict.fromkeys("\uff01\u203c", "!")
    | dict.fromkeys("\uff1f\u061f\u203d", "?")
    | dict.fromkeys("\u2028\u2029\u0085", "\n")
    | {"\u200b": " ", "\u034f": "", "\u0130": "i"}
    | dict.fromkeys(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))), "")
)


def normalised(text: str) -> str:
    """A text as terms are looked for in it; see this file's rules. Its characters are those that `Hits.start` counts.

    >>> normalised("Afro\\u2010American women\\u2019s  RIGHTS")
    "afro american women's rights"
    """
    return normalised_bytes([text])[1:-1].decode()


def normalised_bytes(texts: Sequence[str]) -> bytes:
    """Documents normalised as one run of UTF-8, a zero byte before, between and behind them and nowhere else.

    All bytes above 127 are of words. Lone surrogates are no characters, and part like punctuation.
    """
    texts = [text if text.isascii() else _composed(text) for text in texts]
    joined = "\0".join(["", *texts, ""])
    if joined.count("\0") != len(texts) + 1:
        joined = "\0".join(["", *(text.replace("\0", OTHER) for text in texts), ""])
    content = joined.encode()
    if len(content) > len(joined) or not joined.isascii():
        content = _ABOVE_ASCII.sub(_plain_run, content)
    return _collapsed(_dashed(content).translate(_FOLDED))


def words_alone(content: bytes) -> bytes:
    """Normalised documents with a space for every byte that is of no word; places stay."""
    return content.translate(_WORDS)


def _composed(text: str) -> str:
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = without_surrogates(text)
    return text


def _plain_run(found: re.Match[bytes]) -> bytes:
    run = found[0]
    return _plain_kept(run) if len(run) <= _LONGEST_KEPT else _plain(run)


def _plain(run: bytes) -> bytes:
    return "".join(map(_plain_character, run.decode())).encode()


_plain_kept = lru_cache(maxsize=1 << 16)(_plain)


@lru_cache(maxsize=1 << 16)
def _plain_character(character: str) -> str:
    plain = _PLAIN.get(character)
    if plain is not None:
        return plain
    category = unicodedata.category(character)
    if character.isalnum() or category[0] == "M":
        return character.casefold()
    if category == "Cf":
        return ""
    return " " if category == "Zs" else OTHER


def _dashed(content: bytes) -> bytes:
    return content.replace(b" - ", b" , ").replace(b"--", b",,")


def _collapsed(content: bytes) -> bytes:
    while b"  " in content:
        content = content.replace(b"  ", b" ")
    content = content.replace(b" \n", b"\n").replace(b"\n ", b"\n")
    while b"\n\n\n" in content:
        content = content.replace(b"\n\n\n", b"\n\n")
    return content
