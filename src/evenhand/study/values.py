"""Convert values that Python callers give to values of options.

Callers may give paths for files, a single text for a list of texts, and loaded objects for names.
"""

from collections.abc import Mapping, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel

from evenhand.study.fields import plain_type

Loaded = TypeVar("Loaded")


def get_name(thing: Any) -> str:
    """Return the name of a model, classifier or reviser for options: the given name, or that of the loaded object.

    >>> from evenhand.models.puppets import load_puppet
    >>> get_name("gpt2"), get_name(load_puppet("random"))
    ('gpt2', 'puppet/random')
    """
    if isinstance(thing, str):
        return thing
    fingerprint = getattr(thing, "fingerprint", {})
    return str(fingerprint.get("name") or getattr(thing, "name", type(thing).__name__))


def loaded_or_none(thing: Loaded | str | None) -> Loaded | None:
    """Return `thing` if it is a loaded object; None if it is a name, which is loaded from the options."""
    return None if isinstance(thing, str) else thing


def drop_missing(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: those that are neither None nor empty.

    >>> drop_missing({"model": "gpt2", "limit": None, "data": {}, "seed": 0})
    {'model': 'gpt2', 'seed': 0}
    """
    return {
        name: value
        for name, value in given.items()
        if value is not None and not (isinstance(value, tuple | list | dict) and not value)
    }


def split_loaded(options: type[BaseModel], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the given values as an options class reads them, and the objects that were given in place of names."""
    named: dict[str, Any] = {}
    loaded: dict[str, Any] = {}
    for name, value in given.items():
        if hasattr(value, "tolist") or hasattr(value, "to_list"):  # arrays and series
            value = value.tolist() if hasattr(value, "tolist") else value.to_list()
        field = options.model_fields.get(name)
        several = field is not None and get_origin(plain_type(field.annotation)) is tuple
        if isinstance(value, str | Path) and several:
            named[name] = (str(value),)
        elif value is None or isinstance(value, str | Number | Sequence | BaseModel):
            named[name] = tuple(value) if isinstance(value, list) else value
        elif isinstance(value, Path):
            named[name] = str(value)
        elif isinstance(value, Mapping):
            named[name] = {key: str(one) if isinstance(one, Path) else one for key, one in value.items()}
        else:
            named[name], loaded[name] = get_name(value), value
    return drop_missing(named), loaded
