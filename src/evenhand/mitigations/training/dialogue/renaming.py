"""Replace one name by another throughout a conversation: whole words only, with the case of each mention."""

import re
from collections.abc import Sequence

INTRODUCING = r"(?:\bname is|\bname['\u2019]s)\s+"
"""Words before a name in any spelling."""
GREETING = r"(?:\bhi|\bi['\u2019]m),?\s+"
"""Words before a name with a capital letter."""


def replace_name(text: str, name: str, new: str, *, is_word: bool = False) -> str:
    """Return a text in which each whole-word mention of a name is replaced by another name, with the same case.

    "martha" becomes "john", "MARTHA" becomes "JOHN", and any other form becomes the new name as it is written. is_word:
    whether the name is also a common word (Hope, Will). Such a name is replaced only after "name is" and, if it has a
    capital letter, after "Hi" and "I'm".

    >>> replace_name("Hi! My name is Martha. MARTHA'S here, not Marthas.", "Martha", "John")
    "Hi! My name is John. JOHN'S here, not Marthas."
    >>> replace_name("Hi Hope! I hope so. Hi, hope you are well.", "Hope", "Eve", is_word=True)
    'Hi Eve! I hope so. Hi, hope you are well.'
    """
    word = rf"(?P<name>{re.escape(name)})(?!\w)"
    if not is_word:
        return re.sub(
            rf"(?<!\w){word}", lambda found: _match_case(found["name"], new), text, flags=re.IGNORECASE
        )

    def replacement(found: re.Match[str]) -> str:
        mention = found["name"]
        if not found["introduced"] and not mention[0].isupper():
            return found[0]
        return found[0][: -len(mention)] + _match_case(mention, new)

    pattern = rf"(?:(?P<introduced>{INTRODUCING})|{GREETING}){word}"
    return re.sub(pattern, replacement, text, flags=re.IGNORECASE)


def all_renamed(texts: Sequence[str], name: str, new: str, *, is_word: bool = False) -> tuple[str, ...]:
    """Return several texts, each as `replace_name` returns it."""
    return tuple(replace_name(text, name, new, is_word=is_word) for text in texts)


def mentions(text: str, name: str) -> bool:
    """Return whether a text contains a name as a whole word, in any case.

    >>> mentions("hi martha", "Martha"), mentions("Marthas", "Martha")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, flags=re.IGNORECASE) is not None


def _match_case(mention: str, new: str) -> str:
    """Return a name in the case (lower, upper or mixed) of a mention of another name."""
    lower, upper = mention == mention.lower(), mention == mention.upper()
    if lower == upper:  # mixed case, or an alphabet without case
        return new
    return new.lower() if lower else new.upper() if len(mention) > 1 else new
