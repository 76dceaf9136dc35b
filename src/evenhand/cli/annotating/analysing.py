"""`evenhand annotate analyse`: analyse the judgements of an export."""

from pathlib import Path

import typer

from evenhand.cli.common import ReportCopy, convert_flags, require_level, show, writable


def analyse(
    file: Path = typer.Argument(
        ..., metavar="FILE", help="File of judgements that `evenhand annotate export` wrote."
    ),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="DIR",
        help="Folder for people.html, people.json and the tables. Default: a folder next to FILE, with the name "
        "of FILE and _analysis.",
    ),
    question: list[str] = typer.Option(
        [], help="Analyse only this question. Repeatable. Default: all questions."
    ),
    by: str | None = typer.Option(
        None,
        metavar="groups.KEY|person.QUESTION",
        help="Also compare groups. groups.KEY groups items by one of their properties, such as groups.group. "
        "person.QUESTION groups annotators by their answers to a survey question. Ratings are compared between the "
        "groups of each axis; preferences are shown for each group.",
    ),
    baseline: str | None = typer.Option(
        None,
        metavar="MODEL",
        help="Model with which other models are compared. In its pairs, results state the share of the other model.",
    ),
    rules: str = typer.Option(
        "study",
        metavar="study|published|none|FILE",
        help="Exclusion rules: study (as configured), published (ACUTE-Eval's: all judgements of an annotator "
        "with one wrong onboarding item are excluded), none, or a YAML file. The report compares them.",
    ),
    alpha: float = typer.Option(
        0.05,
        callback=require_level,
        help="Significance level: the probability of any false verdict if there is no difference.",
    ),
    seed: int = typer.Option(0, min=0, help="Random seed for resamples and permutations."),
    report: ReportCopy = None,
) -> None:
    """Analyse an export: win rates, ratings, agreement, reliability, and classifiers compared with annotators.

    Every result states its null hypothesis. The estimates of evenhand account for the variation between
    annotators and items. Next to them are the tests of the papers (ACUTE-Eval's exact test, ROBBIE's
    chi-square). The exit code is 3 if the exclusion rules leave no judgement.

    \b
    Examples:
      evenhand annotate analyse judgements.jsonl
      evenhand annotate analyse judgements.jsonl --by groups.group --rules published
    """
    asked = convert_flags(locals(), "file", "output", "report")
    from evenhand.annotation import analyse as analysis_of

    if report is not None:
        writable("--report", report)
    study = analysis_of(file, output=output, **asked)
    study.report(report)
    show(study, study.paths | ({} if report is None else {"copy": report}))
    if study.nothing_counts:
        raise typer.Exit(3)
