"""Display external texts, and durations in words."""

import re

from evenhand.reports import wording

END_OF_LINE = re.compile(r"[^\S\n]*\n[^\S\n]*(?!\s*(?:[-*•–]|[0-9]{1,3}[.)])\s)")
"""Pattern of a line end that no item of a list follows."""
DIRECTION = re.compile("([\u200e\u200f\u061c])")
"""Direction marks used in Arabic and Hebrew; they have no effect outside the text that contains them."""


def shown_text(text: str) -> str:
    """Return an external text in which control characters and changes of writing direction are visible.

    >>> shown_text("a\\u202eb\\x00\\u200f c") == "a\\ufffdb\\ufffd\\u200f c"
    True
    """
    return "".join(
        part if DIRECTION.fullmatch(part) else wording.visible(part) for part in DIRECTION.split(text)
    )


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, divided at empty lines; other line ends are kept only before items of a list.

    >>> paragraphs("One.\\n\\n  Two,\\nstill two:\\n- a\\n  point\\n- another\\n")
    ['One.', 'Two, still two:\\n- a point\\n- another']
    """
    parts = re.split(r"\n[^\S\n]*\n\s*", text.replace("\r\n", "\n"))
    return [END_OF_LINE.sub(" ", part.strip()) for part in parts if part.strip()]


def minutes(many: float) -> str:
    """Return a duration in words, rounded down.

    >>> [minutes(m) for m in (0.3, 1.5, 30, 90, 60 * 2.6, 60 * 24 * 3)]
    ['less than a minute', '1 minute', '30 minutes', '90 minutes', '2 hours', '3 days']
    """
    seconds = 60 * many
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size * (1 if name == "minute" else 2):
            number = int(seconds // size)
            return f"{number} {name}{'' if number == 1 else 's'}"
    return "less than a minute"
