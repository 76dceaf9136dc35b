"""Count a corpus in ranks (units of work). A count can be resumed."""

import hashlib
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.corpus import Counts, Piece, build_terms, read_counts, write_counts
from evenhand.corpus.counting import CountingOptions, is_counts
from evenhand.corpus.matching import published_documents
from evenhand.corpus.pipeline import (
    COUNTING,
    HASHING,
    CorpusWork,
    Counters,
    CountingPlace,
    Stage,
    are_repeats_known,
    broken_documents,
    check_slurm_options,
    divide_pieces,
    do_ranks,
    find_all_repeats,
    lost_documents,
    merged_ranks,
)
from evenhand.corpus.reading import LARGEST, ReadingOptions, read_batches, survey
from evenhand.corpus.terms import DEFAULT
from evenhand.runs import Progress, RunDirectory, Silence, hold_lock, resumable, show_progress
from evenhand.schema import DataError, UsageError, is_file
from evenhand.studies.frequencies.options import FrequencyOptions
from evenhand.studies.frequencies.record import (
    COUNTS,
    HERE,
    LOGS,
    RANKS,
    TERMS,
    Plan,
    begin,
    stored_plan,
)

KB, MB = 1_000, 1_000_000
PROBE_SECONDS = 3.0


@dataclass(frozen=True)
class Counted:
    """A finished count of a corpus: its folder, plan and counts."""

    folder: Path
    plan: Plan
    counts: Counts

    @property
    def documents(self) -> int:
        """Return the number of counted documents."""
        return int(self.counts.totals["documents"].sum())

    @property
    def broken_share(self) -> float:
        """Return the share of unreadable documents (0 to 1).

        If a file is damaged, the number of documents in its rest is estimated from the documents per byte before the
        damage.
        """
        broken = broken_documents(self.counts) + lost_documents(self.counts, self.plan.pieces)
        return broken / max(broken + self.documents, 1)


def planned(options: FrequencyOptions) -> Plan:
    """Return the plan of a count without counting.

    Raises a UsageError for sources, terms or locations that do not exist, and a DataError for invalid ones.
    """
    _refuse_results(options.sources)
    if options.on == "slurm":
        check_slurm_options(options.slurm)
    if options.duplicates == "drop" and "://" in (options.ranks_at or ""):
        raise UsageError(
            f"`--duplicates drop` stores files of all ranks, which is not possible at {options.ranks_at}.",
            "Use a shared folder that all machines can access for --ranks-at, or keep duplicates.",
        )
    holisticbias, births = (_folder(options, name) for name in ("holisticbias", "ssa-names"))
    table = build_terms(
        options.terms or DEFAULT, holisticbias=holisticbias, births=births, inflections=options.inflections
    )
    Counters(table, _counting(options)).get_counter("")  # raises an error for what it cannot count
    if options.as_published:
        published_documents(table, [""])  # raises an error that names what is missing
    found = survey(
        options.sources,
        column=options.column,
        kind=options.kind,
        documents=options.documents,
        largest=min(LARGEST, options.rank_bytes),
    )
    ranks = divide_pieces(
        [_from_anywhere(piece) for piece in found.pieces], options.rank_bytes, _workers(options)
    )
    return Plan(options, table, tuple(ranks), tuple(found.notes))


def _refuse_results(sources: Sequence[str]) -> None:
    """Raise UsageError if a source is not a corpus but a result of evenhand: an audit, or a sum of counts."""
    for source in map(Path, sources):
        if RunDirectory.is_run(source):
            raise UsageError(
                f"{source} is an audit run, not a corpus.",
                f"To compare it with a count: evenhand frequencies COUNTS --join {source}",
            )
        if source.suffix == ".parquet" and is_file(source) and is_counts(source):
            raise UsageError(
                f"{source} contains counts, not documents.",
                "Give the folder of a count to show it, or in Python: frequency_tables(read_counts(FILE), TABLE, "
                "sampled=1.0) of evenhand.studies.frequencies.",
            )


