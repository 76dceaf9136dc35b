"""`evenhand rescore`: classify a finished run again with other classifiers, without its model."""

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import ReportCopy, end, progress, show, writable, written


def rescore(
    run: str = typer.Argument(
        ...,
        help="Folder or S3 URL (s3://bucket/run) of a run with classified responses.",
    ),
    classifier: list[str] = typer.Option(
        ...,
        "--classifier",
        help="New classifier, as ROLE=NAME (toxicity=vader). ROLE may be omitted if there is only one. "
        "Repeatable.",
    ),
    device: flags.ClassifierDevice = "auto",
    on: flags.On = None,
    workers: flags.Workers = None,
    error_threshold: float = typer.Option(
        0.05, min=0, max=1, help="Exit with code 3 if more than this share of texts has no classification."
    ),
    retry_errors: bool = typer.Option(
        False,
        "--retry-errors",
        help="Classify again the texts for which a classifier failed. Texts that are themselves "
        "invalid are not retried.",
    ),
    trust_addresses: bool = typer.Option(
        False,
        "--trust-addresses",
        help="Trust server URLs and file paths stored in the run folder (your API keys are sent to those "
        "servers).",
    ),
    report: ReportCopy = None,
) -> None:
    """Classify the responses of a finished run with other classifiers, and update its report.

    The responses stay the same, and earlier labels are kept: if you name an earlier classifier again, its
    labels are used without running it. `evenhand agreement RUN` compares all classifiers of a run.

    \b
    Examples:
      evenhand rescore runs/gpt2 --classifier toxicity=vader
      evenhand rescore runs/gpt2 --classifier regard=./my-classifier --device cpu
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
