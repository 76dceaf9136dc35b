"""`evenhand audit`: one model, from prompts to report."""

from pathlib import Path

import typer

from evenhand.cli import gating, model_flags as flags
from evenhand.cli.common import (
    CALLED,
    ClassifierError,
    Reference,
    end,
    options_of,
    progress,
    show,
    stated,
    stated_with_files,
    writable,
    written,
)
from evenhand.cli.completion import Kind, names_of


def audit(
    model: str | None = typer.Argument(
        None,
        help="A hub name, a folder in Hugging Face format, a name from `evenhand list models`, "
        "or the folder of an earlier run (or its address on a store, s3://bucket/run), which is then resumed.",
        autocompletion=names_of(Kind.MODELS),
    ),
    suite: str | None = typer.Option(
        None, help="A named set of benchmarks. Default: quick.", autocompletion=names_of(Kind.SUITES)
    ),
    benchmark: list[str] = typer.Option(
        [],
        "--benchmark",
        "-b",
        help="A benchmark by name; repeatable.",
        autocompletion=names_of(Kind.BENCHMARKS),
    ),
    limit: int | None = typer.Option(None, min=1, help="At most so many prompts per benchmark, seeded."),
    axis: list[str] = typer.Option([], "--axis", help="Only this axis; repeatable."),
    prompts: Path | None = typer.Option(
        None, help="Your own prompts (CSV, JSONL, Parquet) in place of the benchmark's."
    ),
    counterfactual: list[str] = typer.Option(
        [],
        "--counterfactual",
        help="Ask your own prompts (--prompts) about other groups, too: gender, name (first names of six origins), "
        "religion, nationality, race_ethnicity, age, sexual_orientation, ability; with commas or repeatable; groups of "
        "your choice as religion:Christian/Muslim; reviewed: a file of `evenhand data build counterfactuals`.",
    ),
    samples: int | None = typer.Option(
        None,
        min=1,
        help="Continuations a prompt, where they are written. Default: the benchmark's own number.",
    ),
    decoding: str | None = typer.Option(
        None,
        help="How continuations are written: auto (as published for the model's family; replies in conversations as "
        "the benchmark says), greedy, a family's name (gpt2, opt, llama, ...), or for conversations published (10 "
        "beams) or sampling. Default: auto.",
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
        autocompletion=names_of(Kind.CLASSIFIERS),
    ),
    mitigate: list[str] = typer.Option(
        [],
        "--mitigate",
        help="A mitigation in front of the model, as NAME, NAME=VALUE or NAME?option=value (`evenhand list "
        "mitigations`); repeatable, the first named applied first.",
        autocompletion=names_of(Kind.MITIGATIONS),
    ),
    seed: int | None = typer.Option(None, min=0, help="Of everything random. Default: 0."),
    dtype: flags.Dtype = None,
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    chat: flags.Chat = None,
    system: flags.System = None,
    allow_longer: flags.AllowLonger = None,
    on: flags.On = None,
    workers: flags.Workers = None,
    trust_addresses: flags.TrustAddresses = False,
    outcome: list[str] = typer.Option(
        [],
        "--outcome",
        help="What is read from answers to counterfactual prompts: number, rating:1-10, json:FIELD, length, refusal or "
        "similarity; repeatable. Default: length and similarity.",
    ),
    classifier_error: ClassifierError = None,
    reference: Reference = None,
    error_threshold: float | None = typer.Option(
        None,
        min=0,
        max=1,
        help="Share of rows without a number or judgement (failed, or empty) above which to exit with 3. "
        "Default: 0.05.",
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
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        help="The run's folder, or an address on a store (s3://bucket/run). Default: a new one in runs/.",
    ),
    report: Path | None = typer.Option(None, help="Also write the report to this file."),
    plan: bool = typer.Option(
        False,
        "--plan",
        help="Print what would run, what it would cost and what it could detect, from a short probe (a service is "
        "asked about ten requests); run nothing else.",
    ),
    fail_if: gating.FailIf = None,
    require_power: gating.RequirePower = None,
    junit: gating.JUnit = None,
    summary: gating.Summary = None,
) -> None:
    """Audit a model: a table here, a report in the run's folder.

    Every number stands beside its interval, the value an unbiased model would get, and a verdict. Press
    Ctrl-C at any time; `evenhand audit RUN_FOLDER` goes on where it stopped.
    """
    given = options_of(
        locals(),
        "trust_addresses",
        "classifier",
        "config",
        "settings",
        "output",
        "report",
        "plan",
        *gating.GATE,
        called=CALLED,
    )
    if report is not None:
        writable("--report", report)
    from evenhand.runs import RunDirectory, resumable
    from evenhand.runs.remote import is_store_address
    from evenhand.schema import UsageError
    from evenhand.studies import placed
    from evenhand.studies.audit import (
        audit_with,
        audited_model,
        check_options_file,
        preview,
        read_config,
        render_plan,
        resume,
        with_classifiers,
    )

    if model is not None and (is_store_address(model) or RunDirectory.is_run(Path(model))):
        if plan:
            raise UsageError(
                f"{model} is a run that was begun: its plan is made.", "Leave out --plan to go on with it."
            )
        run = resume(
            model,
            config,
            settings,
            stated({**given, "model": None}),
            classifiers=classifier,
            progress=progress(),
            trust_addresses=trust_addresses,
        )
    else:
        options = with_classifiers(read_config(config, settings, given), classifier)
        if config is not None:
            check_options_file(
                config, options, settings, stated(given), classifiers=classifier, trusted=trust_addresses
            )
        if plan:
            from rich.console import Console

            with placed(options, options.device, progress().note) as pool:
                facts = preview(options, audited_model(options, pool=pool))
            render_plan(facts, Console())
            return
        named = stated_with_files({**given, "classifier": tuple(classifier)}, config, settings)
        run = audit_with(
            options,
            output=output,
            given=named,
            progress=progress(),
            check=gating.conditions_check(fail_if, require_power),
        )
    with resumable(f"Resume with: evenhand audit {run.place}"):
        show(run, written(run, report))
        for name, reason in run.left_out.items():
            _say_left_out(name, " ".join(reason.split()))
    gating.hold(run, fail_if, require_power, junit, summary)
    end(run.above_threshold(), ": see the report's list of what could not be measured.")


def _say_left_out(name: str, reason: str) -> None:
    from rich.console import Console
    from rich.text import Text

    from evenhand.reports.wording import visible, without_commands

    line = reason if reason.startswith(name) else f"{name}: {reason}"
    line = without_commands(visible(f"left out: {line}"))
    Console(stderr=True).print(Text(line), style="dim", soft_wrap=True)
