"""Ranges of numbers that the command line refuses. Imports nothing that the help of the program does not need."""

from collections.abc import Callable

import typer

from evenhand.schema import UsageError


def require_range(expected: str, is_valid: Callable[[float], bool]) -> Callable[..., float | None]:
    """Return a callback of an option that refuses other numbers, for ranges that `min` and `max` cannot state.

    expected: the range in words, as in "a number greater than 0". is_valid: whether a number is in it.
    """

    def check(ctx: typer.Context, param: typer.CallbackParam, value: float | None) -> float | None:
        if value is None or is_valid(value):
            return value
        flag = max(param.opts, key=len)
        raise UsageError(
            f"`{flag}` must be {expected}, got {value:g}.", f"`{ctx.command_path} --help` describes {flag}."
        )

    return check
