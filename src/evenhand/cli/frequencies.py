"""`evenhand frequencies`: how often people are spoken of in a corpus."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import convert_flags, end, progress, show
from evenhand.cli.completion import lists_of_terms

if TYPE_CHECKING:
    from evenhand.studies.frequencies import FrequencyOptions


def frequencies(
    sources: list[str] = typer.Argument(
        ...,
        metavar="SOURCE...",
        help="Corpus: files, folders, patterns or URLs (s3://, hf://, https://) of Parquet, JSON Lines, CSV, text "
        "or WARC, uncompressed or compressed (.gz, .zst). NAME=SOURCE names the corpus. To resume or show a "
        "count, give its folder.",
    ),
    output: str | None = typer.Option(
        None, "--output", "-o", metavar="DIR", help="Folder for the count. Default: a new folder in runs/."
    ),
    terms: list[str] = typer.Option(
        [],
        "--terms",
        "-t",
        help="List of terms: descriptors, holisticbias, holisticbias-nouns, pronouns, names, births, or a CSV "
        "with the columns term, axis, group. Repeatable, or comma-separated. Default: descriptors,pronouns.",
        autocompletion=lists_of_terms,
    ),
    column: str | None = typer.Option(None, help="Column or key that contains the text. Default: text."),
    kind: str | None = typer.Option(
        None,
        metavar="parquet|jsonl|csv|text|warc",
        help="File format of the sources. Default: chosen by the file extension.",
    ),
    documents: str | None = typer.Option(
        None,
        metavar="line|paragraph|file",
        help="For plain text: unit that counts as one document. Default: file for a folder of several files with a "
        "mean size of at most 100 kB, otherwise line.",
    ),
    sample: str | None = typer.Option(
        None,
        help="Share of documents to read, such as 0.1%. The sample does not depend on the number of processes. "
        "Default: all.",
    ),
    duplicates: str | None = typer.Option(
        None,
        metavar="keep|drop",
        help="Repeated texts: keep counts each of them, drop counts each distinct text once per corpus. Default: "
        "keep.",
    ),
    pairs: list[str] = typer.Option(
        [],
        "--pairs",
        help="Pairs of terms to count together: default (all kinds except names), none, all, or two kinds as "
        "descriptor*name. Repeatable, or comma-separated.",
    ),
    window: int | None = typer.Option(
        None,
        min=0,
        help="Maximum number of words between two terms that are counted as a pair in a window. Default: 10.",
    ),
    as_published: bool = typer.Option(
        False,
        "--as-published",
        help="Also count documents as ROBBIE did (with NLTK word tokens), and show the difference.",
    ),
    seed: int | None = typer.Option(
        None, min=0, help="Random seed for the sample and the stored contexts. Default: 0."
    ),
    workers: int | None = typer.Option(
        None, "--workers", "-w", min=1, help="Number of processes. Default: the number of processors."
    ),
    on: str | None = typer.Option(
        None,
        "--on",
        metavar="PLACE",
        help="Where to count: local, datatrove, slurm (--set slurm.partition=... --set slurm.time=...), ray (a "
        "temporary cluster on this machine), ray://HOST:PORT, or auto (the Ray cluster that this machine "
        "belongs to). Default: local.",
    ),
    ranks_at: str | None = typer.Option(
        None,
        "--ranks-at",
        metavar="ADDRESS",
        help="URL at which remote machines store their counts if they cannot access the output folder, such as "
        "s3://BUCKET/PATH.",
    ),
    error_threshold: float | None = typer.Option(
        None,
        min=0,
        max=1,
        help="Exit with code 3 if more than this share of documents could not be read. Default: 0.05.",
    ),
    settings: list[str] = typer.Option(
        [],
        "--set",
        metavar="NAME=VALUE",
        help="Set any other option by name, such as contexts=20, inflections=false, data.holisticbias=FOLDER or "
        "slurm.venv_path=PATH. Repeatable.",
    ),
    trust_addresses: flags.TrustAddresses = False,
    plan: bool = typer.Option(
        False,
        "--plan",
        help="Print what would be read and how long it would take, then exit. Nothing is written.",
    ),
    join: str | None = typer.Option(
        None,
        "--join",
        metavar="RUN",
        help="Folder or S3 URL of an audit: test whether groups that the corpus mentions more often are treated "
        "differently.",
    ),
) -> None:
    """Count how often groups of people are mentioned in a text corpus.

    The terms are descriptors, pronouns, names or your own lists. For each term, the result shows the number
    of documents and of mentions, the terms that occur with it, and whether it refers to people. It includes
    confidence intervals and the tables of the papers. A mention refers to people if it is near a noun for a
    person, a she-, he- or they-pronoun, or (if names are counted) a first name. It must not be near I, we,
    you or an occupation. Unreadable documents are counted by reason. Press Ctrl-C to stop; `evenhand frequencies DIR`
    resumes the count.

    \b
    Examples:
      evenhand frequencies corpus/ -o runs/corpus
      evenhand frequencies web=s3://bucket/data --terms pronouns,names --sample 1%
      evenhand frequencies runs/corpus --join runs/gpt2
    """
    asked = convert_flags(
        locals(), "output", "trust_addresses", "plan", "join", "settings", "terms", "pairs", "as_published"
    )
    from evenhand.schema import UsageError
    from evenhand.studies.frequencies import (
        FrequencyOptions,
        frequencies_with,
        is_count,
        local_folder,
        resumed,
    )
    from evenhand.study import assign, drop_missing, validate_options

    asked |= {
        "terms": _split("--terms", terms),
        "pairs": _split("--pairs", pairs),
        "as_published": as_published or None,
    }
    options: dict[str, object] = {}
    for setting in settings:
        assign(options, setting)
    options |= drop_missing(asked)
    if len(sources) == 1 and output is None and is_count(Path(sources[0])):
        if plan:
            raise UsageError(
                f"`--plan` cannot be used with an existing count: {sources[0]} has already started.",
                "Remove --plan to resume it.",
            )
        options.pop("sources")
        result = resumed(Path(sources[0]), options, trust_addresses=trust_addresses, progress=progress())
    else:
        validated_options = validate_options(FrequencyOptions, options)
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
        "Ranks": f"{told['ranks']:,}, each counted and stored separately",
        "Terms": f"{told['terms']:,}"
        + (
            f", and {told['person_nouns']:,} words for people, used to tell the senses of terms"
            * (told["person_nouns"] > 0)
        ),
        "Processes": f"{told['workers']:,}",
        "Time": "unknown: nothing was read"
        if told["seconds"] is None
        else (
            f"{wording.duration(told['seconds'])}, estimated from {wording.bytes_of(told['probe_bytes'])} that "
            f"one process counted in {told['probe_seconds']:.1f} s"
        ),
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
        raise UsageError(
            f"`{flag}` contains an empty name (two commas in a row, or a comma at the start or end).",
            f"Separate names by single commas: {flag} NAME,NAME",
        )
    return parts
