"""Training curves: one line per value, written as training proceeds, so that a kill loses only the last line.

A line is {step, epoch, split, name, value}; `split` is "training" or "validation".
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import DataError, WriteError, parse_json, write_text

CURVES = "curves.jsonl"
SCHEMA = pl.Schema(
    {"step": pl.Int64, "epoch": pl.Float64, "split": pl.String, "name": pl.String, "value": pl.Float64}
)


class CurveWriter:
    """Appends values to the file of training curves. Call `flush` before a checkpoint is written, so that no value is
    lost.
    """

    def __init__(self, path: Path, last_step: int):
        """Open the file. last_step: step from which training is resumed; values of later steps are deleted."""
        self.path, self.waiting = path, list[str]()
        kept = [row for row in _rows(path) if row["step"] <= last_step] if path.is_file() else []
        write_text(path, "".join(_line(row) for row in kept))

    def add(self, step: int, epoch: float, split: str, values: Mapping[str, float]) -> None:
        """Add values of a step."""
        for name, value in values.items():
            row = {"step": step, "epoch": round(epoch, 6), "split": split, "name": name, "value": value}
            self.waiting.append(_line(row))

    def flush(self) -> None:
        """Write the added values to disk. Raises a WriteError."""
        try:
            with self.path.open("a", encoding="utf-8") as handle:
                handle.writelines(self.waiting)
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise WriteError(
                f"Could not write {self.path}: {error.strerror or error}.",
                "Free some space and run the same command again: it resumes from the last checkpoint.",
            ) from error
        self.waiting.clear()


def read_curves(path: Path) -> pl.DataFrame:
    """Return the curves of a training, with the columns step, epoch, split, name and value. Raise a DataError without
    curves.
    """
    if not path.is_file():
        raise DataError(f"No training curves in {path}.", "Give the folder of a training.")
    try:
        return pl.DataFrame(_rows(path), SCHEMA, strict=False)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise DataError(f"{path} contains no curves: {error}.", "Restore the file from a copy.") from error


def _line(row: Mapping[str, object]) -> str:
    return json.dumps(row) + "\n"


def _rows(path: Path) -> list[dict[str, float]]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        try:
            row = parse_json(line)
        except ValueError:
            break  # the process was killed while it wrote this line
        if not _is_row(row):
            raise DataError(
                f"Line {number} of {path} is not valid: {line[:120]}",
                "It was changed by hand or by another program. Restore the file from a copy.",
            )
        rows.append(row)
    return rows


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or set(row) != set(SCHEMA):
        return False
    whole = [one for one in (row["step"], row["epoch"], row["value"]) if not isinstance(one, float)]
    return (
        type(row["step"]) is int
        and all(one is row["value"] is None or (type(one) is int and 0 <= one < 2**53) for one in whole)
        and all(isinstance(row[name], str) and row[name].isprintable() for name in ("split", "name"))
    )
