"""`evenhand frequencies`: how often people are spoken of in a corpus."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import end, options_of, progress, show
from evenhand.cli.completion import lists_of_terms

if TYPE_CHECKING:
    from evenhand.studies.frequencies import FrequencyOptions


def frequencies(
    sources: list[str] = typer.Argument(
        ...,
        metavar="SOURCE...",
        help="Files, folders, patterns or addresses (s3://, hf://, https://) of Parquet, JSON lines, CSV, text or "
        "WARC, plain or packed (.gz, .zst); NAME=SOURCE names the corpus. Or the folder of an earlier count, which "
        "is gone on with or shown.",
    ),
    output: str | None = typer.Option(
        None, "--output", "-o", metavar="DIR", help="The count's folder. Default: a new one in runs/."
    ),
    terms: list[str] = typer.Option(
        [],
        "--terms",
        "-t",
        help="A list of terms: descriptors, holisticbias, holisticbias-nouns, pronouns, names, births, or a CSV "
        "with columns term, axis, group; repeatable, or with commas. Default: descriptors,pronouns.",
        autocompletion=lists_of_terms,
    ),
    column: str | None = typer.Option(None, help="Column or key that holds the text. Default: text."),
    kind: str | None = typer.Option(
        None,
        metavar="parquet|jsonl|csv|text|warc",
        help="What the files hold, whatever they end in. Default: by their endings.",
    ),
    documents: str | None = typer.Option(
        None,
        metavar="line|paragraph|file",
        help="What a document of plain text is. Default: a file in folders of several of at "
        "most 100 kB on average, else a line.",
    ),
    sample: str | None = typer.Option(
        None,
        help="Share of documents to read, such as 0.1%; the same documents whatever the division. Default: all.",
    ),
    duplicates: str | None = typer.Option(
        None, metavar="keep|drop", help="drop: a text counts once in its corpus. Default: keep."
    ),
    pairs: list[str] = typer.Option(
        [],
        "--pairs",
        help="Pairs of terms that are counted together: default (none of names), none, all, or two kinds as "
        "descriptor*name; repeatable, or with commas.",
    ),
    window: int | None = typer.Option(
        None, min=0, help="Words between two terms that count as a pair in a window. Default: 10."
    ),
    as_published: bool = typer.Option(
        False,
        "--as-published",
        help="Count documents as ROBBIE did, too (NLTK's word tokens), and say the difference.",
    ),
    seed: int | None = typer.Option(None, min=0, help="Of the sample and of contexts. Default: 0."),
    workers: int | None = typer.Option(
        None, "--workers", "-w", min=1, help="Processes at once. Default: as many as there are processors."
    ),
    on: str | None = typer.Option(
        None,
        "--on",
        metavar="PLACE",
        help="Who counts: local (default), datatrove, slurm (--set slurm.partition=... --set slurm.time=...), ray "
        "(a cluster of its own), ray://HOST:PORT, or auto (the Ray cluster that this machine belongs to).",
    ),
    ranks_at: str | None = typer.Option(
        None,
        "--ranks-at",
        metavar="ADDRESS",
        help="Where machines elsewhere put their counts, such as s3://BUCKET/PATH, if they do not see the folder.",
    ),
    error_threshold: float | None = typer.Option(
        None,
        min=0,
        max=1,
        help="Share of broken documents above which the command ends with 3. Default: 0.05.",
    ),
    settings: list[str] = typer.Option(
        [],
        "--set",
        metavar="NAME=VALUE",
        help="Any other option, such as contexts=20, inflections=false, data.holisticbias=FOLDER, "
        "slurm.venv_path=PATH; repeatable.",
    ),
    trust_addresses: flags.TrustAddresses = False,
    plan: bool = typer.Option(
        False, "--plan", help="Say what would be read, and how long that takes; write nothing."
    ),
    join: str | None = typer.Option(
        None,
        "--join",
        metavar="RUN",
        help="The folder of an audit, or its address on a store: is a group that was seen more often treated "
        "otherwise?",
    ),
) -> None:
    """Count how often people are spoken of in a corpus: descriptors, pronouns, names, or lists of your own.

    Says of every term in how many documents it stands, how often, beside which others, and whether it is of people at
    all (near a noun for a person, a she-, he- or they-pronoun, or a first name if names are among the terms; not near
    I, we, you or an occupation), with intervals; tables as the papers have them. What cannot be read is counted by
    reason. Press Ctrl-C at any time: `evenhand frequencies DIR` goes on.
    """
    asked = options_of(
        locals(), "output", "trust_addresses", "plan", "join", "settings", "terms", "pairs", "as_published"
    )
    from evenhand.schema import UsageError
    from evenhand.studies import validated
    from evenhand.studies.audit import assign
    from evenhand.studies.frequencies import (
        FrequencyOptions,
        frequencies_with,
        given,
        is_count,
        local_folder,
        resumed,
    )

    asked |= {
        "terms": _split("--terms", terms),
        "pairs": _split("--pairs", pairs),
        "as_published": as_published or None,
    }
    options: dict[str, object] = {}
    for setting in settings:
        assign(options, setting)
    options |= given(asked)
    if len(sources) == 1 and output is None and is_count(Path(sources[0])):
        if plan:
            raise UsageError(f"{sources[0]} is a count that was begun.", "Leave out --plan to go on with it.")
        options.pop("sources")
        result = resumed(Path(sources[0]), options, trust_addresses=trust_addresses, progress=progress())
    else:
        validated_options = validated(FrequencyOptions, options)
        if plan:
            _print_plan(validated_options)
            return
        result = frequencies_with(validated_options, output=local_folder(output), progress=progress())
    if join is None:
        show(result, {"folder": result.path, "report": result.paths["report"]})
    else:
        relation = result.join(join)
        show(relation, {"folder": relation.path, "report": relation.paths["report"]})
    share = result.counted.broken_share
    end(f"{share:.1%} of the documents could not be read" if share > result.options.error_threshold else None)


def _print_plan(options: "FrequencyOptions") -> None:
    from rich.console import Console

    from evenhand.reports import wording
    from evenhand.studies.frequencies import planned, probe

    found = planned(options)
    told = probe(found)
    rows = {
        "Files": f"{told['files']:,} ({wording.bytes_of(told['bytes'])} as stored)",
        "Ranks": f"{told['ranks']:,}, each counted and kept as a whole",
        "Terms": f"{told['terms']:,}"
        + (f", and {told['person_nouns']:,} words for people that tell senses" * (told["person_nouns"] > 0)),
        "Processes": f"{told['workers']:,}",
        "Time": "not known: nothing was read"
        if told["seconds"] is None
        else f"{wording.duration(told['seconds'])}, by {wording.bytes_of(told['probe_bytes'])} counted in "
        f"{told['probe_seconds']:.1f} s by one process",
    }
    console = Console()
    console.print("Plan (nothing is written)", style="bold")
    for name, value in rows.items():
        console.print(f"{name + ':':<11}{value}", soft_wrap=True, highlight=False, markup=False)
    for note in found.notes:
        console.print(note, soft_wrap=True, highlight=False, markup=False)


def _split(flag: str, named: list[str]) -> tuple[str, ...]:
    from evenhand.schema import UsageError

    parts = tuple(part.strip() for value in named for part in value.split(","))
    if not all(parts):
        raise UsageError(f"{flag} was given without a name.", "Leave it out, or name what is meant.")
    return parts
