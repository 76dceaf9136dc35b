"""Shared code of the commands: flags that are not about a model, progress, and exit codes."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from inspect import cleandoc
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from evenhand.cli.panels import group_by_panel
from evenhand.schema import UsageError, unknown_name
from evenhand.study import require_range

if TYPE_CHECKING:
    from evenhand.runs import Progress
    from evenhand.studies import StudyResult
    from evenhand.studies.audit import Run

ClassifierError = Annotated[
    Path | None,
    typer.Option(
        "--classifier-error",
        help="Correct rates for known classifier errors. The file (CSV, JSON Lines or Parquet) gives error counts "
        "or labelled texts for each group.",
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(help="Group with which each other group of its axis is also compared."),
]
Prompts = Annotated[
    Path | None,
    typer.Option(help="Use your own prompts (CSV, JSON Lines or Parquet) instead of the benchmark's."),
]
Samples = Annotated[
    int | None,
    typer.Option(min=1, help="Number of responses per prompt. Default: the benchmark's number."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Random seed. Default: 0.")]
ReportCopy = Annotated[Path | None, typer.Option(help="Also write the report to this file.")]
LONGEST_NAME = 200
"""Maximum length of a file name in bytes. Systems allow 255; the temporary file next to it needs some of them."""
CALLED = {"benchmark": "benchmarks", "axis": "axes", "beams": "num_beams", "outcome": "outcomes"}
"""Names of options of an audit whose flags have other names."""


class Command(TyperCommand):
    """A command with flags in panels, whose errors state what was expected.

    These errors are about a missing option, a number out of range, or an unknown word.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters in the order of the panels of the help."""
        return group_by_panel(str(self.name), super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line. Raises UsageError for a missing option, an invalid number, and an unknown word."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if missing := _missing_parameter(error):
                raise missing from error
            if told := _wrong_number(error):
                raise UsageError(*told) from error
            if unknown := _unknown_word(error):
                raise unknown from error
            raise


require_positive = require_range("a number greater than 0", lambda value: 0 < value < inf)
require_level = require_range("a number greater than 0 and less than 1", lambda value: 0 < value < 1)

NUMBER_ERRORS = (
    *("int_parsing", "int_parsing_size", "int_from_float", "int_type", "float_parsing", "float_type"),
    *("greater_than_equal", "less_than_equal"),
)
"""Types of pydantic's errors about numbers."""


def _wrong_number(error: Any) -> tuple[str, str] | None:
    """Return message and hint for a number that is none or out of range; None for other errors."""
    from pydantic import ValidationError

    if not isinstance(error.__cause__, ValidationError):
        return None
    first = error.__cause__.errors()[0]
    if first["type"] not in NUMBER_ERRORS:
        return None
    flag = max(error.param.opts, key=len)
    low, high = error.param.min, error.param.max
    expected = "a number" if "float" in str(error.param.type_descriptor.annotation) else "a whole number"
    if low is not None and high is not None:
        expected += f" from {low:g} to {high:g}"
    elif low is not None or high is not None:
        expected += f" of at least {low:g}" if high is None else f" of at most {high:g}"
    return (
        f"`{flag}` must be {expected}, got {str(first['input'])[:80]!r}.",
        f"`{error.ctx.command_path} --help` describes {flag}.",
    )


def _missing_parameter(error: Any) -> UsageError | None:
    """Return the error for an option or argument that a command requires; None for other errors."""
    # a class that typer does not export
    if type(error).__name__ != "MissingParameter" or error.param is None:
        return None
    param: Any = error.param
    more = f"`{error.ctx.command_path} --help` describes all options." if error.ctx else ""
    if param.param_type_name == "argument":
        return UsageError(f"Missing argument: {param.name.upper()}.", f"Expected: {param.help} {more}")
    flag = max(param.opts, key=len)
    if flag == "--classifier":
        from evenhand.studies import forgotten_classifier

        hint = "Give a classifier: --classifier NAME (`evenhand list classifiers` shows them)."
        return forgotten_classifier(f"Missing option: `{flag}`.", hint, "tone")
    return UsageError(f"Missing option: `{flag}`.", f"Expected: {param.help} {more}")


def _unknown_word(error: Any) -> UsageError | None:
    """Return the error for a word that is not among the words of an argument; None for other errors."""
    descriptor = getattr(error.param, "type_descriptor", None)
    known = getattr(descriptor, "annotation", None)
    if not (isinstance(known, type) and issubclass(known, StrEnum)) or not hasattr(error.__cause__, "errors"):
        return None
    return unknown_name(
        error.param.name, str(error.__cause__.errors()[0]["input"]), [word.value for word in known]
    )


