"""What all models of options have in common: frozen, unknown names refused, and one way to say what is wrong."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from evenhand.schema import UsageError, without_surrogates


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is no number")
    return value


Seed = Annotated[int, Field(ge=0, le=2**63 - 1), BeforeValidator(_no_truth_value)]
"""Of a generator of random numbers: what all that draw here can take."""
Count = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(_no_truth_value)]
"""How many of something, at least one."""


class Options(BaseModel):
    """Base of options, whole or a part of them: they cannot be changed, and unknown names are refused.

    Parts are put together by inheritance, so that what is stored stays flat whatever the parts are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _texts_can_be_stored(cls, values: Any) -> Any:
        for name, value in values.items() if isinstance(values, Mapping) else ():
            for text in (value, *value) if isinstance(value, tuple | list) else (value,):
                if isinstance(text, str) and without_surrogates(text) != text:
                    raise ValueError(f"{name} is {text!a}, which holds half a character (a lone surrogate)")
        return values


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
