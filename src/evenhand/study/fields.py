"""Determine how a field of an options class appears on the command line: spelling, form of its values, and bounds.

Most of this follows from the type, the default and the description of the field. `Flag`, in the annotation of the
field, states the rest.
"""

import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

Resume = Literal["fixed", "free", "again", "more"]
MOST = 2**31 - 1
"""Upper bounds of at least this number are limits of the computer, so the help does not state them."""


@dataclass(frozen=True, kw_only=True)
class Flag:
    """How a field of options is given on the command line, and whether it may change when a study is resumed.

    Attributes
    ----------
    names
        Spellings, such as ("--bias", "-b"). Default: two hyphens and the name of the field.
    form
        What a value looks like: "path", "text" (read by the options class), "list" (repeatable or comma-separated), or
        words with an equals sign, such as LABEL=FOLDER (repeatable). Default: as the type of the field.
    low, high, above, below
        Bounds that the command line states in place of those of the field; the last two are themselves excluded.
    resume
        "fixed": the option determines the results, so it must not change. "free": it may change. "again": a folder
        cannot decide it, so it must be given again. "more": entries may be added.
    panel
        Panel of the help that shows the flag. Default: that of `evenhand.cli.panels`.
    shown
        True for a switch whose help shows that it is off.
    """

    names: tuple[str, ...] = ()
    form: str = ""
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    resume: Resume = "fixed"
    panel: str | None = None
    shown: bool = False


def get_flag(field: FieldInfo) -> Flag:
    """Return the `Flag` in the annotation of a field, or one with the defaults."""
    return next((part for part in field.metadata if isinstance(part, Flag)), Flag())


def select_fields(options: type[BaseModel], *resume: Resume) -> frozenset[str]:
    """Return the names of the fields whose `Flag.resume` is one of `resume`."""
    return frozenset(name for name, field in options.model_fields.items() if get_flag(field).resume in resume)


def describe_field(field: FieldInfo) -> str:
    """Return the description of a field in one line."""
    return " ".join((field.description or "").split())


def plain_type(annotation: Any) -> Any:
    """Return a type without None and without constraints.

    >>> plain_type(Annotated[int, Ge(1)] | None), plain_type(tuple[str, ...])
    (<class 'int'>, tuple[str, ...])
    """
    while get_origin(annotation) in (Annotated, Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        annotation = parts[0]
    return annotation


def bounds(field: FieldInfo) -> tuple[float | None, float | None, bool, bool]:
    """Return the lower and the upper bound of a field (None: no bound), and whether each bound is itself invalid."""
    low = high = None
    low_out = high_out = False
    for part in _constraints([*field.metadata, *_nested(field.annotation)]):
        if isinstance(part, Ge | Gt):
            low, low_out = float(getattr(part, "ge", getattr(part, "gt", 0))), isinstance(part, Gt)
        elif isinstance(part, Le | Lt):
            high, high_out = float(getattr(part, "le", getattr(part, "lt", 0))), isinstance(part, Lt)
    flag = get_flag(field)
    for given, excluded in ((flag.low, False), (flag.above, True)):
        low, low_out = (low, low_out) if given is None else (float(given), excluded)
    for given, excluded in ((flag.high, False), (flag.below, True)):
        high, high_out = (high, high_out) if given is None else (float(given), excluded)
    return low, None if high is None or high >= MOST or high == inf else high, low_out, high_out


def ordered_fields(options: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, type]]:
    """Return each field with its name and the class that defines it: those of the class itself, then of its bases."""
    seen: set[str] = set()
    for owner in options.__mro__:
        for name in inspect.get_annotations(owner):
            if name in options.model_fields and name not in seen:
                seen.add(name)
                yield name, options.model_fields[name], owner


def _nested(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    elif get_origin(annotation) in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _nested(part)


def _constraints(metadata: list[Any]) -> Iterator[Any]:
    for part in metadata:
        if isinstance(part, FieldInfo):
            yield from part.metadata
        else:
            yield part
