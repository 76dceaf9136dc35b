"""`evenhand annotate analyse`: what people's answers say, from the export alone."""

from pathlib import Path

import typer

from evenhand.cli.common import options_of, show, writable


def analyse(
    file: Path = typer.Argument(..., metavar="FILE", help="What `evenhand annotate export` wrote."),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        metavar="DIR",
        help="Folder for people.html, people.json and tables. Default: FILE's name with _analysis, beside it.",
    ),
    question: list[str] = typer.Option([], help="Only this question; repeatable. Default: all."),
    by: str | None = typer.Option(
        None,
        metavar="groups.KEY|person.QUESTION",
        help="Also by what items say of KEY, such as groups.group: ratings of groups are compared within their axis, "
        "preferences shown within each level. Or by groups of annotators: what they answered to a QUESTION about "
        "themselves.",
    ),
    baseline: str | None = typer.Option(
        None, metavar="MODEL", help="The model that others are held against: it stands second in every pair."
    ),
    rules: str = typer.Option(
        "study",
        metavar="study|published|none|FILE",
        help="Whose answers count: by the study's own rules; by ACUTE-Eval's analysis (one onboarding item wrong: "
        "all of the person's answers are out); everybody's; or by rules in a YAML file. The report compares them.",
    ),
    alpha: float = typer.Option(0.05, help="Chance of any false verdict where there is no difference."),
    seed: int = typer.Option(0, min=0, help="Of resamples and permutations."),
    report: Path | None = typer.Option(None, help="Also write the page to this file."),
) -> None:
    """Analyse an export: win rates, ratings, agreement, reliability, classifiers beside people; each with its null.

    Beside our numbers, which let persons and items pull votes together, stand those of the papers: ACUTE-Eval's exact
    test with stars, ROBBIE's chi-square. Ends with 3 where rules leave no answer.
    """
    asked = options_of(locals(), "file", "output", "report")
    from evenhand.annotation import analyse as analysis_of

    if report is not None:
        writable("--report", report)
    study = analysis_of(file, output=output, **asked)
    study.report(report)
    show(study, study.paths | ({} if report is None else {"copy": report}))
    if study.nothing_counts:
        raise typer.Exit(3)