def _from_anywhere(piece: Piece) -> Piece:
    """Return a piece with a path that is valid in any working folder and on machines that can access the file."""
    return piece if "://" in piece.address else replace(piece, address=str(Path(piece.address).absolute()))


def conduct(options: FrequencyOptions, folder: Path, progress: Progress | None = None) -> Counted:
    """Count the ranks that are not counted yet; the folder may already contain others.

    Raises UsageError if the folder contains something else, ResumeRefused if it was started with other options, files
    or terms, DataError for unreadable files or if no document could be read, WriteError, Interrupted (resumable).
    """
    progress = progress or Silence()
    with resumable(_again(options, folder)):
        plan = planned(options)
        for note in plan.notes:
            progress.note(note)
        plan = begin(folder, plan)
    return _counted(plan, folder, progress)


def go_on(options: FrequencyOptions, folder: Path, progress: Progress | None = None) -> Counted:
    """Count with the files and terms of the stored plan; a finished count is only read."""
    plan = stored_plan(folder, options)
    if plan is None:  # the process was killed before the plan was written
        return conduct(options, folder, progress)
    return _counted(plan, folder, progress or Silence())


def _again(options: FrequencyOptions, folder: Path) -> str:
    """Return the hint for resuming; work on other machines must be named each time."""
    elsewhere = "" if options.on in HERE else f" --on {options.on}"
    elsewhere += "".join(f" --set slurm.{name}={value}" for name, value in options.slurm.items())
    elsewhere += "" if options.ranks_at is None else f" --ranks-at {options.ranks_at}"
    return f"Resume with: evenhand frequencies {folder}{elsewhere}"


def _counted(plan: Plan, folder: Path, progress: Progress) -> Counted:
    with resumable(_again(plan.options, folder)), hold_lock(folder / "lock"):
        if not is_file(folder / COUNTS):
            work = _work(plan, folder)
            _count(plan, work, folder, progress)
            _sum(work, folder)
        counts = read_counts(str(folder / COUNTS))
    if counts.table_hash != plan.table.content_hash:
        raise DataError(
            f"{folder / COUNTS} was counted with another table of terms than {folder}.",
            "Delete it to count again, or start a new count with -o.",
        )
    named = [counts.terms["term"], counts.pairs["first"], counts.pairs["second"], counts.published["term"]]
    if any((terms >= len(plan.table)).any() for terms in (*named, counts.contexts["term"])):
        raise DataError(
            f"{folder / COUNTS} does not match the count: it contains terms that are not in {folder / TERMS}.",
            "Delete it to count again, or start a new count with -o.",
        )
    return Counted(folder, plan, counts)


def _count(plan: Plan, work: CorpusWork, folder: Path, progress: Progress) -> None:
    if not are_repeats_known(work):
        progress.note("All files are read twice: first to find documents that repeat others.")
        _do(HASHING, plan, work, folder, progress)
        repeated = find_all_repeats(work)
        progress.note(f"{repeated:,} documents repeat others and are not counted.")
    _do(COUNTING, plan, work, folder, progress)


def _do(stage: Stage, plan: Plan, work: CorpusWork, folder: Path, progress: Progress) -> None:
    kept = stage.kept(work)
    if len(kept) == len(work.ranks):
        return
    total, there = plan.size, sum(piece.size for rank in kept for piece in work.ranks[rank])
    small = total < 10 * MB
    size = KB if small else MB
    place = CountingPlace(plan.options.on, str(folder / LOGS), plan.options.workers, plan.options.slurm)
    with (
        show_progress(progress, ceil(total / size), ceil(there / size), "kB" if small else "MB"),
        closing(do_ranks(place, work, stage, os.cpu_count() or 1, progress.note)) as doing,
    ):
        for done in doing:
            before, there = there, there + done.bytes
            progress.advance(ceil(there / size) - ceil(before / size), 0, done.broken)
    if missing := len(work.ranks) - len(stage.kept(work)):
        raise DataError(
            f"{missing:,} of {len(work.ranks):,} ranks finished, but their results are not in {work.folder}.",
            "The remote machines cannot access this folder. Give a place that all can access with --ranks-at, "
            "such as s3://BUCKET/PATH.",
        )


