"""A count in a terminal."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from evenhand.studies.frequencies.view import FrequencyView


def render_terminal(view: FrequencyView, console: Console, paths: Mapping[str, Path] | None = None) -> None:
    """Print it. paths: files to point at in the end."""
    raise NotImplementedError
