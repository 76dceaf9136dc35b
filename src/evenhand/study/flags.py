"""The flags of a verb, made from the options of its study."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evenhand.schema import UsageError
from evenhand.study.fields import bounds, describe_field, get_flag, ordered_fields, plain_type
from evenhand.study.ranges import require_range

if TYPE_CHECKING:
    from evenhand.study.resuming import StudyOptions


def verb_parameters(
    options: "type[StudyOptions]",
    argument: str,
    argument_help: str,
    others: Mapping[str, inspect.Parameter],
    *,
    needed: bool,
) -> list[inspect.Parameter]:
    """Return the parameters of the function of a verb, as typer reads them: one for each option, and others.

    Parameters
    ----------
    options
        Options class of the study.
    argument, argument_help
        Name and help of the option that is a positional argument.
    others
        Further parameters that are not options, by name. "trust_addresses" follows the options of the model, an
        "output" with a default follows the required options, and the others come last.
    needed
        Whether options without a default must be given. False if the folder of a study can be given instead.
    """
    parameters: list[inspect.Parameter] = []
    others = dict(others)
    must = [name for name in options.model_fields if options.model_fields[name].is_required()]
    default = others["output"].default
    # an output that must be given is listed next to the other required parameters
    first = None if default is None else [name for name in must if name != argument][-1]
    fields = [part for part in ordered_fields(options) if part[0] not in options.HIDDEN]
    for number, (name, field, owner) in enumerate(fields):
        if name == argument:
            given = typer.Argument(..., help=argument_help)
            parameters.insert(0, _parameter(name, str, given))
            continue
        parameters.append(_parameter(name, _kind(field), _option(name, field, needed)))
        if name == first:
            parameters.append(others.pop("output"))
        last = number + 1 == len(fields) or fields[number + 1][2] is not owner
        if last and "trust_remote_code" in owner.__annotations__ and "trust_addresses" in others:
            parameters.append(others.pop("trust_addresses"))
    return [*parameters, *others.values()]


def read_flags(options: type[BaseModel], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that the user gave, converted to values of options. Raises UsageError for an invalid form."""
    found = {}
    for name, value in flags.items():
        if value not in (None, []):
            found[name] = _value(
                _names(name, options.model_fields[name])[0], value, options.model_fields[name]
            )
    return found


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _names(name: str, field: FieldInfo) -> tuple[str, ...]:
    return get_flag(field).names or (f"--{name.replace('_', '-')}",)


def _kind(field: FieldInfo) -> Any:
    """Return the type that typer reads for a field."""
    form, kind = get_flag(field).form, plain_type(field.annotation)
    if form == "path":
        return Path | None
    if form not in ("", "text") or get_origin(kind) in (tuple, dict):
        return str | None if form == "text" else list[str]
    return str | None if form == "text" or get_origin(kind) is Literal else kind | None


def _option(name: str, field: FieldInfo, needed: bool) -> Any:
    low, high, low_out, high_out = bounds(field)
    settings: dict[str, Any] = {"help": describe_field(field), "rich_help_panel": get_flag(field).panel}
    if low_out or high_out:
        settings["callback"] = require_range(*_range(low, high, low_out, high_out))
    else:
        ends = {"min": low, "max": high}
        settings |= {end: int(n) if n.is_integer() else n for end, n in ends.items() if n is not None}
    default = ... if needed and field.is_required() else _default(field)
    return typer.Option(default, *_names(name, field), **settings)


def _default(field: FieldInfo) -> Any:
    """Return the default that the help shows. Most descriptions state the default in words instead."""
    kind = _kind(field)
    if kind == list[str]:
        return []
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if isinstance(default, bool):
        return default if get_flag(field).shown else None
    return None if "Default:" in describe_field(field) else default


def _range(
    low: float | None, high: float | None, low_out: bool, high_out: bool
) -> tuple[str, Callable[[float], bool]]:
    words = []
    if low is not None:
        words.append(f"greater than {low:g}" if low_out else f"of at least {low:g}")
    if high is not None:
        words.append(f"less than {high:g}" if high_out else f"at most {high:g}")
    least, most = (-inf if low is None else low), (inf if high is None else high)

    def is_valid(value: float) -> bool:
        above = value > least if low_out else value >= least
        return above and (value < most if high_out or most == inf else value <= most)

    return f"a number {' and '.join(words)}", is_valid


def _value(flag: str, value: Any, field: FieldInfo) -> Any:
    form = get_flag(field).form
    if "=" in form:
        return dict(_pairs(flag, value, form))
    if form == "list":
        parts = tuple(part.strip() for one in value for part in one.split(","))
        if not all(parts):
            raise UsageError(f"`{flag}` contains an empty name.", "Remove it, or give a name.")
        return parts
    return tuple(value) if isinstance(value, list) else str(value) if isinstance(value, Path) else value


def _pairs(flag: str, given: list[str], form: str) -> Iterator[tuple[str, str]]:
    seen = set()
    for words in given:
        label, equals, value = (part.strip() for part in words.partition("="))
        if not (label and equals and value):
            raise UsageError(f"`{flag}` expects {form}, got {words!r}.", f"Write {flag} {form}.")
        if label in seen:
            raise UsageError(
                f"`{flag}` was given twice for {label!r}.", "Remove one, or choose another name."
            )
        seen.add(label)
        yield label, value
