"""`evenhand annotate analyse`: what people's answers say, from the export alone."""

from pathlib import Path

import typer


def analyse(
    file: Path = typer.Argument(..., metavar="FILE"),
    output: Path | None = typer.Option(None, "--output", "-o", metavar="DIR"),
) -> None:
    """Analyse an export: win rates, ratings, agreement, reliability, classifiers beside people; each with its null."""
    raise NotImplementedError
