"""The folder of a count: its options, files and terms, and their division into ranks."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.corpus import Piece, TermTable
from evenhand.schema import VERSION, DataError, ResumeRefused, is_file, read_stored_table, write_table
from evenhand.studies.frequencies.options import FrequencyOptions
from evenhand.study import Compared, StudyRecord

RECORD = StudyRecord("frequencies-options.json", "frequency count", part="count")
is_count = RECORD.is_in
TERMS, PIECES, COUNTS, RANKS, LOGS = "terms.json", "pieces.parquet", "counts.parquet", "ranks", "datatrove"
"""Other files in the folder: the table of terms, the pieces, the total counts, and until then the rank counts."""
HERE = ("local", "ray")
"""Places that a folder may decide: this machine alone, and nothing of it that reads what others may have written."""
LEADS_OUT = re.compile(r"://|(?:^|=)[/\\]{2}")
"""In an address of a store or a server, or a path to another machine's folders."""
MOST_LISTED = 20
"""Files that an error lists."""
PIECE_COLUMNS = {
    "rank": pl.Int64,
    "corpus": pl.String,
    "address": pl.String,
    "kind": pl.String,
    "size": pl.Int64,
    "first": pl.Int64,
    "last": pl.Int64,
    "name": pl.String,
    "version": pl.String,
    "number": pl.Int64,
}

Ranks = tuple[tuple[Piece, ...], ...]


@dataclass(frozen=True)
class Plan:
    """Plan of a count: the terms, and the pieces of the corpora that each rank (unit of work) counts."""

    options: FrequencyOptions
    table: TermTable
    ranks: Ranks
    notes: tuple[str, ...] = ()
    """Messages about files that were left out, and about what counts as a document."""

    @property
    def pieces(self) -> list[Piece]:
        """Return the pieces of all ranks, in order."""
        return [piece for rank in self.ranks for piece in rank]

    @property
    def size(self) -> int:
        """Return the size of all pieces in bytes, as stored."""
        return sum(piece.size for piece in self.pieces)


def begin(folder: Path, plan: Plan) -> Plan:
    """Write the options of a new count, or check those of a resumed one; return the plan with its division.

    Raises ResumeRefused listing each option, file and table that differs, and as `StudyRecord.begin`.
    """

    def compared(stored: dict[str, Any]) -> Compared:
        before = RECORD.valid(folder, FrequencyOptions, stored.get("options", {})).deciding()
        files = stored.get("files", {})
        now = _files(plan)
        differ = [key for key in sorted(files.keys() | now.keys()) if files.get(key) != now.get(key)]
        listed = differ[:MOST_LISTED]
        return (
            {"options": before, "terms": stored.get("terms"), "files": _some(files, listed, len(differ))},
            {"options": plan.options.deciding(), "terms": _terms(plan), "files": _some(now, listed, 0)},
        )

    content = {
        "evenhand": VERSION,
        "count": {
            "options": plan.options.model_dump(mode="json"),
            "terms": _terms(plan),
            "files": _files(plan),
        },
    }
    RECORD.begin(folder, content, compared)
    if is_file(folder / PIECES):
        divided = replace(plan, ranks=_read_ranks(folder))
        if _files(divided) != _files(plan):
            raise DataError(
                f"{folder / PIECES} lists other files than the count started with.",
                "The folder was changed by hand or by another program. Start a new count with -o.",
            )
        plan = divided
    else:
        plan.table.write(folder / TERMS)
        write_table(folder / PIECES, _piece_frame(plan.ranks))
    return plan


def stored_options(folder: Path) -> FrequencyOptions:
    """Return the options with which a count was started; raises DataError as `StudyRecord.stored`."""
    return RECORD.valid(folder, FrequencyOptions, RECORD.stored(folder).get("options", {}))


def check_trust(
    folder: Path, stored: FrequencyOptions, named: Mapping[str, Any], *, trusted: bool = False
) -> None:
    """Raise ResumeRefused if resuming would contact machines that only the folder names, because it may be untrusted.

    Parameters
    ----------
    stored
        Options in the folder.
    named
        Options that the user gives now.
    trusted
        Whether to use servers and machines that only the folder names.
    """
    # a finished count needs only its folder
    if trusted or (is_file(folder / COUNTS) and is_file(folder / PIECES)):
        return
    flags = []
    if stored.on not in HERE and "on" not in named:
        settings = "".join(f" --set slurm.{name}=..." for name in stored.slurm)
        flags.append(f"--on {stored.on}{settings}")
    if stored.ranks_at is not None and "ranks_at" not in named:
        flags.append(f"--ranks-at {stored.ranks_at}")
    if flags:
        raise ResumeRefused(
            f"The count {folder} runs on other machines. A folder alone is not permission for that.",
            f"If you trust it, run: evenhand frequencies {folder} {' '.join(flags)}",
        )
    if there := next(filter(LEADS_OUT.search, _named_to_read(folder, stored)), None):
        raise ResumeRefused(
            f"The count {folder} reads {there}. This path is stored in the folder, and you did not give it "
            "yourself.",
            "If you trust it, add --trust-addresses, or give all sources again, with -o and the folder.",
        )


def _named_to_read(folder: Path, stored: FrequencyOptions) -> Iterator[str]:
    """Yield everything that a folder names for reading: divided files or sources, lists of terms and data sets."""
    yield from stored.sources
    yield from stored.terms
    yield from stored.data.values()
    if is_file(folder / PIECES):
        yield from (piece.address for rank in _read_ranks(folder) for piece in rank)


def stored_plan(folder: Path, options: FrequencyOptions) -> Plan | None:
    """Return the plan with which a count was started; None if the process was killed before it was written.

    Raises DataError for damaged files, and for a table of terms that differs from that of the count.
    """
    if not is_file(folder / PIECES):
        return None
    table = TermTable.read(folder / TERMS)
    terms = RECORD.stored(folder).get("terms")
    if not isinstance(terms, dict) or terms.get("hash") != table.content_hash:
        raise DataError(
            f"{folder / TERMS} is not the table of terms that the count started with.",
            "Restore it from a copy, or start a new count with -o.",
        )
    return Plan(options, table, _read_ranks(folder))


def _terms(plan: Plan) -> dict[str, Any]:
    return {"hash": plan.table.content_hash, "number": len(plan.table)}


def _files(plan: Plan) -> dict[str, str]:
    return {f"{piece.corpus}={piece.address}": piece.version or str(piece.size) for piece in plan.pieces}


def _some(files: Mapping[str, str], listed: list[str], differ: int) -> dict[str, str]:
    found = {key: files[key] for key in listed if key in files}
    return found | ({"...": f"{differ:,} files differ"} if differ > len(listed) else {})


def _piece_frame(ranks: Ranks) -> pl.DataFrame:
    rows = [{"rank": number, **asdict(piece)} for number, rank in enumerate(ranks) for piece in rank]
    return pl.DataFrame(rows, schema=PIECE_COLUMNS)


def _read_ranks(folder: Path) -> Ranks:
    rows = read_stored_table(folder / PIECES)
    names = [field.name for field in fields(Piece)]
    if dict(rows.schema) != PIECE_COLUMNS or not set(names) <= set(PIECE_COLUMNS):
        raise DataError(
            f"{folder / PIECES} does not contain the division of a corpus.",
            "The folder was changed by hand or by another version. Start a new count with -o.",
        )
    ranks: dict[int, list[Piece]] = {}
    for row in rows.iter_rows(named=True):
        ranks.setdefault(row["rank"], []).append(Piece(**{name: row[name] for name in names}))
    return tuple(tuple(ranks[number]) for number in sorted(ranks))
