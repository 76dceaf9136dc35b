"""What all models of options have in common: frozen, unknown names refused, and one way to say what is wrong."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from evenhand.schema import UsageError


class Options(BaseModel):
    """Base of options, whole or a part of them: they cannot be changed, and unknown names are refused.

    Parts are put together by inheritance, so that what is stored stays flat whatever the parts are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


Kind = TypeVar("Kind", bound=Options)


def validated(kind: type[Kind], values: Mapping[str, Any]) -> Kind:
    """Options made of values; raises UsageError that names each wrong one, and lists all options there are.

    >>> class Few(Options):
    ...     limit: int = 1
    >>> validated(Few, {"limit": "some"})
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: These options are wrong: limit: Input should be a valid integer...
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        raise UsageError(
            f"These options are wrong: {problems(error)}.", f"Options: {', '.join(kind.model_fields)}."
        ) from error


def problems(error: ValidationError) -> str:
    """Each thing that is wrong with options, as `name: what was expected`, in one line."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'options'}: {one['msg'].removeprefix('Value error, ')}"
        for one in error.errors()
    )
