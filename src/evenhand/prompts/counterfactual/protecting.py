"""What is left alone in a text: code, addresses, protected spans, names of works, and speech in quotation marks.

Each kind has a mark without which it cannot be there; texts without the mark, which are most, are not searched. The
time grows with the length of a text and no faster: what is opened and never closed is searched once.
"""

import re
from collections.abc import Callable, Iterator

Spans = Iterator[tuple[int, int]]

_ELISION = r"(?:s|t|re|ve|ll|d|m|em|n|tis|twas|til|cause|bout|\d+s?)\b"
ELEMENT = re.compile(r"<(?:(code|pre|cite|i|em|script|style)\b|/?[a-zA-Z])")
TAG = re.compile(r"</?[a-zA-Z][^<>\n]*>")
IN_ADDRESS = re.compile(r"[^\s<>\"']+")
DOMAIN = re.compile(r"@\w[\w.-]*")
OPENING_APOSTROPHE = re.compile(rf"(?<![\w'])'(?!{_ELISION})(?=\w)")
APOSTROPHE_OR_LINE_END = re.compile(r"'(?!\w)|\n")


def _each(pattern: str, flags: int = 0) -> Callable[[str], Spans]:
    """Where a pattern stands. It must be one that is tried in few places, or that stops at its own mark."""
    compiled = re.compile(pattern, flags)
    return lambda text: (match.span() for match in compiled.finditer(text))


def _braces(text: str) -> Spans:
    """{{...}}, to the first }}."""
    start = text.find("{{")
    while start >= 0 and (end := text.find("}}", start + 2)) >= 0:
        yield start, end + 2
        start = text.find("{{", end + 2)


def _markup(text: str) -> Spans:
    """Elements of code and of works with all that is in them, and other tags by themselves."""
    at = closing = 0
    unclosed = set()
    while found := ELEMENT.search(text, at):
        start, name, end = found.start(), found[1], -1
        if closing < found.end():
            closing = text.find(">", found.end())
        if closing < 0:
            return
        if name and name not in unclosed:
            end = text.find(f"</{name}>", closing + 1)
            if end < 0:
                unclosed.add(name)
        if end >= 0:
            at = end + len(f"</{name}>")
        elif tag := TAG.match(text, start):
            at = tag.end()
        else:
            at = found.end()
            continue
        yield start, at


def _urls(text: str) -> Spans:
    """Addresses with a scheme. From the :// to both sides, as in `_mails`."""
    done, at = 0, text.find("://")
    while at >= 0:
        run = at
        while run > done and (text[run - 1].isalnum() or text[run - 1] in "_+.-"):
            run -= 1
        scheme = re.search(r"\b[a-zA-Z]", text[run:at])
        rest = IN_ADDRESS.match(text, at + 3)
        if scheme and rest:
            done = rest.end()
            yield run + scheme.start(), done
        at = text.find("://", max(at + 1, done))


def _mails(text: str) -> Spans:
    """E-mail addresses and names of accounts. From the sign to both sides: a search from the left takes long."""
    for match in DOMAIN.finditer(text):
        start = match.start()
        while start and (text[start - 1].isalnum() or text[start - 1] in "._+-"):
            start -= 1
        yield start, match.end()


def _between_apostrophes(text: str) -> Spans:
    """'...' on one line, to the first apostrophe that no letter follows; it must follow a letter or a mark."""
    at, closing = 0, -1
    while found := OPENING_APOSTROPHE.search(text, at):
        at = found.end()
        if closing < at:
            ahead = APOSTROPHE_OR_LINE_END.search(text, at)
            if ahead is None:
                return
            closing = ahead.start()
        if text[closing] == "'" and not (text[closing - 1].isspace() or text[closing - 1] == "'"):
            at = closing + 1
            yield found.start(), at


ALWAYS = (
    ("{{", _braces),
    ("```", _each(r"```.*?(?:```|\Z)", re.DOTALL)),
    ("`", _each(r"`[^`\n]+`")),
    ("<", _markup),
    ("://", _urls),
    ("www.", _each(r"\bwww\.[^\s<>\"']+")),
    ("#", _each(r"#\w+")),
    # names of works in italics: more than a stressed word, so that a capital begins them
    ("*", _each(r"(?<![\w*])(\*{1,2})(?=[A-Z])[^*\n]*[^*\s]\1(?![\w*])")),
    ("_", _each(r"(?<!\w)_(?=[A-Z])[^_\n]*[^_\s]_(?!\w)")),
    ("@", _mails),
)
QUOTES = (
    ('"', _each(r'"[^"\n]*"|(?<![\w"])"(?=\w)[^"\n]*\Z')),  # one that is not closed lasts to the end
    ("“", _each(r"(?<![\w.,!?])“[^“”\n]*(?:”|\Z)")),
    ("„", _each(r"„[^„“”\n]*[“”]")),
    ("«", _each(r"«[^«»\n]*»")),
    ("‘", _each(r"‘[^‘\n]*?’(?!\w)")),
    ("'", _between_apostrophes),
)


def protected_spans(text: str, quotes: bool) -> list[tuple[int, int]]:
    """The places (start, end) of a text that are left alone, in order, overlaps merged.

    quotes: whether text in quotation marks is not changed either.

    >>> protected_spans("Run `her.py`, she said.", quotes=True)
    [(4, 12)]
    """
    kinds = ALWAYS + QUOTES if quotes else ALWAYS
    found = [span for mark, spans in kinds if mark in text for span in spans(text)]
    found.sort()
    merged: list[tuple[int, int]] = []
    for start, end in found:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
