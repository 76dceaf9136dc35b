"""`evenhand study names`: self-chats of a model and of mitigated ones, to the tables of the paper."""

from pathlib import Path

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import options_of, progress, show


def names(
    model: str = typer.Argument(
        ...,
        help="A model that converses (name or folder), or the folder of an earlier study, which is then gone on with.",
    ),
    rows: list[str] = typer.Option(
        [],
        "--row",
        help="LABEL=FOLDER: a further row, such as what `evenhand debias` made of the model; repeatable.",
    ),
    decoding: list[str] = typer.Option(
        [],
        "--decoding",
        help="published (10 beams, 20 tokens at least), greedy or sampling, the same for every row; repeatable, or "
        "with commas: every row under each. Default: greedy.",
    ),
    names_of: str | None = typer.Option(
        None,
        "--names",
        help="By which names rows are held against each other: untuned (the default), those that no row was tuned "
        "on, or all.",
    ),
    limit: int | None = typer.Option(
        None, min=1, help="Conversations of each benchmark. Default: all, 2,000 of names."
    ),
    max_new_tokens: int | None = typer.Option(None, min=1, help="Most tokens of a reply. Default: 60."),
    classifiers: list[str] = typer.Option(
        [],
        "--classifier",
        help="ROLE=NAME: who judges gender, offensiveness, ... in place of word lists; repeatable.",
    ),
    personas: Path | None = typer.Option(None, help="A file of personas, two lines each. Default: ours."),
    data: list[str] = typer.Option(
        [],
        "--data",
        help="NAME=FOLDER of crows-pairs or stereoset. Default: the cache; what is nowhere is left out.",
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
    """Names: what conversations become by the name that opens them, of a model and of mitigated ones.

    Has every row hold the same conversations under the same decoding, and tells the paper's Tables 2 to 10 and Figures
    1 and 2, each change from the original with an interval over names, and what it cost. Press Ctrl-C at any time:
    `evenhand study names FOLDER` goes on, also with further rows.
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
    with resumable(f"Go on with: evenhand study names {study.path}"):
        show(study, {"study": study.path, "report": study.paths["report"]})


def _pairs(flag: str, given: list[str], form: str) -> dict[str, str]:
    from evenhand.schema import UsageError

    named: dict[str, str] = {}
    for words in given:
        label, equals, value = (part.strip() for part in words.partition("="))
        if not (label and equals and value):
            raise UsageError(f"{flag} {words!r} is not {form}.", f"Write {flag} {form}.")
        if label in named:
            raise UsageError(f"{flag} names {label!r} twice.", "Leave one out, or give it another name.")
        named[label] = value
    return named
