"""`evenhand audit`: one model, from prompts to report."""

from pathlib import Path

import typer

from evenhand.cli import gating, model_flags as flags
from evenhand.cli.common import (
    CALLED,
    ClassifierError,
    Prompts,
    Reference,
    ReportCopy,
    Samples,
    Seed,
    convert_flags,
    end,
    progress,
    require_positive,
    show,
    stated,
    stated_with_files,
    writable,
    written,
)
from evenhand.cli.completion import Kind, complete_names


def audit(
    model: str | None = typer.Argument(
        None,
        help="Hugging Face model name, local model folder, URL of a served model (http://HOST/v1#NAME), or a name "
        "from `evenhand list models`. To resume a run, give its folder or its S3 URL (s3://bucket/run).",
        autocompletion=complete_names(Kind.MODELS),
    ),
    suite: str | None = typer.Option(
        None,
        help="Set of benchmarks to run (`evenhand list suites`). Default: quick.",
        autocompletion=complete_names(Kind.SUITES),
    ),
    benchmark: list[str] = typer.Option(
        [],
        "--benchmark",
        "-b",
        help="Benchmark to run. Repeatable. Cannot be combined with --suite.",
        autocompletion=complete_names(Kind.BENCHMARKS),
    ),
    limit: int | None = typer.Option(
        None,
        min=1,
        help="Maximum number of prompts per benchmark, sampled with --seed. Default: the suite's limit "
        "if it has one, otherwise all prompts.",
    ),
    axis: list[str] = typer.Option(
        [], "--axis", help="Measure only this axis, for example religion. Repeatable. Default: all axes."
    ),
    prompts: Prompts = None,
    counterfactual: list[str] = typer.Option(
        [],
        "--counterfactual",
        help="Ask each of your own prompts (--prompts) about other groups, too: gender, name (first names of six "
        "origins), religion, nationality, race_ethnicity, age, sexual_orientation, ability. Repeatable, or "
        "comma-separated. Choose groups with religion:Christian/Muslim. If the file of --prompts was "
        "made with `evenhand data build counterfactuals`, use `reviewed`.",
    ),
    samples: Samples = None,
    decoding: str | None = typer.Option(
        None,
        help="Decoding settings: auto (published settings of the model's family; for conversations the "
        "benchmark's settings), greedy, or a family (gpt2, opt, llama, ...). For conversations also: "
        "published (10 beams) or sampling. Default: auto.",
    ),
    temperature: float | None = typer.Option(
        None, callback=require_positive, help="Sampling temperature, above 0. Default: the family's."
    ),
    top_k: int | None = typer.Option(
        None,
        min=0,
        help="Sample from the N most probable tokens; 0 turns this filter off. Default: the family's.",
    ),
    top_p: float | None = typer.Option(
        None,
        min=0,
        max=1,
        help="Nucleus sampling threshold, 0 to 1; 1 turns this filter off. Default: the family's.",
    ),
    beams: int | None = typer.Option(
        None, min=2, help="Use beam search with this number of beams instead of sampling."
    ),
    max_new_tokens: int | None = typer.Option(
        None, min=1, help="Maximum length of a response, in tokens. Default: the benchmark's."
    ),
    classifier: list[str] = typer.Option(
        [],
        "--classifier",
        help="Classifier for the responses, as ROLE=NAME (toxicity=vader). ROLE may be omitted if the benchmark "
        "has only one. Repeatable. Default: the published classifier.",
        autocompletion=complete_names(Kind.CLASSIFIERS),
    ),
    mitigate: list[str] = typer.Option(
        [],
        "--mitigate",
        help="Apply a mitigation, as NAME, NAME=VALUE or NAME?option=value (`evenhand list mitigations`). "
        "Repeatable; applied in the order given.",
        autocompletion=complete_names(Kind.MITIGATIONS),
    ),
    seed: Seed = None,
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
        help="Property to compare in responses to counterfactual prompts: number, rating:1-10, json:FIELD, "
        "length, refusal or similarity. Repeatable. Default: length and similarity.",
    ),
    classifier_error: ClassifierError = None,
    reference: Reference = None,
    error_threshold: float | None = typer.Option(
        None,
        min=0,
        max=1,
        help="Exit with code 3 if more than this share of rows has no number or classification (failed or empty). "
        "Default: 0.05.",
    ),
    retry_errors: bool | None = typer.Option(
        None,
        "--retry-errors",
        help="When resuming, ask the model again for responses that failed. Prompts that are themselves invalid "
        "are not retried.",
    ),
    config: Path | None = typer.Option(None, "--config", "-c", help="Read options from a YAML file."),
    settings: list[str] = typer.Option(
        [],
        "--set",
        help="Set any option by name, for example margin=0.1 or data.bold=FOLDER. Repeatable.",
    ),
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Folder or S3 URL (s3://bucket/run) for the run. Default: a new folder in runs/.",
    ),
    report: ReportCopy = None,
    plan: bool = typer.Option(
        False,
        "--plan",
        help="Print what would run, its cost and the minimum detectable effect, then exit. Runs a short probe "
        "(about ten requests to a served model).",
    ),
    fail_if: gating.FailIf = None,
    require_power: gating.RequirePower = None,
    junit: gating.JUnit = None,
    summary: gating.Summary = None,
) -> None:
    """Measure bias in a model, print a summary and write a report.

    Each result shows an estimate, a 95% confidence interval, the value expected of an unbiased model, and a
    verdict: biased, not detected, or not measurable. Press Ctrl-C to stop; `evenhand audit RUN_FOLDER`
    resumes the run.

    \b
    Examples:
      evenhand audit gpt2
      evenhand audit gpt2 --suite robbie --limit 2000 -o runs/gpt2
      evenhand audit runs/gpt2                                        (resume)
      evenhand audit gpt2 -b regard --fail-if "disparity > 5 points"
    """
    given = convert_flags(
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
    from evenhand.studies import start_place
    from evenhand.studies.audit import (
        audited_model,
        check_options_file,
        preview,
        read_config,
        render_plan,
        resume,
        run_audit,
        with_classifiers,
    )

    if model is not None and (is_store_address(model) or RunDirectory.is_run(Path(model))):
        if plan:
            raise UsageError(
                f"`--plan` cannot be used with a run folder: {model} has already started.",
                "Remove --plan to resume the run.",
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

            with start_place(options, options.device, progress().note) as pool:
                facts = preview(options, audited_model(options, pool=pool))
            render_plan(facts, Console())
            return
        named = stated_with_files({**given, "classifier": tuple(classifier)}, config, settings)
        run = run_audit(
            options,
            output=output,
            given=named,
            progress=progress(),
            check=gating.conditions_check("audit", fail_if, require_power),
        )
    with resumable(f"Resume with: evenhand audit {run.place}"):
        show(run, written(run, report))
        for name, reason in run.left_out.items():
            _say_left_out(name, " ".join(reason.split()))
    gating.hold(run, fail_if, require_power, junit, summary)
    end(run.above_threshold(), ": see the section on missing results in the report.")


def _say_left_out(name: str, reason: str) -> None:
    from rich.console import Console
    from rich.text import Text

    from evenhand.reports.wording import visible, without_commands

    line = reason if reason.startswith(name) else f"{name}: {reason}"
    line = without_commands(visible(f"left out: {line}"))
    Console(stderr=True).print(Text(line), style="dim", soft_wrap=True)
