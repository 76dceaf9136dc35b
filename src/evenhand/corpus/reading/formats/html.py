"""Extract the text of a web page: everything outside tags, one line per block, including menus and footers.

Scripts, styles and other unread elements are left out. For cleaner texts, extract them beforehand or read WET.
"""

import codecs
import re
from html import unescape

UNREAD = frozenset(
    ("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "textarea", "select")
)
"""Elements whose content is not read as text."""
WITHIN_A_LINE = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
INLINE = frozenset(WITHIN_A_LINE.split())
"""Elements within a line; all others end a line."""
NAME = re.compile(r"<(/?)([a-z][^\s/>]*+)", re.IGNORECASE)
TAG_END = re.compile(r"""[^>"']*+(?:(?:"[^"]*+"|'[^']*+')[^>"']*+)*+>""")
"""Pattern of the rest of a tag, in which a > within quotation marks does not end it."""
END = "\x1e"
META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
DECLARED_WITHIN = 1024
"""Number of bytes at the start of a page in which its encoding is declared."""
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
READ_AS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
}
"""Encodings that browsers use for these names. Source: WHATWG, Encoding Standard."""


def page_text(page: str) -> str:
    """Return the text of HTML, one line per block.

    >>> page_text("<title>A &amp; B</title><p>one <b>two</b><script>x()</script><p>three")
    'A & B\\none two\\nthree'
    """
    parts = []
    place = 0
    quoted = True
    while (start := page.find("<", place)) >= 0:
        name = NAME.match(page, start)
        parts.append(page[place:start])
        if page.startswith("<!--", start):
            place = _find_end(page.find("-->", start + 4), 3, page)
            continue
        if name is None and not page.startswith(("<!", "<?", "</"), start):
            parts.append("<")
            place = start + 1
            continue
        end = TAG_END.match(page, start + 1) if quoted else None
        # an unclosed quotation mark; no later one can be trusted
        quoted = end is not None
        place = end.end() if end else _find_end(page.find(">", start), 1, page)
        element = name[2].lower() if name else ""
        if element not in INLINE:
            parts.append(END)
        if name and not name[1] and element in UNREAD:
            closed = re.compile(f"</{element}[^>]*>", re.IGNORECASE).search(page, place)
            place = closed.end() if closed else len(page)
    parts.append(page[place:])
    lines = (" ".join(unescape(line).split()) for line in "".join(parts).split(END))
    return "\n".join(line for line in lines if line)


def _find_end(found: int, length: int, page: str) -> int:
    """Return the position after the match, or the end of the page if there is none."""
    return len(page) if found < 0 else found + length


def decode_page(page: bytes, declared: str | None = None) -> str:
    """Decode a page by its byte order mark, else the charset of its HTTP header or meta tag, or UTF-8.

    Nothing is guessed or replaced: raises UnicodeDecodeError for a page with invalid bytes.
    """
    marked = next((name for mark, name in MARKS.items() if page.startswith(mark)), None)
    said = META.search(page[:DECLARED_WITHIN])
    for label in (marked, declared, said[1].decode("ascii") if said else None):
        if name := _codec(label):
            break
    else:
        name = "utf-8"
    if name == "utf-8":
        return page.decode("utf-8-sig")
    try:
        return page.decode(READ_AS.get(name, name))
    except UnicodeDecodeError:
        if READ_AS.get(name) == "cp1252":  # bytes that Windows does not define are control characters
            return page.decode("latin-1")
        raise


def _codec(label: str | None) -> str | None:
    """Return Python's name of a charset; None for an unknown one, which browsers ignore, too."""
    if not label:
        return None
    try:
        name = codecs.lookup(label.strip(" \"'")).name
        b"text".decode(name)
    except UnicodeDecodeError:
        return name
    except (LookupError, ValueError):
        return None
    return name
