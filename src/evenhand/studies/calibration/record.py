"""The stored options of a calibration, and the shards with its replications."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import evenhand
from evenhand.schema import UNREADABLE, DataError, read_parquet, write_table
from evenhand.study import StudyRecord

RECORD = StudyRecord("calibration-options.json", "calibration", "options")
Schema = Mapping[str, Any]
"""Columns with their types, as polars takes them."""
DECIDING = ("schema", "stats", "measures", "benchmarks", "studies/calibration")
"""Packages of evenhand whose code determines the results."""


@cache
def code_hash() -> str:
    """Return a hash of the code behind the replications, so that a resumed run does not mix two procedures."""
    root = Path(evenhand.__file__).parent
    digest = hashlib.sha256()
    for room in DECIDING:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def shard_path(folder: Path, design: str, arm: str, block: int) -> Path:
    """Return the file of a block of replications; names of designs and arms are hashed, because they may have any
    character.
    """
    name = hashlib.sha256(f"{design}\n{arm}".encode()).hexdigest()[:16]
    return folder / "replications" / name / f"{block:04d}.parquet"


def read_shard(path: Path, schema: Schema, replications: range, each: int = 0) -> pl.DataFrame | None:
    """Return the rows of a shard; None if it does not exist yet.

    Parameters
    ----------
    schema : mapping
        Required columns with their types.
    replications : range
        Replications in the shard.
    each : int
        Number of rows per replication; 0 if unknown.

    Raises
    ------
    DataError
        The shard cannot be read or has other content.
    """
    if not path.is_file():
        return None
    hint = "Remove it: its replications are drawn again."
    try:
        rows = read_parquet(path)
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {error}.", hint) from error
    expected = pl.Schema(schema)
    if rows.schema != expected:
        wrong = [name for name in {**expected, **rows.schema} if rows.schema.get(name) != expected.get(name)]
        raise DataError(f"{path} is damaged: unexpected columns {', '.join(wrong) or '(wrong order)'}.", hint)
    numbers = rows["replication"]
    if numbers.null_count() or not numbers.is_in(list(replications)).all():
        raise DataError(
            f"{path} is damaged: it does not contain the replications {replications[0]} to {replications[-1]}.",
            hint,
        )
    if each and (rows.height != each * len(replications) or numbers.n_unique() != len(replications)):
        raise DataError(
            f"{path} is damaged: {rows.height} rows found, but {each} for each of {len(replications)} replications "
            "expected.",
            hint,
        )
    return rows


def write_shard(path: Path, rows: pl.DataFrame) -> None:
    """Write a shard, completely or not at all."""
    write_table(path, rows)
