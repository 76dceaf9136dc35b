"""`evenhand agreement`: how far the classifiers that have judged a run agree."""

from pathlib import Path

import typer

from evenhand.cli.common import show, writable


def agreement(
    run: Path = typer.Argument(..., help="The folder of a run that several classifiers have judged."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Also write the numbers as JSON here."),
) -> None:
    """Compare classifiers on the same texts: agreement beyond chance, correlation, and who is judged differently.

    `evenhand rescore RUN --classifier ROLE=NAME` adds a classifier. Where classifiers disagree more about one
    group than about others, the choice of classifier decides about the verdict on that group.
    """
    from evenhand.schema import write_json
    from evenhand.studies.audit import open_run

    if output is not None:
        writable("--output", output)
    study = open_run(run).agreement()
    show(study, None if output is None else {"numbers": write_json(output, study.to_dict())})
