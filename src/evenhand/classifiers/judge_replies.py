"""The class named in what a chat model replied, however it dressed it up."""

import json
from collections.abc import Sequence
from typing import Any


def parse_label(content: Any, labels: Sequence[str]) -> str | None:
    """The class that a judge's reply names, or None.

    content: what the judge wrote: a JSON object with "label", alone, fenced, or between other words; or nothing but
    the label itself. Case, spaces, hyphens and underscores are not told apart. A reply with two objects
    that name different classes names none.

    >>> parse_label('Sure! ```json\\n{"label": "Toxic"}\\n```', ["civil", "toxic"])
    'toxic'
    >>> parse_label("It is not toxic.", ["civil", "toxic"]) is None
    True
    """
    if not isinstance(content, str):
        return None
    known = {_folded(label): label for label in labels}
    named = {
        known[_folded(value)]
        for found in _objects(content)
        for key, value in found.items()
        if key.strip().casefold() == "label" and isinstance(value, str) and _folded(value) in known
    }
    if named:
        return named.pop() if len(named) == 1 else None
    return known.get(_folded(content.strip().strip("\"'`*.")))


def _objects(content: str) -> list[dict[str, Any]]:
    decoder, found, place = json.JSONDecoder(), [], 0
    while (place := content.find("{", place)) >= 0:
        try:
            value, place = decoder.raw_decode(content, place)
        except (json.JSONDecodeError, RecursionError):
            place += 1
        else:
            found.append(value)
    return found


def _folded(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
