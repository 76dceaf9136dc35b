"""One name in the place of another throughout a conversation: whole words, in the case in which they stand."""

import re
from collections.abc import Sequence

INTRODUCING = r"(?:\bname is|\bname['\u2019]s)\s+"
"""Words before a name in any spelling."""
GREETING = r"(?:\bhi|\bi['\u2019]m),?\s+"
"""Words before a name with a capital letter."""


def renamed(text: str, name: str, new: str, *, is_word: bool = False) -> str:
    """A text with each whole-word mention of a name replaced by another, in the case in which it stands.

    "martha" becomes "john", "MARTHA" "JOHN", anything else the new name as it is written. is_word: whether the name is
    a common word as well (Hope, Will): it is then replaced behind "name is" only, and behind "Hi" and "I'm" where it
    has a capital.

    >>> renamed("Hi! My name is Martha. MARTHA'S here, not Marthas.", "Martha", "John")
    "Hi! My name is John. JOHN'S here, not Marthas."
    >>> renamed("Hi Hope! I hope so. Hi, hope you are well.", "Hope", "Eve", is_word=True)
    'Hi Eve! I hope so. Hi, hope you are well.'
    """
    word = rf"(?P<name>{re.escape(name)})(?!\w)"
    if not is_word:
        return re.sub(rf"(?<!\w){word}", lambda found: _as(found["name"], new), text, flags=re.IGNORECASE)

    def other(found: re.Match[str]) -> str:
        mention = found["name"]
        if not found["introduced"] and not mention[0].isupper():
            return found[0]
        return found[0][: -len(mention)] + _as(mention, new)

    pattern = rf"(?:(?P<introduced>{INTRODUCING})|{GREETING}){word}"
    return re.sub(pattern, other, text, flags=re.IGNORECASE)


def all_renamed(texts: Sequence[str], name: str, new: str, *, is_word: bool = False) -> tuple[str, ...]:
    """Several texts, each as `renamed`."""
    return tuple(renamed(text, name, new, is_word=is_word) for text in texts)


def mentions(text: str, name: str) -> bool:
    """Whether a text holds a name as a whole word, in any case.

    >>> mentions("hi martha", "Martha"), mentions("Marthas", "Martha")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, flags=re.IGNORECASE) is not None


def _as(mention: str, new: str) -> str:
    """A name in the case pattern of a mention of another."""
    lower, upper = mention == mention.lower(), mention == mention.upper()
    if lower == upper:  # mixed, or letters that have no case
        return new
    return new.lower() if lower else new.upper() if len(mention) > 1 else new
