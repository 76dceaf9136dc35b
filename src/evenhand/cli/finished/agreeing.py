"""`evenhand agreement`: how far the classifiers that have judged a run agree, or people who labelled tables."""

from pathlib import Path

import typer

from evenhand.cli.common import show


def agreement(
    places: list[str] = typer.Argument(
        ...,
        metavar="RUN | FILE...",
        help="The folder of a run that several classifiers have judged, or its address on a store (s3://bucket/run); "
        "or tables that people have labelled: one with unit, rater, rating and perhaps question, an export of "
        "`evenhand annotate`, or one labelled RedditBias table of each rater.",
    ),
    measurement: str | None = typer.Option(
        None, help="Tables: how ratings differ, nominal (the default), ordinal or interval."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for agreement.html and agreement.json."
    ),
) -> None:
    """Compare classifiers on the same texts: agreement beyond chance, correlation, and who is judged differently.

    `evenhand rescore RUN --classifier ROLE=NAME` adds a classifier. Where classifiers disagree more about one
    group than about others, the choice of classifier decides about the verdict on that group.

    Of tables and exports it gives Krippendorff's alpha of each question, with limits.
    """
    from evenhand.schema import UsageError, is_file
    from evenhand.studies import StudyResult
    from evenhand.studies.agreement import agreement_of_raters
    from evenhand.studies.audit import open_run

    if output is not None and output.suffix == ".json":
        raise UsageError(
            f"-o names a folder, for a page and the numbers, and {output} reads like a file.", "-o FOLDER"
        )
    study: StudyResult
    if all(map(is_file, places)):
        study = agreement_of_raters([Path(place) for place in places], measurement)  # type: ignore[arg-type]  # checked there
    elif len(places) > 1:
        raise UsageError(
            "Several places are named that are not all tables.", "Name one run, or tables alone."
        )
    elif measurement is not None:
        raise UsageError("--measurement belongs to tables that people have labelled.", "Leave it out.")
    else:
        study = open_run(places[0]).agreement()
    show(study, None if output is None else study.write(output))
