"""`evenhand study`: whole studies of the papers, from a model to their tables."""

from pathlib import Path

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import options_of, progress, show
from evenhand.cli.studies.names import names

app = typer.Typer(help="Studies of the papers on models of yours: names, redditbias.", no_args_is_help=True)
app.command()(names)


@app.command()
def redditbias(
    model: str = typer.Argument(
        ...,
        help="A causal Hugging Face model (name or folder), evenhand/reference, or the folder of an earlier study, "
        "which is then gone on with.",
    ),
    bias: list[str] = typer.Option(
        [],
        "--bias",
        "-b",
        help="religion1, religion2, race, gender, orientation, or evenhand/AXIS for our own sentences, offline; "
        "repeatable, or with commas. Default: religion1.",
    ),
    methods: list[str] = typer.Option(
        [],
        "--methods",
        "-m",
        help="As `evenhand debias --method` takes them, with commas. Default: lmd,add,hd,cda.",
    ),
    source: Path | None = typer.Option(
        None, "--from", help="The folder of RedditBias' files. Default: the cache of `evenhand data fetch`."
    ),
    multiwoz: Path | None = typer.Option(
        None,
        help="MultiWOZ_2.0.zip or its folder; its content is not checked. Without it state tracking is not measured.",
    ),
    dstc7: Path | None = typer.Option(
        None,
        help="The folder of DSTC7's files (not checked). Without it response generation is not measured.",
    ),
    control: bool | None = typer.Option(
        None,
        "--control/--no-control",
        help="Also train without any method on the same texts, for as many steps; a method's change is what goes "
        "beyond. Default: yes.",
    ),
    as_published: bool | None = typer.Option(
        None, "--as-published", help="Methods and tasks with the quirks of the published programs."
    ),
    task_limit: int | None = typer.Option(
        None, min=2, help="Most examples to learn each dialogue task from, and to ask. Default: all."
    ),
    epochs: float | None = typer.Option(
        None, help="Times that a method reads its texts. Default: 2; of our own sentences 1."
    ),
    seed: int | None = typer.Option(None, min=0, help="Of everything random. Default: 0."),
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    trust_addresses: flags.TrustAddresses = False,
    output: Path | None = typer.Option(
        None, "--output", "-o", help="The study's folder. Default: a new one in runs/."
    ),
) -> None:
    """RedditBias: bias, perplexity, state tracking and replies of a model, before and after each debiasing.

    Trains the model by each method against each bias, and without a method on the same texts (a control), and tells
    Language Model Bias and Perplexity and, where their data are named, both dialogue tasks, each with an interval, a
    null and what changed. Press Ctrl-C at any time: `evenhand study redditbias FOLDER` goes on. Needs the extra
    `training`.
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
    with resumable(f"Go on with: evenhand study redditbias {study.path}"):
        show(study, {"study": study.path, "report": study.paths["report"]})


def _split(flag: str, named: list[str]) -> tuple[str, ...]:
    from evenhand.schema import UsageError

    parts = tuple(part.strip() for value in named for part in value.split(","))
    if not all(parts):
        raise UsageError(f"{flag} was given without a name.", "Leave it out, or name what is meant.")
    return parts
