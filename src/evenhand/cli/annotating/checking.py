"""`evenhand annotate check`: errors in a study file, or a preview."""

from pathlib import Path

import typer

from evenhand.cli.common import say


def check(study: Path = typer.Argument(..., metavar="STUDY.yaml", help="Study file.")) -> None:
    """Check a study file: list its errors by line, or show what it would do.

    The exit code is 1 if there are errors. Nothing is served, and no database is created.

    \b
    Example:  evenhand annotate check study.yaml
    """
    from evenhand.annotation.definition import StudyError, outline, read_study
    from evenhand.schema import DataError

    try:
        told = outline(read_study(study))
    except StudyError as error:
        if len(error.problems) == 1:
            raise
        for problem in error.problems:  # all problems, because the user asked for them
            say(problem, err=True)
        raise DataError(f"{study}: {len(error.problems):,} errors.", error.hint) from error
    width = max(len(title) for title, _ in told.lines)
    before = ""
    for title, text in told.lines:
        say(f"{'' if title == before else title:{width}}  {text}")
        before = title
