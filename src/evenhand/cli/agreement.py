"""`evenhand agreement`: how far the classifiers that have judged a run agree."""

from pathlib import Path

import typer


def agreement(
    run: Path = typer.Argument(..., help="The folder of a run that several classifiers have judged."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Also write the numbers as JSON here."),
) -> None:
    """Compare classifiers on the same texts: agreement beyond chance, correlation, and who is judged differently.

    `evenhand rescore RUN --classifier ROLE=NAME` adds a classifier. Where classifiers disagree more about one
    group than about others, the choice of classifier decides about the verdict on that group.
    """
    from rich.console import Console

    from evenhand.studies.agreement import render_agreement, write_agreement_json
    from evenhand.studies.audit import open_run

    study = open_run(run).agreement()
    console = Console()
    render_agreement(study, console)
    if output is not None:
        written = write_agreement_json(study, output)
        console.print(f"numbers: {written}", markup=False, highlight=False, soft_wrap=True)
