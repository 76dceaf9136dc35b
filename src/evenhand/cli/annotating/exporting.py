"""`evenhand annotate export` and `backup`."""

from pathlib import Path

import typer


def export(
    study: str = typer.Argument(..., metavar="STUDY"),
    output: Path = typer.Option(..., "--output", "-o", metavar="FILE"),
) -> None:
    """Write what people said to .jsonl, .csv or .parquet."""
    raise NotImplementedError


def backup(
    study: str = typer.Argument(..., metavar="STUDY"),
    output: Path = typer.Option(..., "--output", "-o", metavar="FILE"),
) -> None:
    """Copy the database while it is used."""
    raise NotImplementedError
