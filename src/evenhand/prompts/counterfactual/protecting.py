"""Find spans of a text that must not change: code, URLs, {{...}}, names of works, and text in quotation marks.

Each kind has a mark that always occurs in it. Texts without the mark (most texts) are not searched. The time is linear
in the length of the text, because an unclosed opening mark is searched only once.
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


def _pattern_finder(pattern: str, flags: int = 0) -> Callable[[str], Spans]:
    """Return a function that finds a pattern. The pattern must be tried at few positions, or stop at its own mark."""
    compiled = re.compile(pattern, flags)
    return lambda text: (match.span() for match in compiled.finditer(text))


def _braces(text: str) -> Spans:
    """Find {{...}}, to the first }}."""
    start = text.find("{{")
    while start >= 0 and (end := text.find("}}", start + 2)) >= 0:
        yield start, end + 2
        start = text.find("{{", end + 2)


def _markup(text: str) -> Spans:
    """Find elements of code and works with their content, and other tags alone."""
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
    """Find URLs. They are extended from :// in both directions, as in `_mails`."""
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
    """Find e-mail addresses and names of accounts, extended from @ in both directions; from the left
    it would be slow.
    """
    for match in DOMAIN.finditer(text):
        start = match.start()
        while start and (text[start - 1].isalnum() or text[start - 1] in "._+-"):
            start -= 1
        yield start, match.end()


def _between_apostrophes(text: str) -> Spans:
    """Find '...' on one line, up to the first apostrophe after a letter or mark that no letter follows."""
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
    ("```", _pattern_finder(r"```.*?(?:```|\Z)", re.DOTALL)),
    ("`", _pattern_finder(r"`[^`\n]+`")),
    ("<", _markup),
    ("://", _urls),
    ("www.", _pattern_finder(r"\bwww\.[^\s<>\"']+")),
    ("#", _pattern_finder(r"#\w+")),
    # names of works in italics begin with a capital, unlike emphasised words
    ("*", _pattern_finder(r"(?<![\w*])(\*{1,2})(?=[A-Z])[^*\n]*[^*\s]\1(?![\w*])")),
    ("_", _pattern_finder(r"(?<!\w)_(?=[A-Z])[^_\n]*[^_\s]_(?!\w)")),
    ("@", _mails),
)
QUOTES = (
    (
        '"',
        _pattern_finder(r'"[^"\n]*"|(?<![\w"])"(?=\w)[^"\n]*\Z'),
    ),  # an unclosed quotation extends to the end
    ("“", _pattern_finder(r"(?<![\w.,!?])“[^“”\n]*(?:”|\Z)")),
    ("„", _pattern_finder(r"„[^„“”\n]*[“”]")),
    ("«", _pattern_finder(r"«[^«»\n]*»")),
    ("‘", _pattern_finder(r"‘[^‘\n]*?’(?!\w)")),
    ("'", _between_apostrophes),
)


def protected_spans(text: str, quotes: bool) -> list[tuple[int, int]]:
    """Return the spans (start, end) of a text that must not change, in order, with overlaps merged.

    quotes: whether text in quotation marks is protected, too.

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
