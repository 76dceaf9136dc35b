"""What all models of options have in common: frozen, unknown names refused, and one way to say what is wrong."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from evenhand.schema import UsageError, without_surrogates


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not a number")
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
                    raise ValueError(
                        f"{name} is {text!a}, which contains half a character (a lone surrogate)"
                    )
        return values


Kind = TypeVar("Kind", bound=Options)


def validated(kind: type[Kind], values: Mapping[str, Any]) -> Kind:
    """Options made of values; raises UsageError that names each wrong one, and lists all options there are.

    >>> class Few(Options):
    ...     limit: int = 1
    >>> validated(Few, {"limit": "some"})
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: Invalid options: limit: Input should be a valid integer...
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        raise UsageError(
            f"Invalid options: {problems(error, kind.model_fields)}.",
            f"Options: {', '.join(kind.model_fields)}.",
        ) from error


def problems(error: ValidationError, known: Iterable[str] = ()) -> str:
    """Each thing that is wrong with options, as `name: what was expected`, in one line.

    known: names of the options there are, of which an unknown one may mean one.
    """
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'options'}: {_problem(one['type'], one['msg'], one['loc'], known)}"
        for one in error.errors()
    )


def _problem(kind: str, message: str, place: tuple[int | str, ...], known: Iterable[str]) -> str:
    if kind != "extra_forbidden" or len(place) != 1:
        return message.removeprefix("Value error, ")
    near = get_close_matches(str(place[0]), list(known), n=1)
    return f"there is no such option{f'. Did you mean {near[0]!r}?' if near else ''}"
