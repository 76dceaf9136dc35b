"""Read fields of JSON in responses, which may be in a fenced block, alone, or surrounded by text."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

NO_JSON, NO_FIELD, NO_VALUE = "no JSON", "no such field", "no value in the field"
_FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n?(.*?)```", re.DOTALL)
_MOST = 50
"""Maximum number of braces at which parsing is tried, so that a text of braces is not slow."""


@dataclass(frozen=True)
class Field:
    """The value of a field (number, boolean or text), or the reason why there is none."""

    value: float | bool | str | None
    why: str | None = None


def read_field(text: str, path: Sequence[str]) -> Field:
    """Return the value at `path` in the JSON of a response.

    Fenced blocks are searched first, then the text from each brace on. The first object that has the field counts. A
    whole number in the path is a position in a list, from 0. null, lists, objects, NaN and empty texts are not values.

    >>> read_field('Sure!\\n```json\\n{"fit": {"score": 7, "hire": true}}\\n```', ["fit", "score"])
    Field(value=7.0, why=None)
    >>> read_field("I can't say.", ["score"]).why, read_field('{"a": null}', ["a"]).why
    ('no JSON', 'no value in the field')
    """
    why = NO_JSON
    for document in _documents(text):
        found, value = _find_path(document, path)
        if not found:
            why = NO_FIELD
            continue
        if isinstance(value, bool):
            return Field(value)
        if isinstance(value, int | float):
            return Field(float(value)) if abs(value) < 1e300 else Field(None, NO_VALUE)
        if isinstance(value, str) and value.strip():
            return Field(value.strip())
        return Field(None, NO_VALUE)
    return Field(None, why)


def _documents(text: str) -> Iterator[Any]:
    """Yield the objects and lists of objects in a text, fenced ones first."""
    decoder = json.JSONDecoder(parse_constant=lambda _: None, parse_int=float)  # whole numbers of any length
    for part in [*_FENCE.findall(text), text]:
        place = 0
        for _ in range(_MOST):
            starts = [at for at in (part.find("{", place), part.find("[", place)) if at >= 0]
            if not starts:
                break
            try:
                document, place = decoder.raw_decode(part, min(starts))
            except (json.JSONDecodeError, RecursionError, ValueError):
                place = min(starts) + 1
                continue
            if isinstance(document, dict | list):
                yield document


def _find_path(document: Any, path: Sequence[str]) -> tuple[bool, Any]:
    """Return whether the path exists, and its value."""
    value = document
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False, None
    return True, value
