"""`evenhand rescore`: an old run judged anew by other classifiers; no model is asked."""

import sys
from pathlib import Path

import typer


def rescore(
    run: Path = typer.Argument(..., help="The folder of a run whose continuations were judged."),
    classifier: list[str] = typer.Option(
        ...,
        "--classifier",
        help="Who judges now, as ROLE=NAME (toxicity=vader), or NAME where there is one role; repeatable.",
    ),
    device: str = typer.Option("auto", help="For classifiers with weights: auto, cpu, cuda, cuda:1, mps."),
    error_threshold: float = typer.Option(
        0.05, min=0, max=1, help="Share of texts without a judgement above which to exit with 3."
    ),
    retry_errors: bool = typer.Option(
        False, "--retry-errors", help="Ask again where a classifier failed (not where the text is at fault)."
    ),
    trust_addresses: bool = typer.Option(
        False, "--trust-addresses", help="Ask servers that only the run's folder names, with your keys."
    ),
    report: Path | None = typer.Option(None, help="Also write the report to this file."),
) -> None:
    """Judge a run's continuations by other classifiers, measure them again and rewrite the report.

    The continuations stay as they are, and so do earlier labels: naming an earlier classifier again brings its
    verdicts back without asking it. `evenhand agreement RUN` compares all that have judged.
    """
    from dataclasses import replace

    from rich.console import Console

    from evenhand.runs import progress_for
    from evenhand.studies.audit import judged_benchmarks, named_by_role, open_run, render_audit

    opened = replace(open_run(run), error_threshold=error_threshold)
    named = named_by_role(classifier, judged_benchmarks(opened.directory))
    again = opened.rescore(
        named,
        device=device,
        progress=progress_for(sys.stderr),
        retry_errors=retry_errors,
        trust_addresses=trust_addresses,
    )
    written = again.report(report)
    render_audit(again.view({"report": str(written)}), Console())
    if too_many := again.above_threshold():
        Console(stderr=True).print(f"{too_many}, more than the threshold allows.", style="bold")
        raise typer.Exit(3)
