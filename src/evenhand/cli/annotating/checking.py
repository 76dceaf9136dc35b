"""`evenhand annotate check`: what is wrong in a study file, or what it would do."""

from pathlib import Path

import typer

from evenhand.cli.common import say


def check(study: Path = typer.Argument(..., metavar="STUDY.yaml", help="The study file.")) -> None:
    """Say what is wrong in a study file, line by line, or what it would do.

    Ends with 1 where something is wrong: every problem is told with its line. Nothing is served, and no database made.
    """
    from evenhand.annotation.definition import StudyError, outline, read_study
    from evenhand.schema import DataError

    try:
        told = outline(read_study(study))
    except StudyError as error:
        if len(error.problems) == 1:
            raise
        for problem in error.problems:  # all of them, however many: that is what was asked for
            say(problem, err=True)
        raise DataError(f"{study} has {len(error.problems):,} problems.", error.hint) from error
    width = max(len(title) for title, _ in told.lines)
    before = ""
    for title, text in told.lines:
        say(f"{'' if title == before else title:{width}}  {text}")
        before = title
