"""Responses on disk: numbered Parquet parts that are whole or absent."""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import RESPONSES, DataError
from evenhand.schema.files import atomic_write

COLUMNS: Mapping[str, Any] = RESPONSES
KEYS = ("request_id", "sample")
NUMBERED = re.compile(r"part-(\d+)\.parquet(\.corrupt)*")
UNREADABLE = (OSError, pl.exceptions.PolarsError)


def write_shard(folder: Path, number: int, responses: pl.DataFrame) -> Path:
    """Write one part under its final name only when it is complete.

    Arguments: folder: the run's `responses`. number: see `next_number`. responses: a RESPONSES frame.
    Returns: the path. Raises WriteError (full disk, no permission), with earlier parts intact.
    Source: DESIGN.md, "The engine" (shards).
    """
    path = folder / f"part-{number:06d}.parquet"
    content = io.BytesIO()  # encoded first, so that a write error comes from the file itself
    responses.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()).write_parquet(content)
    with atomic_write(path) as handle:
        handle.write(content.getbuffer())
    return path


def read_shards(folder: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """All responses, one row for each request and sample; a later part replaces an earlier one.

    Arguments: folder: the run's `responses`. columns: what is wanted beside the keys; all by default.
    Returns: a RESPONSES frame, or these columns of it.
    Raises DataError naming the first part that cannot be read. Leftover temporary files are ignored.
    """
    wanted = [name for name in COLUMNS if columns is None or name in columns or name in KEYS]
    frames = []
    for path in _parts(folder):
        try:
            frames.append(_read(path, wanted))
        except UNREADABLE as error:
            raise DataError(
                f"{path} cannot be read: {_first_line(error)}.",
                f"Resume the run ({_resume(folder)}): it sets the part aside and asks those requests again.",
            ) from error
    if not frames:
        return pl.DataFrame(schema={name: COLUMNS[name] for name in wanted})
    return pl.concat(frames).unique(subset=KEYS, keep="last", maintain_order=True)


def set_aside_unreadable(folder: Path) -> list[str]:
    """Make the folder fit to resume: rename parts that cannot be read, remove leftover temporaries.

    Call it only under the run's lock. Returns: one sentence for each part that was set aside.
    """
    if not folder.is_dir():
        return []
    for leftover in folder.glob(".part-*.tmp"):
        leftover.unlink(missing_ok=True)
    told = []
    for path in _parts(folder):
        try:
            _read(path, list(COLUMNS))
        except UNREADABLE as error:
            aside = path.with_name(path.name + ".corrupt")
            path.rename(aside)
            told.append(
                f"{path} cannot be read ({_first_line(error)}); it is now {aside.name} "
                "and its requests are asked again."
            )
    return told


def next_number(folder: Path) -> int:
    """The number of the next part: past every one there, also those set aside."""
    found = [NUMBERED.fullmatch(path.name) for path in folder.glob("part-*")] if folder.is_dir() else []
    return max((int(match[1]) for match in found if match), default=0) + 1


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet")) if folder.is_dir() else []


def _read(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    # Through memory: reading must not keep a map of the file open while another process replaces it.
    content = pl.read_parquet(io.BytesIO(path.read_bytes()), columns=list(columns))
    return content.select(pl.col(name).cast(COLUMNS[name]) for name in columns)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__


def _resume(folder: Path) -> str:
    return f"evenhand audit {folder.parent}"
