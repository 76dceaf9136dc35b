"""A training against a bias in a terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from evenhand.reports import Printer, wording
from evenhand.studies.debias.wording import WATCHED, cautions, sentences


def render_training(
    lineage: Mapping[str, Any], console: Console, paths: Mapping[str, Path] | None = None
) -> None:
    """Print what was done, what was watched, and what to beware of; paths: files to point at in the end."""
    out = Printer(console)
    out.line(f"{lineage['base']['name']} against {lineage['bias']}", "bold")
    for sentence in sentences(lineage):
        out.line(sentence)
    out.gap()
    table = out.table(("watched on texts kept apart", "left"), ("before", "right"), ("after", "right"))
    before, after = lineage["watched"]["before"], lineage["watched"]["after"]
    for name, value in after.items():
        out.row(table, WATCHED.get(name, name), wording.number(before[name]), wording.number(value))
    out.show(table)
    for text in cautions(lineage):
        out.line(f"- {text}", "dim")
    out.paths(paths)
