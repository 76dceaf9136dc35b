"""`evenhand rescore`: an old run judged anew by other classifiers; no model is asked."""

from pathlib import Path

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import end, progress, show, writable, written


def rescore(
    run: str = typer.Argument(
        ...,
        help="The folder of a run whose continuations were judged, or its address on a store (s3://bucket/run).",
    ),
    classifier: list[str] = typer.Option(
        ...,
        "--classifier",
        help="Who judges now, as ROLE=NAME (toxicity=vader), or NAME where there is one role; repeatable.",
    ),
    device: str = typer.Option("auto", help="For classifiers with weights: auto, cpu, cuda, cuda:1, mps."),
    on: flags.On = None,
    workers: flags.Workers = None,
    error_threshold: float = typer.Option(
        0.05, min=0, max=1, help="Share of texts without a judgement above which to exit with 3."
    ),
    retry_errors: bool = typer.Option(
        False, "--retry-errors", help="Ask again where a classifier failed (not where the text is at fault)."
    ),
    trust_addresses: bool = typer.Option(
        False,
        "--trust-addresses",
        help="Use what only the folder names: servers, with your keys, and files outside it.",
    ),
    report: Path | None = typer.Option(None, help="Also write the report to this file."),
) -> None:
    """Judge a run's continuations by other classifiers, measure them again and rewrite the report.

    The continuations stay as they are, and so do earlier labels: naming an earlier classifier again brings its
    verdicts back without asking it. `evenhand agreement RUN` compares all that have judged.
    """
    from dataclasses import replace

    from evenhand.runs import resumable
    from evenhand.studies.audit import labelled_benchmarks, named_by_role, open_run

    if report is not None:
        writable("--report", report)
    opened = replace(open_run(run), error_threshold=error_threshold)
    again = opened.rescore(
        named_by_role(classifier, labelled_benchmarks(opened.directory)),
        device=device,
        on=on,
        workers=workers,
        progress=progress(),
        retry_errors=retry_errors,
        trust_addresses=trust_addresses,
    )
    with resumable(f"Resume with: evenhand audit {run}"):
        show(again, written(again, report))
    end(again.above_threshold())
