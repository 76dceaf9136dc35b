"""`evenhand study`: whole studies of the papers, from a model to their tables."""

from pathlib import Path

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import App, Seed, StudyFolder, options_of, progress, require_positive, show
from evenhand.cli.studies.names import names

app = App(help="Run a paper's full study on your models: names, redditbias.", no_args_is_help=True)
app.command()(names)


@app.command()
def redditbias(
    model: str = typer.Argument(
        ...,
        help="Causal Hugging Face model (name or folder) or evenhand/reference. To resume a study, give its "
        "folder.",
    ),
    bias: list[str] = typer.Option(
        [],
        "--bias",
        "-b",
        help="Bias to measure: religion1, religion2, race, gender, orientation, or evenhand/AXIS for the "
        "sentences of evenhand itself, which need no network. Repeatable, or comma-separated. Default: "
        "religion1.",
    ),
    methods: list[str] = typer.Option(
        [],
        "--methods",
        "-m",
        help="Debiasing methods, in the format of `evenhand debias --method`, comma-separated. Default: "
        "lmd,add,hd,cda.",
    ),
    source: Path | None = typer.Option(
        None, "--from", help="Folder of the RedditBias files. Default: the cache of `evenhand data fetch`."
    ),
    multiwoz: Path | None = typer.Option(
        None,
        help="MultiWOZ_2.0.zip or its folder; the content is not verified. Required to measure state tracking.",
    ),
    dstc7: Path | None = typer.Option(
        None,
        help="Folder of the DSTC7 files; the content is not verified. Required to measure response generation.",
    ),
    control: bool | None = typer.Option(
        None,
        "--control/--no-control",
        help="Also train a control: the same texts and number of steps, without a method. The effect of a method "
        "is its difference from the control. Default: yes.",
    ),
    as_published: bool | None = typer.Option(
        None, "--as-published", help="Reproduce the quirks of the published programs in methods and tasks."
    ),
    task_limit: int | None = typer.Option(
        None, min=2, help="Maximum number of training and test examples per dialogue task. Default: all."
    ),
    epochs: float | None = typer.Option(
        None,
        callback=require_positive,
        help="Number of passes over the texts. Default: 2; 1 for the sentences of evenhand.",
    ),
    seed: Seed = None,
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    trust_addresses: flags.TrustAddresses = False,
    output: StudyFolder = None,
) -> None:
    """Study debiasing methods on RedditBias: bias, perplexity, state tracking and responses, before and after.

    The model is trained with each method against each bias, and without a method on the same texts (control).
    The report shows Language Model Bias and perplexity, and both dialogue tasks if their data are given, each
    with a confidence interval, a null value and the change. Requires the extra `training`. Press Ctrl-C to
    stop; `evenhand study redditbias FOLDER` resumes the study.

    \b
    Examples:
      evenhand study redditbias gpt2 --bias evenhand/religion --methods cda -o runs/redditbias
      evenhand study redditbias gpt2 --bias religion1,race --methods lmd,cda
    """
    given = options_of(locals(), "model", "trust_addresses", "output", "bias", "methods")
    from evenhand.runs import resumable
    from evenhand.studies.redditbias import is_study, redditbias_config, redditbias_with, resumed_study

    given |= {"bias": _split("--bias", bias), "methods": _split("--methods", methods)}
    if is_study(Path(model)):
        options, output = resumed_study(Path(model), given, trust_addresses=trust_addresses), Path(model)
    else:
        options = redditbias_config({"model": model, **given})
    study = redditbias_with(options, output=output, progress=progress())
    with resumable(f"Resume with: evenhand study redditbias {study.path}"):
        show(study, {"study": study.path, "report": study.paths["report"]})


def _split(flag: str, named: list[str]) -> tuple[str, ...]:
    from evenhand.schema import UsageError

    parts = tuple(part.strip() for value in named for part in value.split(","))
    if not all(parts):
        raise UsageError(f"`{flag}` contains an empty name.", "Remove it, or give a name.")
    return parts
