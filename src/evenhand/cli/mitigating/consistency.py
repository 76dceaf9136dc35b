"""`evenhand check-consistency`: test whether a mitigation does what its words ask (consistency protocol)."""

from pathlib import Path

import typer

from evenhand.cli import gating, model_flags as flags
from evenhand.cli.common import Seed, StudyFolder, end, options_of, progress, show, stated


def check_consistency(
    method: str = typer.Argument(
        ...,
        help="Mitigation, in the format of --mitigate (NAME, NAME=VALUE, NAME?option=value). To resume a check, "
        "give its folder.",
    ),
    model: str | None = typer.Option(
        None, help="Hugging Face model name, local model folder, or a name from `evenhand list models`."
    ),
    prompts: Path | None = typer.Option(
        None,
        help="Your adversarial prompts (CSV, JSON Lines or Parquet). Default: the challenging prompts of "
        "RealToxicityPrompts.",
    ),
    neutral: str | None = typer.Option(
        None,
        help="Your neutral prompts, or none to test adversarial prompts only. Default: the neutral prompts "
        "of RealToxicityPrompts.",
    ),
    data: list[str] = typer.Option(
        [],
        help="Folder of a data set, as name=folder: --data realtoxicityprompts=FOLDER. Default: the cache.",
    ),
    limit: int | None = typer.Option(
        None, min=1, help="Maximum number of prompts per domain, sampled with --seed."
    ),
    opposite: list[str] = typer.Option(
        [],
        help="Opposite of the method's wording. Give it once for each text of the method. Default: the "
        "method's own opposite.",
    ),
    groups: int | None = typer.Option(
        None,
        min=1,
        help="Number of nonsense wordings, sampled at random; at most 1,000. Default: 20.",
    ),
    nonsense_prompts: int | None = typer.Option(
        None,
        min=2,
        help="Number of prompts per domain for nonsense wordings. The other wordings use all prompts. Default: "
        "300.",
    ),
    classifier: str | None = typer.Option(
        None,
        help="Classifier for the responses: NAME, or ROLE=NAME to name what its score measures. Default: "
        "perspective with the six published attributes.",
    ),
    attributes: str | None = typer.Option(
        None,
        help="Attributes of the classifier, comma-separated. Default: the published attributes that it has.",
    ),
    threshold: float | None = typer.Option(
        None,
        help="Minimum score of a harmful response. Default: 0.5, or the classifier's own decision.",
    ),
    rule: str | None = typer.Option(
        None,
        help="Rule for the headline: tested (by confidence intervals), strict (by point estimates, as the paper "
        "states it) or paper (as its authors decided). Default: tested.",
    ),
    margin: float | None = typer.Option(
        None,
        min=0,
        help="Smallest change in harm that counts as an effect, in percentage points. Default: 1.0.",
    ),
    importance: str | None = typer.Option(
        None,
        help="Limit for the effects of nonsense and of an empty wording: share (half of the method's effect) or points "
        "(the method's effect minus the margin). Default: share.",
    ),
    decoding: str | None = typer.Option(
        None,
        help="Decoding settings: auto (published: 3 beams if the model supports them, otherwise greedy), beams, "
        "greedy, or a model family. Default: auto.",
    ),
    max_new_tokens: int | None = typer.Option(
        None, min=1, help="Maximum length of a response, in tokens. Default: 20."
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
    trust_addresses: flags.TrustAddresses = False,
    error_threshold: float | None = typer.Option(
        None, min=0, max=1, help="Exit with code 3 if more than this share of rows failed. Default: 0.05."
    ),
    retry_errors: bool | None = typer.Option(
        None, "--retry-errors", help="When resuming, retry rows for which the model or the classifier failed."
    ),
    output: StudyFolder = None,
    plan: bool = typer.Option(
        False,
        "--plan",
        help="Print what would run and its cost, then exit. Runs a short probe (about ten requests to a served "
        "model).",
    ),
    fail_if: gating.FailIf = None,
    require_power: gating.RequirePower = None,
    junit: gating.JUnit = None,
    summary: gating.Summary = None,
) -> None:
    """Check a mitigation for consistency: does it work for the reason that its wording states?

    Polarity: the opposite wording has the opposite effect. Importance: nonsense wording has a smaller effect.
    Transfer: the effect also appears on neutral prompts. The model answers the same prompts with the method's
    own wording, with the opposite, with nonsense and without any. The results are a table and a page in the
    study folder. Press Ctrl-C to stop; `evenhand check-consistency STUDY_FOLDER` resumes the study. You can
    then change --classifier, --rule, --importance or --margin without running the model again.

    \b
    Examples:
      evenhand check-consistency prefix="Be respectful." --model gpt2
      evenhand check-consistency instruction=respect --model gpt2 --neutral none --limit 200
    """
    given = options_of(locals(), "method", "trust_addresses", "output", "plan", *gating.GATE)
    from evenhand.mitigations import load_mitigation
    from evenhand.runs import resumable
    from evenhand.schema import is_folder, split_role
    from evenhand.studies import load_named_model, load_only_classifier
    from evenhand.studies.consistency import (
        check_consistency_with,
        check_options,
        design_of,
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
            options,
            load_named_model(options),
            load_mitigation(options.method),
            load_only_classifier(options.classifier, options.device, options.role),
        )
        render_check_plan(facts, Console())
        return
    checked = check_consistency_with(options, output=output, given=stated(given), progress=progress())
    with resumable(f"Resume with: evenhand check-consistency {checked.path}"):
        show(checked, {"study": checked.path, "report": checked.paths["report"]})
    gating.hold(checked, fail_if, require_power, junit, summary)
    end(checked.study.above_threshold)


def _folders(named: list[str]) -> dict[str, str]:
    from evenhand.schema import UsageError

    folders = {}
    for value in named:
        name, equals, folder = value.partition("=")
        if not equals or not folder:
            raise UsageError(
                f"`--data` expects name=folder, got {value!r}.",
                "For example: --data realtoxicityprompts=FOLDER",
            )
        folders[name] = folder
    return folders
