"""Remove Reddit's markup from comments: HTML entities, links, and the marks for emphasis and code.

Each function reads the text in one pass.
"""

import html
import re
from bisect import bisect_left
from collections import defaultdict

ZEROS = re.compile(r"(&#[xX]?)0+(?=[0-9a-fA-F])")
TOO_LARGE = re.compile(r"&#(?:[xX][0-9a-fA-F]{7,}|[0-9]{8,});?")
"""Numeric entities that are too large for a character. Python may refuse to convert such numbers."""
BRACKETS = re.compile(r"!?\[([^\]]*)(\]\(|\]|\Z)")
URL_END = re.compile(r"[)\s]")
MARKS = re.compile(r"(?<!\w)(?:\*{1,3}|_{1,3}|~~|(?<!`)`+)(?=\S)")


def unescape_html(text: str) -> str:
    """Return a text with HTML entities replaced by their characters, and by \ufffd if the number is too large.

    >>> unescape_html("&gt;&#65;&#99999999999;")
    '>A\ufffd'
    """
    if "&#" in text:
        text = TOO_LARGE.sub("\ufffd", ZEROS.sub(r"\1", text))
    return html.unescape(text)


def links_as_texts(text: str) -> str:
    """Return a text in which each Markdown link or image is replaced by its text.

    >>> links_as_texts("see [this](http://a.b), [not this] (c)")
    'see this, [not this] (c)'
    """
    made: list[str] = []
    done = at = end = 0
    while found := BRACKETS.search(text, at):
        at = found.end()
        if found[2] != "](":
            continue
        if end < at:
            ahead = URL_END.search(text, at)
            end = ahead.start() if ahead else len(text)
        if end < len(text) and text[end] == ")":
            made += [text[done : found.start()], found[1]]
            done = at = end + 1
    return "".join([*made, text[done:]])


def without_marks(text: str) -> str:
    """Return a text without the Markdown marks for emphasis, strikethrough and code.

    A pair of equal marks is removed if both are in one line. The opening mark must not follow a letter, digit or
    underscore, and must not precede white space. The closing mark is the next equal one that does not follow white
    space and does not precede a letter, digit or underscore. A run of backticks is one mark.

    >>> without_marks("**so** *very* ~~good~~ `code`, 5 * 3 * snake_case_name")
    'so very good code, 5 * 3 * snake_case_name'
    """
    closing: dict[str, list[int]] = {}
    made: list[str] = []
    done = at = line_end = 0
    while found := MARKS.search(text, at):
        start = found.start()
        if line_end <= start:
            line_end = text.find("\n", start)
            line_end = len(text) if line_end < 0 else line_end
        shortest = found.end() if found[0][0] in "`~" else start + 1
        for inside in range(found.end(), shortest - 1, -1):
            places = _closing(text, text[start:inside], closing)
            number = bisect_left(places, inside + 1)
            if number < len(places) and places[number] < line_end:
                end = places[number]
                made += [text[done:start], text[inside:end]]
                done = at = end + inside - start
                break
        else:
            at = found.end() if found[0][0] == "`" else start + 1
    return "".join([*made, text[done:]])


def _closing(text: str, mark: str, known: dict[str, list[int]]) -> list[int]:
    """Return the positions in the text where a mark can be a closing one, in ascending order.

    known: positions of earlier calls by mark; updated by this call.
    """
    if mark[0] == "`":
        if "`" not in known:
            runs = defaultdict(list)
            for run in re.finditer(r"(?<=[^\s`])`+(?!\w)", text):
                runs[run[0]].append(run.start())
            known.update(runs, **{"`": runs["`"]})
    elif mark not in known:
        known[mark] = [one.start() for one in re.finditer(rf"(?<=\S)(?={re.escape(mark)}(?!\w))", text)]
    return known.get(mark, [])
