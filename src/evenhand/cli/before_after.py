"""`evenhand before-after`: one model with and without mitigations, on the same prompts."""

from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import typer

from evenhand.cli import gating
from evenhand.cli.audit import audit
from evenhand.cli.common import CALLED, convert_flags, end, progress, show, stated, stated_with_files

MODEL = typer.Argument(
    None,
    help="Hugging Face model name, local model folder, or a name from `evenhand list models`. To resume a study, "
    "give its folder.",
)
AFTER = typer.Argument(
    None,
    help="Folder of a debiased model (`evenhand debias`) or of an adapter. Same as --mitigate finetuned=FOLDER or "
    "adapter=FOLDER.",
)
SUITE = typer.Option(
    None, help="Set of benchmarks to run (`evenhand list suites`). Default: the benchmark regard."
)
OUTPUT = typer.Option(
    None,
    "--output",
    "-o",
    help="Folder for the study, with the runs before and after. Default: a new folder in runs/.",
)
LEFT_OUT = ("report", "plan", "on", "workers")


def before_after(**flags: Any) -> None:
    """Audit a model with and without mitigations: change in harm, and cost in quality, time and memory.

    Both runs use the same prompts, seeds and decoding settings, and differences are paired. Text quality,
    time and memory are shown next to harm: a mitigation that reduces harm because the model says nothing is
    visible as such. All options of `evenhand audit` are available; without --suite and --benchmark, the
    benchmark is regard. Use --classifier perplexity=MODEL to rate fluency with a language model. Press Ctrl-C
    to stop; `evenhand before-after STUDY_FOLDER` resumes the study.

    \b
    Examples:
      evenhand before-after gpt2 --mitigate prefix="Be respectful."
      evenhand before-after gpt2 runs/debiased --suite robbie --limit 1000
    """
    from evenhand.runs import resumable
    from evenhand.schema import is_file, is_folder
    from evenhand.studies.audit import NAMED_ANEW, check_options_file, read_config
    from evenhand.studies.before_after import (
        check_resuming,
        resumed_study,
        run_before_after,
        with_named_classifiers,
    )

    file, settings, output = (flags.pop(name) for name in ("config", "settings", "output"))
    classifiers, model = tuple(flags.pop("classifier")), flags.pop("model")
    trusted = flags.pop("trust_addresses")
    after = flags.pop("after")
    gate = {name: flags.pop(name) for name in gating.GATE}
    given = convert_flags(flags, called=CALLED)
    if after is not None:
        kind = "adapter" if is_file(Path(after) / "adapter_config.json") else "finetuned"
        given["mitigate"] = (f"{kind}={after}", *given["mitigate"])
    folder = Path(model) if model is not None and is_folder(model) else None
    if folder is not None and not is_file(folder / "config.json"):
        kept = resumed_study(folder, {}).model_dump(exclude=set(NAMED_ANEW))
        config = with_named_classifiers(read_config(file, settings, {**kept, **stated(given)}), classifiers)
        said = read_config(None, settings, {"model": config.model, **stated(given)})
        check_resuming(folder, config, said, classifiers=classifiers, trust_addresses=trusted)
        output = str(folder)
    else:
        named = {**stated(given), **({} if model is None else {"model": model})}
        config = with_named_classifiers(read_config(file, settings, named), classifiers)
        if file is not None:
            check_options_file(file, config, settings, named, classifiers=classifiers, trusted=trusted)
    named = stated_with_files({"model": model, **given, "classifier": classifiers}, file, settings)
    place = None if output is None else Path(output)
    check = gating.conditions_check("before-after", gate["fail_if"], gate["require_power"])
    report = run_before_after(config, output=place, given=named, progress=progress(), check=check)
    with resumable(f"Resume with: evenhand before-after {report.path}"):
        show(report, report.paths)
    gating.hold(report, **gate)
    end("; ".join(report.study.failed))


def _parameters() -> list[Parameter]:
    """Return the parameters of `evenhand audit`, which this command also accepts."""
    own = {"model": MODEL, "suite": SUITE, "output": OUTPUT}
    parameters = [
        parameter.replace(default=own.get(name, parameter.default), kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(audit).parameters.items()
        if name not in LEFT_OUT
    ]
    after = Parameter("after", Parameter.KEYWORD_ONLY, default=AFTER, annotation=str | None)
    return [parameters[0], after, *parameters[1:]]


# Typer reads the flags from the signature; a copy of thirty options would become outdated
before_after.__signature__ = signature(audit).replace(parameters=_parameters())  # type: ignore[attr-defined]
