"""Print a found trigger in a terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.mitigations.triggers import TriggerFile
from evenhand.reports import Printer
from evenhand.studies.search_trigger.wording import sentences


def render_trigger(trigger: TriggerFile, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print the trigger, its effect, and cautions. paths: files that are listed at the end."""
    out = Printer(console)
    out.line(f"trigger: {trigger.text!r}", "bold")
    for sentence in sentences(trigger):
        out.line(sentence)
    out.paths(paths)
