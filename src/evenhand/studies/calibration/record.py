"""What the folder of a calibration says of it, and the shards in which its replications lie."""

import hashlib
from functools import cache
from pathlib import Path

import polars as pl

import evenhand
from evenhand.schema import DataError, write_table
from evenhand.studies.record import StudyRecord

RECORD = StudyRecord("calibration-options.json", "calibration", "options")
DECIDING = ("schema", "stats", "measures", "benchmarks", "studies/calibration")
"""Rooms whose code decides what comes out."""


@cache
def code_hash() -> str:
    """A hash of the code that replications depend on: going on with another would mix two procedures."""
    root = Path(evenhand.__file__).parent
    digest = hashlib.sha256()
    for room in DECIDING:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def shard_path(folder: Path, design: str, arm: str, block: int) -> Path:
    """Where a block of replications lies; names of designs and arms are hashed, since they hold any letter."""
    name = hashlib.sha256(f"{design}\n{arm}".encode()).hexdigest()[:16]
    return folder / "replications" / name / f"{block:04d}.parquet"


def read_shard(path: Path) -> pl.DataFrame | None:
    """The rows of a shard, None where it is not there yet; raises DataError for one that cannot be read."""
    if not path.is_file():
        return None
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"{path} cannot be read: {error}.", "Remove it: its replications are drawn again."
        ) from error


def write_shard(path: Path, rows: pl.DataFrame) -> None:
    """Write a shard, whole or not at all."""
    write_table(path, rows)
