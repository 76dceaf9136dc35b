"""Where the tokens that a server lists stand in the text they came from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

PART = "\ufffd"  # how servers show what is no whole character; old ones write bytes:\xe2
PIECES = re.compile(f"{PART}+|[^{PART}]+")


@dataclass(frozen=True)
class Token:
    """A token of an echoed text: characters `start` up to `end`, of which a neighbour may hold the rest of one."""

    text: str
    start: int
    end: int
    log_prob: float  # NaN where the server gives none


def align(listed: Sequence[tuple[str, float]], prompt: str) -> list[Token] | str:
    """Where each token stands in the prompt; tokens behind it are dropped, as is one in front that is not of it.

    Servers give offsets, but count hidden tokens and parts of characters in different ways. So the tokens are
    read along the text; parts of characters reach to where the next whole one is found.
    Returns the reason in words if the tokens do not spell the prompt.

    >>> [(t.start, t.end) for t in align([("<s>", float("nan")), ("He", -1.0), ("y", -2.0), ("!", -3.0)], "Hey")]
    [(0, 2), (2, 3)]
    """
    listed = _from_the_first(listed, prompt)
    places: list[list[int]] = []
    open_ends: list[list[int]] = []  # tokens that end in part of a character
    at = parts = 0
    for token, _ in listed:
        if at == len(prompt) and not parts:
            break
        place, parts_before = [-1, -1], parts
        for piece in PIECES.findall(PART if token.startswith("bytes:") else token):
            if piece[0] == PART:
                place[0] = at if place[0] < 0 else place[0]
                parts += len(piece)
                continue
            # Parts in front of it make up at least one character, and no more than there are parts.
            found = prompt.find(piece, at + (parts > 0), at + parts + len(piece))
            if found < 0:
                break
            for earlier in open_ends:
                earlier[1] = found
            place[0] = found if place[0] < 0 else place[0]
            at, parts, open_ends = found + len(piece), 0, []
        else:
            place = [at if edge < 0 else edge for edge in place]
            place[1] = at
            places.append(place)
            if parts:
                open_ends.append(place)
            continue
        parts = parts_before
        break
    if 0 < len(prompt) - at <= parts:
        for earlier in open_ends:
            earlier[1] = len(prompt)
        at = len(prompt)
    if at < len(prompt):
        return f"its tokens do not spell the text beyond {prompt[max(0, at - 20) : at]!r}"
    return [
        Token(token, start, end, value) for (token, value), (start, end) in zip(listed, places, strict=False)
    ]


def _from_the_first(listed: Sequence[tuple[str, float]], prompt: str) -> Sequence[tuple[str, float]]:
    """The tokens without one of the server's own in front, and without the space some put before every text."""
    if not listed or listed[0][0].startswith((PART, "bytes:")):
        return listed
    first, value = listed[0]
    if first and prompt.startswith(first.rstrip(PART)):
        return listed
    bare = first.lstrip(" ")
    if bare and bare != first and prompt.startswith(bare.rstrip(PART)):
        return [(bare, value), *listed[1:]]
    return listed[1:]
