"""`evenhand audit`: one model, from prompts to report."""

import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from evenhand.cli import model_flags as flags


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
    samples: int | None = typer.Option(
        None,
        min=1,
        help="Continuations a prompt, where they are written. Default: the benchmark's own number.",
    ),
    decoding: str | None = typer.Option(
        None,
        help="How continuations are written: auto (as published for the model's family), greedy, or a family's name "
        "(gpt2, opt, llama, ...). Default: auto.",
    ),
    temperature: float | None = typer.Option(None, help="In place of the family's."),
    top_k: int | None = typer.Option(None, min=0, help="In place of the family's; 0 turns the filter off."),
    top_p: float | None = typer.Option(
        None, min=0, max=1, help="In place of the family's; 1 turns the filter off."
    ),
    beams: int | None = typer.Option(None, min=2, help="Beam search with so many beams; draws nothing."),
    max_new_tokens: int | None = typer.Option(None, min=1, help="Tokens after which a continuation is cut."),
    classifier: list[str] = typer.Option(
        [],
        "--classifier",
        help="Who judges continuations, as ROLE=NAME (toxicity=vader), or NAME where there is one role; repeatable. "
        "Default: the published classifier.",
    ),
    mitigate: list[str] = typer.Option(
        [],
        "--mitigate",
        help="A mitigation in front of the model, as NAME, NAME=VALUE or NAME?option=value (`evenhand list "
        "mitigations`); repeatable, the first named applied first.",
    ),
    seed: int | None = typer.Option(None, help="Of everything random. Default: 0."),
    dtype: flags.Dtype = None,
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    chat: flags.Chat = None,
    system: flags.System = None,
    trust_addresses: flags.TrustAddresses = False,
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

    from evenhand.runs import RunDirectory, progress_for
    from evenhand.schema import UsageError
    from evenhand.studies.audit import (
        audit_with,
        audited_model,
        preview,
        read_config,
        render_audit,
        render_plan,
        resume,
        with_classifiers,
    )

    given = {
        "model": model,
        "suite": suite,
        "benchmarks": tuple(benchmark),
        "limit": limit,
        "axes": tuple(axis),
        "prompts": str(prompts) if prompts else None,
        "samples": samples,
        "decoding": decoding,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "num_beams": beams,
        "max_new_tokens": max_new_tokens,
        "mitigate": tuple(mitigate),
        "seed": seed,
        "dtype": dtype,
        "device": device,
        "revision": revision,
        "trust_remote_code": trust_remote_code,
        "batch_tokens": batch_tokens,
        "chat": chat,
        "system": system,
        "error_threshold": error_threshold,
        "retry_errors": retry_errors,
    }
    console = Console()
    if model is not None and RunDirectory.is_run(Path(model)):
        if plan:
            raise UsageError(
                f"{model} is a run that was begun: its plan is made.", "Leave out --plan to go on with it."
            )
        others = {name: value for name, value in given.items() if name != "model" and value not in (None, ())}
        run = resume(
            Path(model),
            config,
            settings,
            others,
            classifiers=classifier,
            progress=progress_for(sys.stderr),
            trust_addresses=trust_addresses,
        )
    else:
        options = with_classifiers(read_config(config, settings, given), classifier)
        if plan:
            from evenhand.studies.agreement import render_planned_continuations

            facts = preview(options, audited_model(options))
            render_plan(facts, console)
            render_planned_continuations(facts, console)
            return
        stated = _given({**given, "classifier": tuple(classifier)}, config, settings)
        run = audit_with(options, output=output, given=stated, progress=progress_for(sys.stderr))
    written = run.report(report)
    render_audit(run.view({"report": str(written)}), console)
    for name, reason in run.left_out.items():
        told = " ".join(reason.split())
        line = told if told.startswith(name) else f"{name}: {told}"
        Console(stderr=True).print(Text(f"left out: {line}"), style="dim", soft_wrap=True)
    if too_many := run.above_threshold():
        Console(stderr=True).print(
            f"{too_many}, more than the threshold allows: see the report's list of what could not be measured.",
            style="bold",
        )
        raise typer.Exit(3)


def _given(given: Mapping[str, object], config: Path | None, settings: list[str]) -> dict[str, object]:
    stated = {name: value for name, value in given.items() if value not in (None, ())}
    return (
        stated | ({"config": str(config)} if config else {}) | ({"set": list(settings)} if settings else {})
    )
