"""`evenhand annotate export` and `backup`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.cli.annotating.opening import opened
from evenhand.cli.common import say, writable
from evenhand.schema import UsageError, write_table

if TYPE_CHECKING:
    from evenhand.annotation import Store

EXPORTS = (".jsonl", ".csv", ".parquet")


def export(
    study: str = typer.Argument(
        ..., metavar="STUDY", help="The study file, its database, or postgresql://..."
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", metavar="FILE", help="Where to: .jsonl, .csv or .parquet."
    ),
    name: str | None = typer.Option(None, "--study", help="Which study, where a database holds several."),
    database: str | None = typer.Option(None, help="Of a study file, if it is not beside it."),
    classifier_error: Path | None = typer.Option(
        None,
        "--classifier-error",
        metavar="FILE",
        help="Also write how often the run's classifier differs from people, as `evenhand measure --classifier-error` "
        "takes it.",
    ),
    question: str | None = typer.Option(
        None, help="Whose answers it is held against; needed where there are several."
    ),
    negative: list[str] = typer.Option([], "--negative", help="A harmful answer to it; repeatable."),
    classifier: str | None = typer.Option(None, help="Which classifier; needed where there are several."),
) -> None:
    """Write what people said to .jsonl, .csv or .parquet."""
    if classifier_error is None and (question or negative or classifier):
        raise UsageError(
            "--question, --negative and --classifier belong to --classifier-error.", "Name its FILE."
        )
    if output.suffix.lower() not in EXPORTS:
        raise UsageError(f"-o {output}: an export ends in .jsonl, .csv or .parquet.", "Name such a file.")
    file = writable("-o", output)
    errors = None if classifier_error is None else writable("--classifier-error", classifier_error)
    store = _apart_from(file, opened(study, name, database), study)
    try:
        from evenhand.annotation import classifier_error_table, read_export, write_export

        say(f"Written to {write_export(store, file)}. Next: evenhand annotate analyse {file}")
        if errors is not None:
            table = classifier_error_table(read_export(file), question, negative, classifier)
            say(
                f"Written to {write_table(errors, table)}: {table.height:,} texts on which most people agree."
            )
    finally:
        store.close()


def backup(
    study: str = typer.Argument(..., metavar="STUDY", help="The study file, or its database."),
    output: Path = typer.Option(..., "--output", "-o", metavar="FILE", help="Where to; a new file."),
    name: str | None = typer.Option(None, "--study", help="Any study in it, where it holds several."),
    database: str | None = typer.Option(None, help="Of a study file, if it is not beside it."),
) -> None:
    """Copy the database while it is used."""
    file = writable("-o", output)
    if os.path.lexists(file):
        raise UsageError(f"{file} is there already, and a backup replaces nothing.", "Name a new file.")
    store = opened(study, name, database)
    try:
        from evenhand.annotation.store import administration

        # Whoever can read a database can read what people said and the key that signs their links.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            administration.backup(store, str(file))
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        say(
            f"Copied to {file}, readable by you alone. To go back: stop serving, and put it in the database's place."
        )
    finally:
        store.close()


def _apart_from(file: Path, store: "Store", study: str) -> "Store":
    taken = {os.path.realpath(study), os.path.realpath(store.engine.url.database or study)}
    if os.path.realpath(file) in taken:
        store.close()
        raise UsageError(f"-o {file} would replace the study itself.", "Name another file.")
    return store