def _sum(work: CorpusWork, folder: Path) -> None:
    counts = merged_ranks(work.folder, len(work.ranks))
    if not counts.totals["documents"].sum():
        raise _nothing(counts)
    write_counts(str(folder / COUNTS), counts)
    shutil.rmtree(folder / RANKS, ignore_errors=True)  # the total contains all of them


def _nothing(counts: Counts) -> DataError:
    skipped = counts.skipped.group_by("reason").agg(pl.col("documents").sum())
    rows = skipped.sort("documents", "reason", descending=[True, False]).rows()
    said = [f"{documents:,} {reason}" for reason, documents in rows]
    return DataError(
        f"No document could be counted: {', '.join(said) or 'the files are empty'}.",
        "Check that --column names the column that contains the text (no_text means that it was not found), and that "
        "the content of each file has the format of its file extension.",
    )


def _work(plan: Plan, folder: Path) -> CorpusWork:
    options = plan.options
    reading = ReadingOptions(
        column=options.column, sample=options.sample, seed=options.seed, duplicates=options.duplicates
    )
    return CorpusWork(plan.table, plan.ranks, reading, _counting(options), _ranks_at(plan, folder))


def _counting(options: FrequencyOptions) -> CountingOptions:
    return CountingOptions(
        pairs=options.pairs,
        window=options.window,
        contexts=options.contexts,
        seed=options.seed,
        published=options.as_published,
    )


def _ranks_at(plan: Plan, folder: Path) -> str:
    """Return the folder for counts of ranks; outside the result folder, its name is unique to this count."""
    elsewhere = plan.options.ranks_at
    if elsewhere is None:
        return str((folder / RANKS).absolute())
    told = repr((plan.options.deciding(), plan.table.content_hash, plan.ranks))
    return f"{elsewhere.rstrip('/')}/{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _workers(options: FrequencyOptions) -> int:
    return options.workers or os.cpu_count() or 1


def _folder(options: FrequencyOptions, name: str) -> Path | None:
    given = options.data.get(name)
    return None if given is None else Path(given).expanduser()


def probe(plan: Plan, seconds: float = PROBE_SECONDS) -> dict[str, Any]:
    """Estimate how long counting takes, by counting for some seconds and discarding the counts.

    Returns `files`, `bytes`, `ranks`, `terms`, `person_nouns` (counted to distinguish senses), `workers` and `seconds`.
    The estimate is based on the `probe_bytes` read in `probe_seconds`; it is None if nothing was read.
    Raises DataError for an unreadable file.
    """
    work = _work(plan, Path())
    counters = Counters(plan.table, work.counting)
    began, read = time.perf_counter(), 0
    for piece in max(plan.ranks, key=lambda rank: sum(one.size for one in rank)):
        for batch in read_batches(piece, replace(work.reading, duplicates="keep")):
            counters.get_counter(piece.corpus).add(batch, piece)
            read += batch.bytes_read
            if time.perf_counter() - began > seconds:
                break
        if time.perf_counter() - began > seconds:
            break
    taken = time.perf_counter() - began
    workers = min(_workers(plan.options), len(plan.ranks))
    nouns = plan.table.terms.filter(pl.col("kind") == "person_noun").height
    return {
        "files": len({piece.address for piece in plan.pieces}),
        "bytes": plan.size,
        "ranks": len(plan.ranks),
        "terms": len(plan.table) - nouns,
        "person_nouns": nouns,
        "workers": workers,
        "seconds": plan.size / read * taken / workers if read else None,
        "probe_seconds": taken,
        "probe_bytes": read,
    }
