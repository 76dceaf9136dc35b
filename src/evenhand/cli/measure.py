"""`evenhand measure`: numbers for answers that somebody already has; no model is needed."""

from pathlib import Path

import typer

from evenhand.cli import gating, model_flags as flags
from evenhand.cli.common import ClassifierError, Reference, rebuild_command, say, show


def measure(
    context: typer.Context,
    file: Path = typer.Argument(
        ...,
        help="CSV (any delimiter), TSV, JSON Lines, Parquet or Excel workbook with one row per response. With "
        "--benchmark: one row per prompt with its likelihood, one per generated text, or one per utterance "
        "of a conversation.",
    ),
    column: list[str] = typer.Option(
        [],
        "--column",
        help="What a column of the file contains, as COLUMN=ROLE (who=group, pay=score). Repeatable. ROLE: group (if "
        "several columns have this role, each is a separate axis), axis, question, unit (person or thing to which a "
        "row belongs), rater, sample, score, label, negative, continuation (text of the response), or error.",
    ),
    negative: list[str] = typer.Option([], "--negative", help="Label that counts as negative. Repeatable."),
    threshold: float | None = typer.Option(
        None,
        help="Score from which a response counts as negative: compare the shares of such responses. Default: compare "
        "the mean scores.",
    ),
    classifier: list[str] = typer.Option(
        [],
        "--classifier",
        help="Classifier for the texts in the column `continuation`: NAME, or ROLE=NAME if the benchmark has "
        "several roles (toxicity=vader). Repeatable.",
    ),
    benchmark: str | None = typer.Option(
        None,
        "--benchmark",
        "-b",
        help="Benchmark to whose prompts the file contains responses; its measures are computed. Leave this out to "
        "compare the groups in any other table. Default: `answers`.",
    ),
    delimiter: str | None = typer.Option(None, help="Delimiter of a CSV: a character, or tab."),
    encoding: str | None = typer.Option(
        None, help="Text encoding of a CSV, such as utf-8, utf-16 or cp1252."
    ),
    decimal: str | None = typer.Option(
        None, help="Decimal mark of a CSV, a point or a comma. Required if both are possible."
    ),
    sheet: str | None = typer.Option(None, help="Sheet of a workbook. Required if it has several."),
    missing: list[str] = typer.Option(
        [],
        "--missing",
        help='Value that counts as missing in every column, such as "k.A." or -99. Repeatable.',
    ),
    seed: int = typer.Option(0, min=0, help="Random seed for the permutation tests and the bootstrap."),
    margin: float = typer.Option(
        0.5,
        min=0,
        help="For likelihoods: minimum difference between two descriptors that counts as a difference, in nats per "
        "sentence.",
    ),
    alpha: float = typer.Option(
        0.05, min=0, max=1, help="Significance level of the verdicts, after adjustment for multiple testing."
    ),
    classifier_error: ClassifierError = None,
    reference: Reference = None,
    device: flags.ClassifierDevice = "auto",
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for report.html, measurements.json and the detail tables."
    ),
    fail_if: gating.FailIf = None,
    require_power: gating.RequirePower = None,
    junit: gating.JUnit = None,
    summary: gating.Summary = None,
) -> None:
    """Measure bias in responses that you already have.

    Each column of groups is an axis. The groups are compared by one outcome: a number, a label (--negative
    names the negative labels), a true/false value, or the text of the response (--classifier labels it). Name
    the columns with --column; other columns are recognised by their names, and each guess is printed. An empty
    value counts as missing, never as zero.

    If a person or thing has several rows, name the column that identifies it (--column PERSON=unit): it then
    counts once. If all groups got the same questions, use --column TOPIC=question. If several people coded each
    response, use --column CODER=rater. docs/how-to/measure_your_own_answers.md explains each role, and to which
    people and questions the verdict then applies.

    With --benchmark, the file contains responses to the prompts of a benchmark. It needs the benchmark's group
    columns (`evenhand show BENCHMARK` lists them) and one outcome: `perplexity`; or `log_likelihood` and
    `token_count`; or `negative` or `score` (ROLE_negative if the benchmark has several roles); or texts, with
    --classifier. The column `prompt_id` identifies the prompt of each row.

    \b
    Examples:
      evenhand measure survey.csv --column who=group --column pay=score
      evenhand measure replies.csv --column who=group --column answer=continuation --classifier vader
      evenhand measure responses.jsonl -b regard -o results
    """
    from evenhand.studies.own_responses import SwappedColumns, measure as measured_by

    try:
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
    except SwappedColumns as error:
        kept = [pair for pair in column if pair.rpartition("=")[0] not in error.columns]
        right = [f"{theirs}={ours}" for theirs, ours in error.columns.items()]
        error.hint = rebuild_command(context, column=[*right, *kept])
        raise
    for line in measured.told:
        say(line, err=True)
    show(measured, None if output is None else measured.write(output))
    gating.hold(measured, fail_if, require_power, junit, summary)
