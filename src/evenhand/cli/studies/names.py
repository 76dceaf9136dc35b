"""`evenhand study names`: self-chats of a model and of mitigated ones, to the tables of the paper."""

from pathlib import Path

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import Seed, StudyFolder, options_of, progress, show


def names(
    model: str = typer.Argument(
        ...,
        help="Conversational model (name or folder). To resume a study, give its folder.",
    ),
    rows: list[str] = typer.Option(
        [],
        "--row",
        help="Additional model to compare, as LABEL=FOLDER, such as a model made by `evenhand debias`. "
        "Repeatable.",
    ),
    decoding: list[str] = typer.Option(
        [],
        "--decoding",
        help="Decoding settings, the same for all models: published (10 beams, at least 20 tokens), greedy or "
        "sampling. Repeatable, or comma-separated: each model is run with each of them. Default: greedy.",
    ),
    names_of: str | None = typer.Option(
        None,
        "--names",
        help="First names on which the models are compared: untuned (names that no model was tuned on) or all. "
        "Default: untuned.",
    ),
    limit: int | None = typer.Option(
        None, min=1, help="Maximum number of conversations per benchmark. Default: all, but 2,000 for names."
    ),
    max_new_tokens: int | None = typer.Option(
        None, min=1, help="Maximum length of a response, in tokens. Default: 60."
    ),
    classifiers: list[str] = typer.Option(
        [],
        "--classifier",
        help="Classifier for one role, as ROLE=NAME, for example offensiveness=vader. It replaces the word list that "
        "the role uses by default. Repeatable.",
    ),
    personas: Path | None = typer.Option(
        None, help="File of personas, two lines each. Default: the personas of evenhand."
    ),
    data: list[str] = typer.Option(
        [],
        "--data",
        help="Folder of crows-pairs or stereoset, as NAME=FOLDER. Default: the cache. Data sets that are not "
        "found are left out.",
    ),
    seed: Seed = None,
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    trust_addresses: flags.TrustAddresses = False,
    output: StudyFolder = None,
) -> None:
    """Study how conversations change with the first name that opens them, for a model and its debiased versions.

    All models have the same conversations with the same decoding settings. The report contains Tables 2 to
    10 and Figures 1 and 2 of the paper, each change from the original model with a confidence interval over
    names, and the cost. Press Ctrl-C to stop; `evenhand study names FOLDER` resumes the study, also with
    additional models.

    \b
    Examples:
      evenhand study names facebook/blenderbot-400M-distill -o runs/names
      evenhand study names MODEL --row scrambled=runs/debiased --limit 500
    """
    given = options_of(
        locals(),
        "model",
        "trust_addresses",
        "output",
        "rows",
        "decoding",
        "classifiers",
        "data",
        "personas",
        "names_of",
    )
    from evenhand.runs import resumable
    from evenhand.studies.names import is_study, names_config, names_with, resumed_study

    given |= {
        "rows": _pairs("--row", rows, "LABEL=FOLDER"),
        "decoding": tuple(part.strip() for value in decoding for part in value.split(",")),
        "classifiers": _pairs("--classifier", classifiers, "ROLE=NAME"),
        "data": _pairs("--data", data, "NAME=FOLDER"),
        "names": names_of,
        "personas": None if personas is None else str(personas),
    }
    if is_study(Path(model)):
        options, output = resumed_study(Path(model), given, trust_addresses=trust_addresses), Path(model)
    else:
        options = names_config({"model": model, **given})
    study = names_with(options, output=output, progress=progress())
    with resumable(f"Resume with: evenhand study names {study.path}"):
        show(study, {"study": study.path, "report": study.paths["report"]})


def _pairs(flag: str, given: list[str], form: str) -> dict[str, str]:
    from evenhand.schema import UsageError

    named: dict[str, str] = {}
    for words in given:
        label, equals, value = (part.strip() for part in words.partition("="))
        if not (label and equals and value):
            raise UsageError(f"`{flag}` expects {form}, got {words!r}.", f"Write {flag} {form}.")
        if label in named:
            raise UsageError(
                f"`{flag}` contains the name {label!r} twice.", "Remove one, or choose another name."
            )
        named[label] = value
    return named
