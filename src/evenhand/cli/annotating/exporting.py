"""`evenhand annotate export` and `backup`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.cli.annotating.opening import StudyDatabase, StudyName, StudyPlace, opened
from evenhand.cli.common import say, writable
from evenhand.schema import UsageError

if TYPE_CHECKING:
    from evenhand.annotation import Store

EXPORTS = (".jsonl", ".csv", ".parquet")


def export(
    study: StudyPlace,
    output: Path = typer.Option(
        ..., "--output", "-o", metavar="FILE", help="File to write: .jsonl, .csv or .parquet."
    ),
    name: StudyName = None,
    database: StudyDatabase = None,
    classifier_error: Path | None = typer.Option(
        None,
        "--classifier-error",
        metavar="FILE",
        help="Also write a table of the classifier's errors, which assumes that the annotators are right. "
        "`--classifier-error` of `evenhand audit` and `evenhand measure` reads it.",
    ),
    question: str | None = typer.Option(
        None,
        help="For --classifier-error: question whose judgements are compared with the classifier. Required if the "
        "study has several questions.",
    ),
    negative: list[str] = typer.Option(
        [],
        "--negative",
        help="For --classifier-error: answer to the question that counts as harmful. Repeatable.",
    ),
    classifier: str | None = typer.Option(
        None,
        help="For --classifier-error: classifier whose errors are counted. Required if the study contains labels of "
        "several classifiers.",
    ),
) -> None:
    """Export the judgements to .jsonl, .csv or .parquet.

    \b
    Example:  evenhand annotate export study.yaml -o judgements.jsonl
    """
    if classifier_error is None and (question or negative or classifier):
        raise UsageError(
            "`--question`, `--negative` and `--classifier` require `--classifier-error`.",
            "Add --classifier-error FILE, or remove them.",
        )
    if output.suffix.lower() not in EXPORTS:
        raise UsageError(
            f"-o {output}: unknown file type. An export must end in .jsonl, .csv or .parquet.",
            "Change the file name.",
        )
    file = writable("-o", output)
    errors = None if classifier_error is None else writable("--classifier-error", classifier_error)
    store = _check_output(file, opened(study, name, database), study)
    try:
        from evenhand.annotation import classifier_error_table, read_export, write_export
        from evenhand.schema import write_table

        say(f"Written to {write_export(store, file)}. Next: evenhand annotate analyse {file}")
        if errors is not None:
            table = classifier_error_table(read_export(file), question, negative, classifier)
            say(f"Written to {write_table(errors, table)}: {table.height:,} texts with a majority judgement.")
    finally:
        store.close()


def backup(
    study: str = typer.Argument(
        ..., metavar="STUDY", help="Study file (.yaml), or the SQLite file of its database."
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", metavar="FILE", help="File to write. It must not exist."
    ),
    name: str | None = typer.Option(
        None, "--study", help="Name of any study in the database. Required if the database contains several."
    ),
    database: StudyDatabase = None,
) -> None:
    """Copy the database while it is in use.

    \b
    Example:  evenhand annotate backup study.yaml -o backup.sqlite
    """
    file = writable("-o", output)
    if os.path.lexists(file):
        raise UsageError(
            f"{file} already exists. A backup does not overwrite files.", "Choose another file name with -o."
        )
    store = opened(study, name, database)
    try:
        from evenhand.annotation.store import administration

        # anyone who can read a database can read the judgements and the key that signs links
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            administration.backup(store, str(file))
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        say(
            f"Copied to {file}, readable only by you. To restore it: stop the server, and replace the database "
            "with this file."
        )
    finally:
        store.close()


def _check_output(file: Path, store: "Store", study: str) -> "Store":
    taken = {os.path.realpath(study), os.path.realpath(store.engine.url.database or study)}
    if os.path.realpath(file) in taken:
        store.close()
        raise UsageError(f"-o {file} would overwrite the study itself.", "Choose another file name with -o.")
    return store
