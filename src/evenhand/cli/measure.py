"""`evenhand measure`: numbers for answers that somebody already has; no model is needed."""

from pathlib import Path

import typer

from evenhand.cli import gating
from evenhand.cli.common import ClassifierError, Reference, say, show


def measure(
    file: Path = typer.Argument(
        ...,
        help="CSV of any delimiter, TSV, JSONL, Parquet or a workbook: one row per answer; with --benchmark one per "
        "prompt with its likelihood, or per continuation; of conversations a row per utterance.",
    ),
    column: list[str] = typer.Option(
        [],
        "--column",
        help="What a column holds, as THEIRS=OURS (who=group, pay=score); repeatable. OURS: group (several are "
        "several axes), axis, question, unit, rater, sample, score, label, negative, continuation, error.",
    ),
    negative: list[str] = typer.Option([], "--negative", help="A label that is negative; repeatable."),
    threshold: float | None = typer.Option(
        None, help="From which score on an answer counts as negative; without it means are compared."
    ),
    classifier: list[str] = typer.Option(
        [],
        "--classifier",
        help="Who judges the column `continuation` now, as NAME, or ROLE=NAME where a benchmark has several roles "
        "(toxicity=vader); repeatable.",
    ),
    benchmark: str | None = typer.Option(
        None, "--benchmark", "-b", help="Whose measures to compute on its responses; by default `answers`."
    ),
    delimiter: str | None = typer.Option(None, help="Between values of a CSV: a character, or tab."),
    encoding: str | None = typer.Option(None, help="Of a CSV, such as utf-8, utf-16, cp1252."),
    decimal: str | None = typer.Option(None, help="The decimal mark, . or a comma, where both are possible."),
    sheet: str | None = typer.Option(None, help="Of a workbook that has several."),
    missing: list[str] = typer.Option(
        [], "--missing", help='A value that counts as missing in every column ("k.A.", -99); repeatable.'
    ),
    seed: int = typer.Option(0, min=0, help="Of the nulls and the bootstrap."),
    margin: float = typer.Option(
        0.5, min=0, help="From which difference two descriptors count as told apart, nats per sentence."
    ),
    alpha: float = typer.Option(0.05, help="Level of the verdicts, after adjustment."),
    classifier_error: ClassifierError = None,
    reference: Reference = None,
    device: str = typer.Option("auto", help="For classifiers with weights: auto, cpu, cuda, cuda:1, mps."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for report.html, measurements.json and detail tables."
    ),
    fail_if: gating.FailIf = None,
    require_power: gating.RequirePower = None,
    junit: gating.JUnit = None,
    summary: gating.Summary = None,
) -> None:
    """Measure bias in answers you already have: evenhand measure ANSWERS.csv

    Each column of groups is an axis; a number, a label (--negative says which), true or false, or the text of the
    answer (--classifier judges it) is compared between its groups. Columns are said with --column; what is not said
    is guessed by name and printed. An empty value counts as missing, never as zero.

    Several rows of one person or thing: name its column (--column PERSON=unit), and it counts once. Questions that all
    groups met: --column WHAT=question. Several coders of an answer: --column WHO=rater.
    docs/how-to/measure_your_own_answers.md tells what a verdict then speaks of.

    With --benchmark the file holds that benchmark's responses: its group columns (`evenhand show BENCHMARK`) and
    `perplexity` or `log_likelihood` with `token_count`, or continuations with `negative` (where several roles judge,
    ROLE_negative), `score` or --classifier; `prompt_id` says which prompt a row answers.
    """
    from evenhand.studies.own_responses import measure as measured_by

    measured = measured_by(
        file,
        benchmark,
        columns=column,
        negative=negative,
        threshold=threshold,
        classifiers=classifier,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        sheet=sheet,
        missing=missing,
        seed=seed,
        margin=margin,
        alpha=alpha,
        reference=reference,
        classifier_error=classifier_error,
        device=device,
    )
    for line in measured.told:
        say(line, err=True)
    show(measured, None if output is None else measured.write(output))
    gating.hold(measured, fail_if, require_power, junit, summary)
