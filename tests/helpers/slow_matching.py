"""What the matcher must find, by regular expressions and loops: each rule written a second time, slowly."""

import re
import unicodedata
from typing import NamedTuple

import polars as pl

from evenhand.corpus.terms import SURFACE_COLUMNS, TERM_COLUMNS, TermTable

WORD = "[a-z0-9_\u0080-\U0010ffff]"
INSTEAD = {
    **dict.fromkeys("‐‑‒–−", "-"),
    **dict.fromkeys("‘’ʼ′", "'"),
    **dict.fromkeys("“”«»„", '"'),
    "…": ".",
    "。": ".",
    "؟": "?",
    "\u2028": "\n",
    "\u200b": " ",
    "İ": "i",
    "\u034f": "",
}
SENTENCE_END = re.compile(r"""\n|[.!?](?=["')\]}]{0,2}(?:[ \n\x01]|$))""")
ABBREVIATED = re.compile(rf"(?<!{WORD})(?:[a-z_]|mr|ms|mx|dr|st|jr|sr|vs|mrs)$")


class Hit(NamedTuple):
    document: int
    start: int
    surface: int
    nested: bool
    sentence: int
    word: int


def slow_normalised(text: str) -> str:
    text = re.sub("[\ud800-\udfff]", "\ufffd", text).replace("\0", "\1")
    text = "".join(map(_plain, unicodedata.normalize("NFC", text)))
    text = re.sub("-{2,}", lambda found: "," * len(found[0]), text)
    text = re.sub(r"(?<=[ \n])-(?=[ \n])", ",", text).replace("-", " ")
    return re.sub(r"[ \n]+", lambda found: ("\n" * min(found[0].count("\n"), 2)) or " ", text)


def _plain(character: str) -> str:
    if character in INSTEAD:
        return INSTEAD[character]
    if 0xFE00 <= ord(character) < 0xFE10 or unicodedata.category(character) == "Cf":
        return ""
    if character == "\n" or (character.isascii() and character.isprintable()):
        return character.lower()
    if re.match(r"\w", character) or unicodedata.category(character).startswith("M"):
        return character.casefold()
    return " " if character.isspace() and character != "\x85" else "\n" if character == "\x85" else "\x01"


def slow_hits(table: TermTable, texts: list[str]) -> list[Hit]:
    """All hits, by document, start, longest first, surface."""
    found = []
    for document, text in enumerate(map(slow_normalised, texts)):
        spans = []
        for surface, spelt in enumerate(table.surfaces["text"]):
            literal = "[ \n]".join(map(re.escape, spelt.split(" ")))
            places = re.finditer(rf"(?<!{WORD})(?={literal}(?!{WORD}))", text)
            spans += [(place.start(), -len(spelt), surface) for place in places]
        spans.sort()
        words, ends = slow_words(text), slow_sentence_ends(text)
        for start, minus, surface in spans:
            nested = any(
                first <= start and start - minus <= first - less and less < minus for first, less, _ in spans
            )
            word = sum(last <= start for _, last in words)
            sentence = sum(end <= word for end in ends)
            found.append(Hit(document, start, surface, nested, sentence, word))
    return found


def slow_words(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in re.finditer(rf"{WORD}+(?:'{WORD}+)*", text)]


def slow_sentence_ends(text: str) -> list[int]:
    """One past the last word of each sentence that has one."""
    words = slow_words(text)
    ends = [0]
    for mark in [*SENTENCE_END.finditer(text), None]:
        place = len(text) if mark is None else mark.start()
        if mark is not None and mark[0] == "." and ABBREVIATED.search(text[max(place - 4, 0) : place]):
            continue
        behind = sum(first < place for first, _ in words)
        if behind > ends[-1]:
            ends.append(behind)
    return ends[1:]


def table_of(*surfaces: str) -> TermTable:
    """A table with a term for each surface, which must be normalised."""
    terms = [(i, text, "descriptor", "axis", None, "test", False) for i, text in enumerate(surfaces)]
    spelt = [(i, i, text, False) for i, text in enumerate(surfaces)]
    return TermTable(
        pl.DataFrame(terms, schema=TERM_COLUMNS, orient="row"),
        pl.DataFrame(spelt, schema=SURFACE_COLUMNS, orient="row"),
    )
