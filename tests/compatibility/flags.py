"""List every verb's arguments and flags: names, type, default and choices, one a line."""

import re
from collections.abc import Iterator
from typing import Any, get_args

import typer

from evenhand.cli.app import app


def commands(group: Any, path: str = "evenhand") -> Iterator[tuple[str, Any]]:
    """Return the command line of each verb with its command, and of the program itself."""
    if hasattr(group, "commands"):
        yield path, group
        for name, command in sorted(group.commands.items()):
            yield from commands(command, f"{path} {name}")
    else:
        yield path, group


def all_commands() -> Iterator[tuple[str, Any]]:
    """Return the command line of each verb of evenhand with its command."""
    return commands(typer.main.get_command(app))


def names(parameter: Any) -> str:
    """Return the flags of a parameter, or the name of an argument in capital letters."""
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    turned_off = "/".join(sorted(parameter.secondary_opts))
    return ", ".join(sorted(parameter.opts, reverse=True)) + (f" / {turned_off}" if turned_off else "")


def kind(parameter: Any) -> str:
    """Return the type of the values that a parameter takes, with choices and bounds."""
    if getattr(parameter, "is_flag", False):
        return "switch"
    annotation = parameter.type_descriptor.annotation
    parts = [
        annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)
    ]
    parts += [parameter.metavar] if parameter.metavar else []
    bounds = ((">=", parameter.min), ("<=", parameter.max))
    return " ".join([*parts, *(f"{sign} {bound}" for sign, bound in bounds if bound is not None)])


def default(parameter: Any) -> str:
    """Return the default of a parameter; for one that the options class sets, what the help states."""
    if parameter.required:
        return "required"
    value = parameter.default
    if value not in (None, [], ()):
        return f"default {value!r}"
    stated = re.search(r"Default: (.+?)(?:\.(?:\s|$)|$)", parameter.help or "")
    return f"default {stated[1]}" if stated else "no default"


def describe_flag(parameter: Any) -> str:
    """Return the line of a parameter."""
    parts = [
        kind(parameter),
        *(["repeatable"] if parameter.multiple or parameter.nargs == -1 else []),
        default(parameter),
        *(["hidden"] if parameter.hidden else []),
    ]
    return f"  {names(parameter)}: {'; '.join(parts)}"


def all_flags() -> str:
    """Return the flags of every verb, the verbs and flags in alphabetical order, arguments in their own order."""
    lines = ["# Every verb's arguments and flags. Renew with: python -m tests.compatibility"]
    for path, command in all_commands():
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        flags = [one for one in command.params if one.param_type_name != "argument"]
        lines += ["", path + (" (hidden)" if command.hidden else "")]
        lines += [describe_flag(one) for one in (*arguments, *sorted(flags, key=names))]
    return "\n".join(lines) + "\n"


def all_help() -> str:
    """Return the help of every verb: its description, and the words of each argument and flag."""
    lines = ["# The help of every verb. Renew with: python -m tests.compatibility"]
    for path, command in all_commands():
        lines += ["", path, *one_line(command.help), *one_line(command.epilog)]
        lines += [f"  {names(one)}: {' '.join((one.help or '').split())}" for one in command.params]
    return "\n".join(lines) + "\n"


def one_line(text: str | None) -> list[str]:
    """Return a text without line breaks, in a list that is empty where there is none."""
    return ["  " + " ".join(text.split())] if text else []


TEXTS = {"flags": all_flags, "help": all_help}
"""The snapshots of the command line, and what makes each."""