class App(typer.Typer):
    """A Typer application that wraps each paragraph of a docstring to the width of the terminal.

    Typer keeps the line breaks of the source, which do not fit other widths.
    """

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Return a decorator that registers a function as a command; arguments as for `typer.Typer.command`."""

        def register(function: Any) -> Any:
            settings.setdefault("help", join_lines(function.__doc__ or ""))
            settings.setdefault("cls", Command)
            return super(App, self).command(name, **settings)(function)

        return register


def join_lines(docstring: str) -> str:
    r"""Join the lines of each paragraph, except of paragraphs that begin with \b, such as examples.

    >>> join_lines("Count words.\n\n    In one\n    file.\n\n    \b\n    Example:\n      count a.txt")
    'Count words.\n\nIn one file.\n\n\x08\nExample:\n  count a.txt'
    """
    paragraphs = cleandoc(docstring).split("\n\n")
    return "\n\n".join(text if text.startswith("\b") else text.replace("\n", " ") for text in paragraphs)


def convert_flags(
    flags: Mapping[str, Any], *others: str, called: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return flags as options: with the options' names, lists as tuples and paths as text.

    flags: a command's arguments. others: arguments that are not options. called: options whose flags have other names.

    >>> convert_flags({"axis": ["age"], "prompts": Path("a.csv"), "plan": True}, "plan", called=CALLED)
    {'axes': ('age',), 'prompts': 'a.csv'}
    """
    names = called or {}
    return {
        names.get(name, name): _convert_value(value) for name, value in flags.items() if name not in others
    }


def stated(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given on the command line."""
    return {name: value for name, value in options.items() if value not in (None, (), {})}


def stated_with_files(options: Mapping[str, Any], config: Path | None, settings: list[str]) -> dict[str, Any]:
    """Return the options that were given by flags, in a file or by --set."""
    named = {**options, "config": _convert_value(config), "set": settings}
    return {name: value for name, value in named.items() if value not in (None, (), [], {})}


def progress() -> "Progress":
    """Return the progress reporter of verbs, which writes to stderr."""
    from evenhand.runs import progress_for

    return progress_for(sys.stderr)


def written(run: "Run", copy: Path | None = None) -> dict[str, Any]:
    """Write an audit's report, and a copy if requested; return its path for `show`."""
    return {"report": shown_place(run, run.report(copy))}


def shown_place(run: "Run", file: Path) -> Path | str:
    """Return the location of a run's file for users: the URL if the run is in object storage."""
    if run.address is None or not file.is_relative_to(run.path):
        return file
    return f"{run.address}/{file.relative_to(run.path).as_posix()}"


def show(result: "StudyResult", paths: Mapping[str, Any] | None = None) -> None:
    """Print a result and the paths of its files."""
    from rich.console import Console

    result.render(Console(), paths)


def writable(flag: str, file: Path | str) -> Path:
    """Return the path of a flag's output file, checked before any computation.

    Raises UsageError for a folder or a path that is not writable.
    """
    from evenhand.schema import is_folder

    path = Path(file)
    # the first existing parent folder decides, because those below it will be created
    above = next((folder for folder in path.absolute().parents if is_folder(folder)), None)
    if not path.name or len(os.fsencode(path.name)) > LONGEST_NAME or is_folder(path):
        what = (
            f"the folder {str(file)[:80]}"
            if path.name and is_folder(path)
            else str(file)[:80] or "an empty name"
        )
        raise UsageError(
            f"`{flag}` expects a file, got {what}.",
            f"Give the name of a file: {flag} {path / 'FILE' if is_folder(path) else 'FILE'}",
        )
    if above is None or not os.access(above, os.W_OK) or any(map(_is_in_the_way, path.absolute().parents)):
        raise UsageError(
            f"`{flag}`: cannot write to {file}.",
            f"Give a file in a folder that you can write to: {flag} FILE",
        )
    return path


def _is_in_the_way(folder: Path) -> bool:
    from evenhand.schema import is_folder

    return os.path.lexists(folder) and not is_folder(folder)


def rebuild_command(context: typer.Context, **corrected: list[str]) -> str:
    """Return the command that the user gave, with other values for some repeatable options, quoted for a shell."""
    words = ["evenhand", context.info_name or ""]
    for parameter in context.command.params:
        name = parameter.name or ""
        value = corrected.get(name, context.params.get(name))
        source = context.get_parameter_source(name)
        if name not in corrected and (source is None or source.name != "COMMANDLINE"):
            continue
        flag = max(parameter.opts, key=len)
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif isinstance(value, list | tuple):
            words += [word for one in value for word in (flag, str(one))]
        else:
            words += [flag] if value is True else [flag, str(value)]
    return shlex.join(words)


def say(line: str, *, err: bool = False) -> None:
    """Print a line with external text, without control characters or commands for the log of a job."""
    from evenhand.reports.wording import visible, without_commands

    typer.echo(without_commands(visible(line)), err=err)


def end(too_many: str | None, more: str = ".") -> None:
    """Exit with code 3 if more failed than the threshold allows.

    too_many: description of failures above the threshold; None without any. more: end of the sentence.
    """
    if too_many:
        from rich.console import Console

        Console(stderr=True).print(f"{too_many}, more than the threshold allows{more}", style="bold")
        raise typer.Exit(3)


def _convert_value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else str(value) if isinstance(value, Path) else value
