"""`evenhand audit`: one model, from prompts to report."""

import sys
from collections.abc import Mapping
from pathlib import Path

import typer


def audit(
    model: str | None = typer.Argument(
        None,
        help="A hub name, a folder in Hugging Face format, a name from `evenhand list models`, "
        "or the folder of an earlier run, which is then resumed.",
    ),
    suite: str | None = typer.Option(None, help="A named set of benchmarks. Default: quick."),
    benchmark: list[str] = typer.Option([], "--benchmark", "-b", help="A benchmark by name; repeatable."),
    limit: int | None = typer.Option(None, min=1, help="At most so many prompts per benchmark, seeded."),
    axis: list[str] = typer.Option([], "--axis", help="Only this axis; repeatable."),
    prompts: Path | None = typer.Option(
        None, help="Your own prompts (CSV, JSONL, Parquet) in place of the benchmark's."
    ),
    seed: int | None = typer.Option(None, help="Of everything random. Default: 0."),
    dtype: str | None = typer.Option(None, help="auto, float32, bfloat16 or float16. Default: auto."),
    device: str | None = typer.Option(None, help="auto, cpu, cuda, cuda:1, mps. Default: auto."),
    revision: str | None = typer.Option(None, help="Branch, tag or commit of a hub model."),
    trust_remote_code: bool | None = typer.Option(
        None, "--trust-remote-code", help="Run Python code that comes with the model."
    ),
    error_threshold: float | None = typer.Option(
        None, min=0, max=1, help="Share of failed rows above which to exit with 3. Default: 0.05."
    ),
    retry_errors: bool | None = typer.Option(
        None,
        "--retry-errors",
        help="On resuming, ask again where the model failed (not where the text is at fault).",
    ),
    config: Path | None = typer.Option(None, "--config", "-c", help="A YAML file of options."),
    settings: list[str] = typer.Option(
        [], "--set", help="Any option as name=value, e.g. margin=0.1 or data.holisticbias=FOLDER; repeatable."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="The run's folder. Default: a new one in runs/."
    ),
    report: Path | None = typer.Option(None, help="Also write the report to this file."),
    plan: bool = typer.Option(
        False,
        "--plan",
        help="Print what would run, what it would cost and what it could detect; run nothing.",
    ),
) -> None:
    """Audit a model: a table here, a report in the run's folder.

    Every number stands beside its interval, the value an unbiased model would get, and a verdict. Press
    Ctrl-C at any time; `evenhand audit RUN_FOLDER` goes on where it stopped.
    """
    from rich.console import Console
    from rich.text import Text

    from evenhand.reports.audit import audit_with, resume
    from evenhand.reports.terminal import render_audit, render_plan
    from evenhand.runs import RunDirectory, progress_for
    from evenhand.studies.audit import load_audited_model, preview
    from evenhand.studies.config import read_config

    given = {
        "model": model,
        "suite": suite,
        "benchmarks": tuple(benchmark),
        "limit": limit,
        "axes": tuple(axis),
        "prompts": str(prompts) if prompts else None,
        "seed": seed,
        "dtype": dtype,
        "device": device,
        "revision": revision,
        "trust_remote_code": trust_remote_code,
        "error_threshold": error_threshold,
        "retry_errors": retry_errors,
    }
    console = Console()
    if model is not None and RunDirectory.is_run(Path(model)):
        others = {name: value for name, value in given.items() if name != "model" and value not in (None, ())}
        run = resume(Path(model), config, settings, others, progress=progress_for(sys.stderr))
    else:
        options = read_config(config, settings, given)
        if plan:
            render_plan(preview(options, load_audited_model(options)), console)
            return
        run = audit_with(
            options, output=output, given=_given(given, config, settings), progress=progress_for(sys.stderr)
        )
    written = run.report(report)
    render_audit(run.view({"report": str(written)}), console)
    for name, reason in run.left_out.items():
        told = " ".join(reason.split())
        line = told if told.startswith(name) else f"{name}: {told}"
        Console(stderr=True).print(Text(f"left out: {line}"), style="dim", soft_wrap=True)
    if run.outcome is not None and run.outcome.above_threshold:
        Console(stderr=True).print(
            f"{run.outcome.error_share:.1%} of the prompts have no number, more than the threshold allows: "
            "see the report's list of what could not be measured.",
            style="bold",
        )
        raise typer.Exit(3)


def _given(given: Mapping[str, object], config: Path | None, settings: list[str]) -> dict[str, object]:
    stated = {name: value for name, value in given.items() if value not in (None, ())}
    return (
        stated | ({"config": str(config)} if config else {}) | ({"set": list(settings)} if settings else {})
    )
