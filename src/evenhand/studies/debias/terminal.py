"""Print a debiasing training."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from evenhand.mitigations.training import next_steps
from evenhand.reports import Printer
from evenhand.studies.debias.shown import search_cautions, search_sentences, search_tables
from evenhand.studies.debias.wording import WATCHED, cautions, sentences, watched_value


def render_training(
    lineage: Mapping[str, Any], folder: Path, console: Console, paths: Mapping[str, Path] | None = None
) -> None:
    """Print the training, the monitored values, cautions, and what to do next.

    `folder` is that of the model. `paths` are files that are listed at the end.
    """
    out = Printer(console)
    out.line(f"{lineage['base']['name']} against {lineage['bias']}", "bold")
    for sentence in sentences(lineage):
        out.line(sentence)
    out.gap()
    if "search" in lineage:
        render_tables(lineage["search"], out)
    else:
        render_watched(lineage, out)
    for text in cautions(lineage):
        out.line(f"- {text}", "dim")
    out.paths(paths)
    commands, note = next_steps(lineage, folder)
    for command, what in zip(commands, ("effect and cost", "of the adapter alone"), strict=False):
        out.path(what, command)
    if note:
        out.line(note, "dim")


def render_search(
    search: Mapping[str, Any], console: Console, paths: Mapping[str, Path] | None = None
) -> None:
    """Print a search without a chosen trial."""
    out = Printer(console)
    for sentence in search_sentences(search):
        out.line(sentence)
    out.gap()
    render_tables(search, out)
    for text in search_cautions(search):
        out.line(f"- {text}", "dim")
    out.paths(paths)


def render_tables(search: Mapping[str, Any], out: Printer) -> None:
    """Print the tables of a search."""
    for table in search_tables(search):
        table.render(out)
        out.gap()


def render_watched(lineage: Mapping[str, Any], out: Printer) -> None:
    """Print the monitored values before and after."""
    table = out.table(("measured on held-out texts", "left"), ("before", "right"), ("after", "right"))
    before, after = lineage["watched"]["before"], lineage["watched"]["after"]
    for name, value in after.items():
        out.row(table, WATCHED.get(name, name), watched_value(name, before[name]), watched_value(name, value))
    out.show(table)
