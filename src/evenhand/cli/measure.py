"""`evenhand measure`: numbers for responses that somebody already has; no model is needed."""

from pathlib import Path

import typer


def measure(
    file: Path = typer.Argument(..., help="CSV, JSONL or Parquet, one row per prompt, with its likelihood."),
    benchmark: str = typer.Option(..., "--benchmark", "-b", help="Whose measures to compute."),
    seed: int = typer.Option(0, help="Of the nulls and the bootstrap."),
    margin: float = typer.Option(0.05, min=0, help="Smallest difference that counts, nats per token."),
    alpha: float = typer.Option(0.05, help="Level of the verdicts, after adjustment."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for report.html and measurements.json."
    ),
) -> None:
    """Measure bias on responses you already have.

    The file needs the benchmark's group columns (`evenhand show BENCHMARK` lists them) and either
    `perplexity` or `log_likelihood` with `token_count`; an empty value counts as missing, never as zero.
    """
    from rich.console import Console

    from evenhand.reports.audit import measure_file
    from evenhand.reports.terminal import render_audit

    run = measure_file(file, benchmark, seed=seed, margin=margin, alpha=alpha)
    paths = {}
    if output is not None:
        paths = {name: str(path) for name, path in run.write(output).items()}
    render_audit(run.view(paths), Console())
