"""Find the positions of a server's tokens in a text, and check that they spell it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PART = "\ufffd"  # how servers show a partial character; older ones write bytes:\xe2
PIECES = re.compile(f"{PART}+|[^{PART}]+")
BYTES = re.compile(r"(?:\\x[0-9a-f]{2})+")  # OpenAI's notation for partial characters


@dataclass(frozen=True)
class Token:
    """A token of an echoed text: characters `start` to before `end`. A neighbouring token may
    contain the rest of a character.
    """

    text: str
    start: int
    end: int
    log_prob: float  # NaN if the server gives no value


def align(listed: Sequence[tuple[str, float]], prompt: str) -> list[Token] | str:
    """Return the position of each token in the prompt.

    Tokens after the prompt are dropped, and so is a start token before it. The positions that servers give are not
    used, because servers count hidden tokens and partial characters in different ways. Instead, the tokens are matched
    with the text; partial characters extend to the next complete token. Returns the reason as text if the tokens do not
    spell the prompt.

    >>> [(t.start, t.end) for t in align([("<s>", float("nan")), ("He", -1.0), ("y", -2.0), ("!", -3.0)], "Hey")]
    [(0, 2), (2, 3)]
    """
    listed = _from_the_first(listed, prompt)
    places: list[list[int]] = []
    open_ends: list[list[int]] = []  # tokens that end in a partial character
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
            # the partial characters before it form at least one character, and at most as many as there are parts
            at_piece = prompt.find(piece, at + (parts > 0), at + parts + len(piece))
            if at_piece < 0:
                break
            for earlier in open_ends:
                earlier[1] = at_piece
            place[0] = at_piece if place[0] < 0 else place[0]
            at, parts, open_ends = at_piece + len(piece), 0, []
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


def spells(tokens: Sequence[str], text: str, stops: Sequence[str] = ()) -> bool:
    """Return whether a server's tokens spell the text that it generated.

    stops: stop strings. The server may list tokens that it does not show: a stop string, the end token, part of a
    character, and removed white space.

    >>> spells([" He", " said", ". "], " He said", ["."]), spells([" She", "</s>"], " She"), spells([" He"], " She")
    (True, True, False)
    """
    as_bytes = [
        BYTES.sub(lambda run: PART * (len(run[0]) // 4), token.removeprefix("bytes:")) for token in tokens
    ]
    return any(
        _are(some, text) for listed in (list(tokens), as_bytes) for some in _without_the_hidden(listed, stops)
    )


def _without_the_hidden(tokens: list[str], stops: Sequence[str]) -> Iterator[list[str]]:
    while tokens and not tokens[-1]:
        tokens = tokens[:-1]
    yield tokens
    yield tokens[:-1]
    last = len(tokens)
    while last and not tokens[last - 1].strip(PART):
        last -= 1
    yield tokens[:last]
    whole = "".join(tokens)
    for stop in stops:
        if stop and (place := whole.find(stop)) >= 0:
            for end in (place, place + len(stop)):
                kept, length = [], 0
                for token in tokens:
                    kept.append(token[: max(0, end - length)])
                    length += len(token)
                yield [token for token in kept if token]


def _are(tokens: list[str], text: str) -> bool:
    whole = "".join(tokens)
    bare = whole.strip()
    if text and bare:
        before = "" if text[0].isspace() else whole[: len(whole) - len(whole.lstrip())]
        behind = "" if text[-1].isspace() else whole[len(whole.rstrip()) :]
        text = before + text + behind
    elif not text and not bare:
        return True
    if whole == text or PART not in whole:
        return whole == text
    placed = align([(token, 0.0) for token in tokens], text)
    return not isinstance(placed, str) and len(placed) == len(tokens)


def _from_the_first(listed: Sequence[tuple[str, float]], prompt: str) -> Sequence[tuple[str, float]]:
    """Return the tokens without the server's start token and without the space that some servers add before every
    text."""
    if not listed or listed[0][0].startswith((PART, "bytes:")):
        return listed
    first, value = listed[0]
    if first and prompt.startswith(first.rstrip(PART)):
        return listed
    bare = first.lstrip(" ")
    if bare and bare != first and prompt.startswith(bare.rstrip(PART)):
        return [(bare, value), *listed[1:]]
    return listed[1:]
