"""What the verbs share: flags as options, progress, and how a verb ends."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from evenhand.runs import Progress
    from evenhand.studies import StudyResult

ClassifierError = Annotated[
    Path | None,
    typer.Option(
        "--classifier-error",
        help="CSV, JSONL or Parquet that says how often the classifier is wrong about each group, by counts or "
        "labelled texts; rates are corrected by it.",
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(help="A group with which the other groups of its axis are compared one by one, too."),
]
CALLED = {"benchmark": "benchmarks", "axis": "axes", "beams": "num_beams"}
"""Options of an audit by the flags that are called otherwise."""


def options_of(
    flags: Mapping[str, Any], *others: str, called: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Flags as options: under the options' names, lists as tuples and paths as text.

    flags: a verb's arguments. others: those that are no options. called: options by the flags called otherwise.

    >>> options_of({"axis": ["age"], "prompts": Path("a.csv"), "plan": True}, "plan", called=CALLED)
    {'axes': ('age',), 'prompts': 'a.csv'}
    """
    names = called or {}
    return {names.get(name, name): _plain(value) for name, value in flags.items() if name not in others}


def stated(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were named on the command line."""
    return {name: value for name, value in options.items() if value not in (None, (), {})}


def stated_with_files(options: Mapping[str, Any], config: Path | None, settings: list[str]) -> dict[str, Any]:
    """The options that were named, by flags, in a file or by --set."""
    named = {**options, "config": _plain(config), "set": settings}
    return {name: value for name, value in named.items() if value not in (None, (), [], {})}


def progress() -> "Progress":
    """Where verbs report how far they are: stderr."""
    from evenhand.runs import progress_for

    return progress_for(sys.stderr)


def show(result: "StudyResult", paths: Mapping[str, Path] | None = None) -> None:
    """Print a result and where its files lie."""
    from rich.console import Console

    result.render(Console(), paths)


def end(too_many: str | None, more: str = ".") -> None:
    """Exit with 3 where more failed than the threshold allows.

    too_many: what failed too often, in a few words; None where nothing did. more: how the sentence ends.
    """
    if too_many:
        from rich.console import Console

        Console(stderr=True).print(f"{too_many}, more than the threshold allows{more}", style="bold")
        raise typer.Exit(3)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else str(value) if isinstance(value, Path) else value
