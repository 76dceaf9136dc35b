"""What is left alone in a text: code, addresses, protected spans, names of works, and speech in quotation marks.

Each kind has a mark without which it cannot be there; texts without the mark, which are most, are not searched.
"""

import re
from collections.abc import Iterator

_ELISION = r"(?:s|t|re|ve|ll|d|m|em|n|tis|twas|til|cause|bout|\d+s?)\b"
ALWAYS = tuple(
    (mark, re.compile(pattern, flags))
    for mark, pattern, flags in (
        ("{{", r"\{\{.*?\}\}", re.DOTALL),
        ("```", r"```.*?(?:```|\Z)", re.DOTALL),
        ("`", r"`[^`\n]+`", 0),
        ("<", r"<(code|pre|cite|i|em|script|style)\b[^>]*>.*?</\1>|</?[a-zA-Z][^<>\n]*>", re.DOTALL),
        ("://", r"\b[a-zA-Z][\w+.-]*://[^\s<>\"']+", 0),
        ("www.", r"\bwww\.[^\s<>\"']+", 0),
        ("#", r"#\w+", 0),
        # names of works in italics: more than a stressed word, so that a capital begins them
        ("*", r"(?<![\w*])(\*{1,2})(?=[A-Z])[^*\n]*[^*\s]\1(?![\w*])", 0),
        ("_", r"(?<!\w)_(?=[A-Z])[^_\n]*[^_\s]_(?!\w)", 0),
    )
)
DOMAIN = re.compile(r"@\w[\w.-]*")
QUOTES = tuple(
    (mark, re.compile(pattern))
    for mark, pattern in (
        ('"', r'"[^"\n]*"|(?<![\w"])"(?=\w)[^"\n]*\Z'),  # one that is not closed lasts to the end
        ("“", r"(?<![\w.,!?])“[^“”\n]*(?:”|\Z)"),
        ("„", r"„[^„“”\n]*[“”]"),
        ("«", r"«[^«»\n]*»"),
        ("‘", r"‘[^‘\n]*?’(?!\w)"),
        ("'", rf"(?<![\w'])'(?!{_ELISION})(?=\w)(?:[^'\n]|'(?=\w))*?[^\s']'(?!\w)"),
    )
)


def protected_spans(text: str, quotes: bool) -> list[tuple[int, int]]:
    """The places (start, end) of a text that are left alone, in order, overlaps merged.

    quotes: whether what stands in quotation marks is left alone, too.

    >>> protected_spans("Run `her.py`, she said.", quotes=True)
    [(4, 12)]
    """
    kinds = ALWAYS + QUOTES if quotes else ALWAYS
    found = [match.span() for mark, pattern in kinds if mark in text for match in pattern.finditer(text)]
    found += _addresses(text) if "@" in text else ()
    found.sort()
    merged: list[tuple[int, int]] = []
    for start, end in found:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    """E-mail addresses and names of accounts. From the sign to both sides: a search from the left takes long."""
    for match in DOMAIN.finditer(text):
        start = match.start()
        while start and (text[start - 1].isalnum() or text[start - 1] in "._+-"):
            start -= 1
        yield start, match.end()
