"""`evenhand agreement`: agreement between classifiers of a run, or between annotators of tables."""

from pathlib import Path

import typer

from evenhand.cli.common import show


def agreement(
    places: list[str] = typer.Argument(
        ...,
        metavar="RUN | FILE...",
        help="Folder or S3 URL (s3://bucket/run) of a run with several classifiers. Or tables of human labels: "
        "one table with the columns unit, rater, rating and optionally question; an export of `evenhand "
        "annotate`; or one labelled RedditBias table per rater.",
    ),
    measurement: str | None = typer.Option(
        None, help="For tables: scale of the ratings, nominal, ordinal or interval. Default: nominal."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for agreement.html and agreement.json."
    ),
) -> None:
    """Compare classifiers on the same texts: agreement beyond chance, correlation, differences by group.

    If classifiers disagree more about one group than about others, the verdict on that group depends on the
    choice of classifier. `evenhand rescore RUN --classifier ROLE=NAME` adds a classifier to a run.

    For tables and exports, the result is Krippendorff's alpha for each question, with confidence intervals.

    \b
    Examples:
      evenhand agreement runs/gpt2
      evenhand agreement labels.csv --measurement ordinal -o agreement
    """
    from evenhand.schema import UsageError, is_file
    from evenhand.studies import StudyResult
    from evenhand.studies.agreement import agreement_of_raters
    from evenhand.studies.audit import open_run

    if output is not None and output.suffix == ".json":
        raise UsageError(f"`-o` expects a folder, got {output}.", "Give the name of a folder: -o FOLDER")
    study: StudyResult
    if all(map(is_file, places)):
        study = agreement_of_raters([Path(place) for place in places], measurement)  # type: ignore[arg-type]  # checked there
    elif len(places) > 1:
        raise UsageError(
            "Several inputs were given, and at least one is a run. Only tables of human labels can be combined.",
            "Give a single run, or only tables.",
        )
    elif measurement is not None:
        raise UsageError(
            "`--measurement` can only be used with tables of human labels.", "Remove --measurement."
        )
    else:
        study = open_run(places[0]).agreement()
    show(study, None if output is None else study.write(output))
