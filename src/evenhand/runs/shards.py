"""Growing tables on disk (responses and labels): numbered Parquet files that are written atomically."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import (
    LABELS,
    RESPONSES,
    UNREADABLE,
    DataError,
    Parquet,
    check_in_subprocess,
    sweep,
    write_table,
)


@dataclass(frozen=True)
class GrowingTable:
    """The structure of the files in a folder."""

    columns: Mapping[str, Any]
    keys: tuple[str, ...]
    """If two rows have the same keys, the later one counts."""
    added: frozenset[str] = frozenset()
    """Columns that parts written by earlier versions lack; they are read as null."""


RESPONSE_PARTS = GrowingTable(RESPONSES, ("request_id", "sample"), frozenset({"finish"}))
LABEL_PARTS = GrowingTable(LABELS, ("text_id",))
NUMBERED = re.compile(r"part-(\d+)\.parquet(\.corrupt)*")


def write_shard(folder: Path, number: int, rows: pl.DataFrame, table: GrowingTable = RESPONSE_PARTS) -> Path:
    """Write one file atomically.

    folder: the run's `responses`, or that of one classifier's labels. number: see `next_number`. rows: a table with the
    required columns. Returns the path. Raises WriteError (full disk, no permission); earlier files stay intact.
    """
    whole = rows.select(pl.col(name).cast(kind) for name, kind in table.columns.items())
    return write_table(folder / f"part-{number:06d}.parquet", whole)


def read_shards(
    folder: Path, columns: Sequence[str] | None = None, table: GrowingTable = RESPONSE_PARTS
) -> pl.DataFrame:
    """Return all rows, one per key; a later file replaces rows of an earlier one.

    folder: see `write_shard`. columns: columns to read in addition to the keys; default: all. Raises DataError with the
    name of the first unreadable file. Remaining temporary files are ignored.
    """
    wanted = [name for name in table.columns if columns is None or name in columns or name in table.keys]
    frames = []
    for path in _parts(folder):
        try:
            frames.append(_read(path, wanted, table))
        except UNREADABLE as error:
            raise DataError(
                f"{path} cannot be read: {_first_line(error)}.",
                f"Resume the run ({_resume(folder)}): it sets the part aside and requests its responses again.",
            ) from error
    if not frames:
        return pl.DataFrame(schema={name: table.columns[name] for name in wanted})
    return pl.concat(frames).unique(subset=table.keys, keep="last", maintain_order=True)


def set_aside_unreadable(folder: Path, table: GrowingTable = RESPONSE_PARTS) -> list[str]:
    """Prepare a folder for resuming: rename unreadable files, and remove remaining temporary files.

    Anything that is not a regular file (a folder, a named pipe) was not created by evenhand. If it has the name of a
    file of the table, it is renamed; otherwise it is ignored. Call this only while holding the run's lock. Returns one
    sentence per renamed file.
    """
    if not folder.is_dir():
        return []
    sweep(folder)
    notes = []
    for path in _parts(folder):
        try:
            _read(path, list(table.columns), table)
        except UNREADABLE as error:
            aside = path.with_name(path.name + ".corrupt")
            path.rename(aside)
            notes.append(
                f"{path} cannot be read ({_first_line(error)}). It was renamed to {aside.name}, and its responses "
                "are requested again."
            )
    return notes


def refuse_gone(lacking: int, what: str, folder: Path) -> None:
    """Raise DataError if rows that were written are missing, because files were removed meanwhile.

    lacking: number of requests or texts (`what`) without a row, although all were processed.
    """
    if lacking:
        raise DataError(
            f"Parts of {folder} were deleted: {lacking:,} {what} have no result.",
            f"They were removed while the run was in progress. Run again to request them again: {_resume(folder)}",
        )


def next_number(folder: Path) -> int:
    """Return the number of the next file: larger than those of all files, including those set aside."""
    matches = [NUMBERED.fullmatch(path.name) for path in folder.glob("part-*")] if folder.is_dir() else []
    return max((int(match[1]) for match in matches if match), default=0) + 1


def _parts(folder: Path) -> list[Path]:
    parts = sorted(folder.glob("part-*.parquet")) if folder.is_dir() else []
    check_in_subprocess(parts)  # files of earlier versions, all at a time
    return parts


def _read(path: Path, columns: Sequence[str], table: GrowingTable) -> pl.DataFrame:
    stored = Parquet(path)
    lacking = [name for name in columns if name in table.added and name not in stored.schema]
    rows = stored.read([name for name in columns if name not in lacking])
    return rows.with_columns(pl.lit(None).alias(name) for name in lacking).select(
        pl.col(name).cast(table.columns[name]) for name in columns
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__


def _resume(folder: Path) -> str:
    # responses are in a folder of the run, and a classifier's labels in a subfolder
    run = next((above for above in folder.parents if (above / "manifest.json").is_file()), folder.parent)
    return f"evenhand audit {run}"
