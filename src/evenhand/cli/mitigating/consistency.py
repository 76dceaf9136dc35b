"""`evenhand check-consistency`: does a mitigation do what its words say? The consistency protocol."""

from pathlib import Path

import typer

from evenhand.cli import gating, model_flags as flags
from evenhand.cli.common import end, options_of, progress, show, stated


def check_consistency(
    method: str = typer.Argument(
        ...,
        help="A mitigation as --mitigate takes it (NAME, NAME=VALUE, NAME?option=value), or the folder of an earlier "
        "check, which is then gone on with.",
    ),
    model: str | None = typer.Option(
        None, help="A hub name, a folder, or a name from `evenhand list models`."
    ),
    prompts: Path | None = typer.Option(
        None,
        help="Your adversarial prompts (CSV, JSONL, Parquet) in place of RealToxicityPrompts' challenging ones.",
    ),
    neutral: str | None = typer.Option(
        None, help="Your neutral prompts, or none: then only the adversarial ones are tested."
    ),
    data: list[str] = typer.Option(
        [], help="Folder of a data set as name=folder: --data realtoxicityprompts=FOLDER. Default: the cache."
    ),
    limit: int | None = typer.Option(None, min=1, help="At most so many prompts a domain, seeded."),
    opposite: list[str] = typer.Option(
        [], help="The opposite of the method's wording, in place of its own; once for each of its texts."
    ),
    groups: int | None = typer.Option(
        None,
        min=1,
        help="Nonsense wordings, drawn as a sample of all such wordings; 1,000 at most. Default: 20.",
    ),
    nonsense_prompts: int | None = typer.Option(
        None,
        min=2,
        help="Prompts a domain to which nonsense is put; the other levels are put to all. Default: 300.",
    ),
    classifier: str | None = typer.Option(
        None,
        help="Who judges the continuations: NAME, or ROLE=NAME to say what its score is of. Default: perspective with "
        "the published six attributes.",
    ),
    attributes: str | None = typer.Option(
        None, help="Attributes of the classifier, with commas. Default: the published ones that it has."
    ),
    threshold: float | None = typer.Option(
        None,
        help="From which score on a continuation is harmful. Default: 0.5, or the classifier's own verdict.",
    ),
    rule: str | None = typer.Option(None, help="Of the headline: tested, strict or paper. Default: tested."),
    margin: float | None = typer.Option(
        None, min=0, help="Percentage points of harm below which an effect counts as none. Default: 1.0."
    ),
    importance: str | None = typer.Option(
        None,
        help="What nonsense and a blank wording are held against: share (half of the method's effect) or points (the "
        "method's own words with the margin). Default: share.",
    ),
    decoding: str | None = typer.Option(
        None,
        help="auto (as published: 3 beams, else greedy), beams, greedy, or a model family's settings. Default: auto.",
    ),
    max_new_tokens: int | None = typer.Option(None, min=1, help="Tokens of a continuation. Default: 20."),
    seed: int | None = typer.Option(None, min=0, help="Of everything random. Default: 0."),
    dtype: flags.Dtype = None,
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    chat: flags.Chat = None,
    system: flags.System = None,
    allow_longer: flags.AllowLonger = None,
    trust_addresses: flags.TrustAddresses = False,
    error_threshold: float | None = typer.Option(
        None, min=0, max=1, help="Share of failed rows above which to exit with 3. Default: 0.05."
    ),
    retry_errors: bool | None = typer.Option(
        None, "--retry-errors", help="On going on, ask again where model or classifier failed."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="The study's folder. Default: a new one in runs/."
    ),
    plan: bool = typer.Option(
        False,
        "--plan",
        help="Print what would run and what it would cost, from a short probe (a service is asked "
        "about ten requests); run nothing else.",
    ),
    fail_if: gating.FailIf = None,
    require_power: gating.RequirePower = None,
    junit: gating.JUnit = None,
    summary: gating.Summary = None,
) -> None:
    """Check whether a mitigation is consistent: polarity, importance, and transfer to neutral prompts.

    The method runs with its own wording, the opposite, nonsense and nothing, on the same prompts; a table here, a page
    in the study's folder. Press Ctrl-C at any time; `evenhand check-consistency STUDY_FOLDER` goes on where it
    stopped, and takes another --classifier, --rule, --importance or --margin without asking the model again.
    """
    given = options_of(locals(), "method", "trust_addresses", "output", "plan", *gating.GATE)
    from evenhand.mitigations import load_mitigation
    from evenhand.runs import resumable
    from evenhand.schema import is_folder, split_role
    from evenhand.studies import load_named_model
    from evenhand.studies.consistency import (
        check_consistency_with,
        check_options,
        design_of,
        load_classifier_of,
        preview,
        render_check_plan,
        resumed_options,
    )

    role, judge = split_role(classifier) if classifier else (None, None)
    attribute_names = tuple(filter(None, (attributes or "").replace(" ", "").split(",")))
    given |= {"data": _folders(data), "classifier": judge, "role": role, "attributes": attribute_names}
    folder = Path(method)
    if is_folder(folder):
        options, output = resumed_options(folder, given, trust_addresses=trust_addresses), folder
    else:
        given["method"] = method
        options = check_options(given, design_of(output))
    if plan:
        from rich.console import Console

        facts = preview(
            options, load_named_model(options), load_mitigation(options.method), load_classifier_of(options)
        )
        render_check_plan(facts, Console())
        return
    checked = check_consistency_with(options, output=output, given=stated(given), progress=progress())
    with resumable(f"Go on with: evenhand check-consistency {checked.path}"):
        show(checked, {"study": checked.path, "report": checked.paths["report"]})
    gating.hold(checked, fail_if, require_power, junit, summary)
    end(checked.study.above_threshold)


def _folders(named: list[str]) -> dict[str, str]:
    from evenhand.schema import UsageError

    folders = {}
    for value in named:
        name, equals, folder = value.partition("=")
        if not equals or not folder:
            raise UsageError(f"--data takes name=folder, not {value!r}.", "--data realtoxicityprompts=FOLDER")
        folders[name] = folder
    return folders
