"""Reddit's marks in comments, taken out in one pass each: entities, links, the marks of stress and code."""

import html
import re
from bisect import bisect_left
from collections import defaultdict

ZEROS = re.compile(r"(&#[xX]?)0+(?=[0-9a-fA-F])")
TOO_LARGE = re.compile(r"&#(?:[xX][0-9a-fA-F]{7,}|[0-9]{8,});?")
"""Entities of no character, which Python reads as numbers and may refuse."""
BRACKETS = re.compile(r"!?\[([^\]]*)(\]\(|\]|\Z)")
URL_END = re.compile(r"[)\s]")
MARKS = re.compile(r"(?<!\w)(?:\*{1,3}|_{1,3}|~~|(?<!`)`+)(?=\S)")


def unescaped(text: str) -> str:
    """A text with HTML's entities as what they stand for; the numbers of no character as \ufffd.

    >>> unescaped("&gt;&#65;&#99999999999;")
    '>A\ufffd'
    """
    if "&#" in text:
        text = TOO_LARGE.sub("\ufffd", ZEROS.sub(r"\1", text))
    return html.unescape(text)


def links_as_texts(text: str) -> str:
    """A text with the text of each link, and of each picture, in its place.

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
    """A text without the marks around what is stressed, struck out, or code, within a line.

    A mark that opens stands behind no letter and before no space; the next equal one closes it that stands behind no
    space and before no letter. Backticks go by whole runs of them.

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
    """Where a mark may close something."""
    if mark[0] == "`":
        if "`" not in known:
            runs = defaultdict(list)
            for run in re.finditer(r"(?<=[^\s`])`+(?!\w)", text):
                runs[run[0]].append(run.start())
            known.update(runs, **{"`": runs["`"]})
    elif mark not in known:
        known[mark] = [one.start() for one in re.finditer(rf"(?<=\S)(?={re.escape(mark)}(?!\w))", text)]
    return known.get(mark, [])
