"""Handle responses of a served model that are longer than the limit: refuse them (default), shorten or keep them."""

import re
from collections.abc import Sequence
from typing import Literal

from evenhand.schema import UsageError

AllowLonger = Literal["", "cut", "whole"]
CUT, WHOLE = "cut", "whole"
"""Values of `--allow-longer`: shorten such a response to the limit, or keep all of it."""
HINT = "to accept longer responses: --allow-longer cut or --allow-longer whole"
_WORD = re.compile(r"\S+")
_Token = tuple[str, float]


def check_allow_longer(value: str) -> None:
    """Raise UsageError unless `value` is "", "cut" or "whole"."""
    if value not in ("", CUT, WHOLE):
        raise UsageError(
            f"allow_longer must be cut or whole, got {value!r}.",
            "cut shortens responses to the token limit; whole keeps them.",
        )


def excess(text: str, count: int, limit: int) -> str | None:
    """Return in words by how much a response exceeds the limit; None if it does not, or if this is unknown.

    Parameters
    ----------
    text : str
        The response.
    count : int
        Number of its tokens according to the server. 0 if the server gives none; then each word counts as one token.
    limit : int
        Maximum number of tokens. One more is accepted, because some servers count the end token.

    >>> excess("one two three", 0, 2), excess("one two three four", 0, 2), excess("one", 9, 2)
    (None, '4 words where at most 2 tokens were allowed', '9 tokens where at most 2 were allowed')
    """
    if count > limit + 1:
        return f"{count} tokens where at most {limit} were allowed"
    words = 0 if count else sum(1 for _ in _WORD.finditer(text))
    return f"{words} words where at most {limit} tokens were allowed" if words > limit + 1 else None


def shorten_response(
    text: str, tokens: Sequence[_Token], count: int, limit: int
) -> tuple[str, tuple[_Token, ...]]:
    """Return a response shortened to the limit, and its first tokens if they are listed. count: tokens of the text.

    With listed tokens, the cut is exact. If the server only counts tokens, the text is cut after the last whole word
    within the share limit / count of its characters. If it does not count tokens, `limit` words are kept.

    >>> shorten_response("She is a nurse.", [("She", -1.0), (" is", -0.5), (" a", -1.5), (" nurse.", -2.0)], 4, 2)
    ('She is', (('She', -1.0), (' is', -0.5)))
    >>> shorten_response("She is a very good nurse.", (), 10, 5)[0], shorten_response("She is a nurse.", (), 0, 2)[0]
    ('She is a', 'She is')
    """
    kept = tuple(tokens[:limit])
    start = "".join(token for token, _ in kept)
    if kept and (text.startswith(start) or start.startswith(text)):
        return text[: len(start)], kept
    if 0 < count <= limit:
        return text, ()
    if not count:
        words = list(_WORD.finditer(text))
        return (text[: words[limit - 1].end()] if len(words) > limit else text), ()
    place = len(text) * limit // count
    if place < len(text) and not text[place].isspace():
        place = max((end.end() for end in _WORD.finditer(text) if end.end() <= place), default=place)
    return text[:place], ()
