"""Tables that grow on disk, responses and labels: numbered Parquet parts that are whole or absent."""

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
    read_apart,
    sweep,
    write_table,
)


@dataclass(frozen=True)
class GrowingTable:
    """What the parts of a folder hold."""

    columns: Mapping[str, Any]
    keys: tuple[str, ...]
    """If two rows have the same keys, the later one counts."""
    added: frozenset[str] = frozenset()
    """Columns that parts written by earlier versions lack; they are read as null."""


RESPONSE_PARTS = GrowingTable(RESPONSES, ("request_id", "sample"), frozenset({"finish"}))
LABEL_PARTS = GrowingTable(LABELS, ("text_id",))
NUMBERED = re.compile(r"part-(\d+)\.parquet(\.corrupt)*")


def write_shard(folder: Path, number: int, rows: pl.DataFrame, table: GrowingTable = RESPONSE_PARTS) -> Path:
    """Write one part under its final name only when it is complete.

    Arguments: folder: the run's `responses`, or that of one classifier's labels. number: see `next_number`.
    rows: a frame of the table's columns.
    Returns: the path. Raises WriteError (full disk, no permission), with earlier parts intact.
    """
    whole = rows.select(pl.col(name).cast(kind) for name, kind in table.columns.items())
    return write_table(folder / f"part-{number:06d}.parquet", whole)


def read_shards(
    folder: Path, columns: Sequence[str] | None = None, table: GrowingTable = RESPONSE_PARTS
) -> pl.DataFrame:
    """All rows, one for each key; a later part replaces an earlier one.

    Arguments: folder: see `write_shard`. columns: requested columns in addition to the keys; all by default.
    Returns: a frame of the table's columns, or these of them.
    Raises DataError naming the first part that cannot be read. Leftover temporary files are ignored.
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
    """Make the folder fit to resume: rename parts that cannot be read, remove left-over temporaries.

    Anything that is not a file (a folder, a named pipe) was not created by evenhand. In the place of a part it is
    renamed; elsewhere it is ignored. Call it only under the run's lock. Returns: one sentence for each part that was
    set aside.
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
    """Raise DataError where rows that were written are not there: somebody removed parts meanwhile.

    lacking: how many requests or texts (`what`) have no row although all were answered.
    """
    if lacking:
        raise DataError(
            f"Parts of {folder} were deleted: {lacking:,} {what} have no result.",
            f"They were removed while the run was in progress. Run again to request them again: {_resume(folder)}",
        )


def next_number(folder: Path) -> int:
    """The number of the next part: past every one there, also those set aside."""
    matches = [NUMBERED.fullmatch(path.name) for path in folder.glob("part-*")] if folder.is_dir() else []
    return max((int(match[1]) for match in matches if match), default=0) + 1


def _parts(folder: Path) -> list[Path]:
    parts = sorted(folder.glob("part-*.parquet")) if folder.is_dir() else []
    read_apart(parts)  # those of earlier versions, all at once
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
    # Responses are in a folder of the run, a classifier's labels in a subfolder.
    run = next((above for above in folder.parents if (above / "manifest.json").is_file()), folder.parent)
    return f"evenhand audit {run}"
