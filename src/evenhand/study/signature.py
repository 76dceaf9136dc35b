"""The signature and the documentation of a study's Python function, from the options of the study."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from pydantic import BaseModel

from evenhand.study.fields import describe_field, ordered_fields

P = ParamSpec("P")
R = TypeVar("R")
PLACE = "{options}"
"""Line of a docstring that is replaced by the description of the options."""


def with_options(options: type[BaseModel]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that shows every option as an argument of a function that takes `**options`.

    Help and editors show the arguments with their defaults. In the docstring, the options are described in place of
    the line {options}.

    >>> class Options(BaseModel):
    ...     limit: int = 5
    >>> @with_options(Options)
    ... def survey(model: str, **options: int) -> None:
    ...     '''Ask a model.'''
    >>> print(inspect.signature(survey))
    (model: str, *, limit: int = 5) -> None
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(*args, **kwargs)

        own = inspect.signature(function)
        named = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        shown, lines = [], []
        for name, field, _ in ordered_fields(options):
            if name in own.parameters:
                continue
            default = (
                inspect.Parameter.empty
                if field.is_required()
                else field.get_default(call_default_factory=True)
            )
            kind = inspect.Parameter.KEYWORD_ONLY
            shown.append(inspect.Parameter(name, kind, default=default, annotation=field.annotation))
            lines += [name, f"    {describe_field(field)}"]
        call.__signature__ = own.replace(parameters=[*named, *shown])  # type: ignore[attr-defined]
        if function.__doc__:
            doc = inspect.cleandoc(function.__doc__)
            call.__doc__ = doc.replace(PLACE, "\n".join(lines))
        return call

    return decorate
