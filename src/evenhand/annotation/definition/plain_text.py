"""Control characters: refused in study files, and removed from what people write."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters other than tabs and ends of lines, and lone surrogates."""
TAKEN_OUT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Characters that change the writing direction are removed too, because they would affect the page of a reader."""
UNSEEN = (
    "\\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    "\u200b-\u200f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
"""White space and characters without width, for a character class."""
_AT_ENDS = re.compile(f"^[{UNSEEN}]+|[{UNSEEN}]+$")
_WITHOUT_ROOM = re.compile(f"[{UNSEEN}]")


def without_controls(text: str) -> str:
    """Return a text without control characters except tabs and line ends, which become line feeds.

    >>> without_controls("so\\x00 be\\r\\nit")
    'so be\\nit'
    """
    return TAKEN_OUT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def strip_text(text: str) -> str:
    """Return a text without white space and invisible characters at its ends.

    >>> strip_text(" \\u200b yes \\n")
    'yes'
    """
    return _AT_ENDS.sub("", text)


def length(text: str) -> int:
    """Return the number of visible characters of a text; a run of white space counts once.

    >>> length("a   b\\u200b\\u200bc")
    4
    """
    words = re.split(r"\s+", strip_text(text))
    return len(words) - 1 + sum(len(_WITHOUT_ROOM.sub("", word)) for word in words)


def unfit_character(value: Any) -> str | None:
    """Return the first character that studies must not contain, such as U+0000, or None."""
    if isinstance(value, str):
        found = UNFIT.search(value)
        return f"U+{ord(found[0]):04X}" if found else None
    if isinstance(value, Mapping):
        within: Iterable[Any] = (part for pair in value.items() for part in pair)
    elif isinstance(value, list | tuple):
        within = value
    else:
        return None
    return next((wrong for part in within if (wrong := unfit_character(part))), None)
