"""Texts from outside as people see them, and times as they say them."""

import re
from datetime import timedelta

from evenhand.reports import wording

DIRECTION = re.compile("([\u200e\u200f\u061c])")
"""Marks of direction that Arabic and Hebrew are written with; they change nothing outside the text they stand in."""


def shown_text(text: str) -> str:
    """A text from outside: control characters, and those that turn the direction of writing, become visible.

    >>> shown_text("a\\u202eb\\x00\\u200f c") == "a\\ufffdb\\ufffd\\u200f c"
    True
    """
    return "".join(
        part if DIRECTION.fullmatch(part) else wording.visible(part) for part in DIRECTION.split(text)
    )


def paragraphs(text: str) -> list[str]:
    """A text cut where it has empty lines.

    >>> paragraphs("One.\\n\\n  Two,\\nstill two.\\n")
    ['One.', 'Two,\\nstill two.']
    """
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def time_left(left: timedelta) -> str:
    """How long it is until then, as one would say it.

    >>> [time_left(timedelta(seconds=s)) for s in (20, 90, 60 * 29.99, 3600 * 2.6, 86400 * 3)]
    ['less than a minute', '1 minute', '30 minutes', '2 hours', '3 days']
    """
    seconds = left.total_seconds() + 1  # what was given a moment ago is still whole
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size * (1 if name == "minute" else 2):
            number = int(seconds // size)
            return f"{number} {name}{'' if number == 1 else 's'}"
    return "less than a minute"
