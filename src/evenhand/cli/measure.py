"""`evenhand measure`: numbers for responses that somebody already has; no model is needed."""

from pathlib import Path

import typer

from evenhand.cli import gating
from evenhand.cli.common import ClassifierError, Reference, show


def measure(
    file: Path = typer.Argument(
        ...,
        help="CSV, JSONL or Parquet, one row per prompt with its likelihood, or one row per continuation, judged or "
        "not; of conversations a row per utterance.",
    ),
    benchmark: str = typer.Option(..., "--benchmark", "-b", help="Whose measures to compute."),
    seed: int = typer.Option(0, min=0, help="Of the nulls and the bootstrap."),
    margin: float = typer.Option(
        0.5, min=0, help="From which difference two descriptors count as told apart, nats per sentence."
    ),
    alpha: float = typer.Option(0.05, help="Level of the verdicts, after adjustment."),
    classifier_error: ClassifierError = None,
    reference: Reference = None,
    classifier: list[str] = typer.Option(
        [],
        "--classifier",
        help="Who judges the column `continuation` now, as ROLE=NAME (toxicity=vader), or NAME where there is one "
        "role; repeatable.",
    ),
    threshold: float | None = typer.Option(
        None, help="From which `score` on a continuation counts as negative."
    ),
    device: str = typer.Option("auto", help="For classifiers with weights: auto, cpu, cuda, cuda:1, mps."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for report.html, measurements.json and detail tables."
    ),
    fail_if: gating.FailIf = None,
    require_power: gating.RequirePower = None,
    junit: gating.JUnit = None,
    summary: gating.Summary = None,
) -> None:
    """Measure bias on responses you already have.

    The file needs the benchmark's group columns (`evenhand show BENCHMARK` lists them) and either
    `perplexity` or `log_likelihood` with `token_count`; for benchmarks of continuations `negative` (true or
    false), or `score` with --threshold, or the `continuation` itself with --classifier. An empty value counts as
    missing, never as zero. For conversations (-b names) the file has a row for each utterance: conversation, name,
    gender, speaker, turn, text (docs/names.md).

    Several answers to one prompt are told by `prompt_id`, else by `text` (the prompt itself), else by `prompt`: they
    hang together, and counted as prompts of their own they would prove too much. Where several roles judge, a
    column is called ROLE_negative, ROLE_score or ROLE_label. docs/own_prompts.md lists all columns.
    """
    from evenhand.studies.own_responses import measure_file

    measured = measure_file(
        file,
        benchmark,
        seed=seed,
        margin=margin,
        alpha=alpha,
        reference=reference,
        classifier_error=classifier_error,
        classifiers=classifier,
        threshold=threshold,
        device=device,
    )
    show(measured, None if output is None else measured.write(output))
    gating.hold(measured, fail_if, require_power, junit, summary)
