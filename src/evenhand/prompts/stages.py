"""Intermediate tables of a build, each stored with a hash of its input.

A repeated build recomputes only the stages whose input has changed.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import UNREADABLE, compute_sha256, parse_json, read_parquet, write_json, write_table

RECORD = "stages.json"


def content_key(*parts: Any) -> str:
    """Return 32 hexadecimal characters that identify JSON-serialisable values.

    >>> content_key("a", 1) == content_key("a", 1) != content_key("a", 2)
    True
    """
    content = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class Stages:
    """A folder of intermediate tables with a record of their inputs.

    folder: created when something is written. An unreadable record counts as missing: everything is recomputed.
    """

    def __init__(self, folder: Path):
        self.folder = folder

    def frame(self, name: str, key: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return the Parquet table `name`; it is computed only if it is missing or was made from other input."""
        path = self.folder / name
        if self.input_key(name) == key and path.is_file():
            try:
                return read_parquet(path)
            except UNREADABLE:  # damaged later; recomputing it only costs time
                pass
        table = make()
        write_table(path, table)
        self.record(name, key)
        return table

    def write_csv(self, name: str, key: str, table: pl.DataFrame) -> Path:
        """Write a table for people, and record its content, so that their edits are detected."""
        path = self.folder / name
        write_table(path, table)
        self.record(name, key)
        return path

    def input_key(self, name: str) -> str | None:
        """Return the key of the input from which a table was made; None if it was never completed."""
        return self._records().get(name, {}).get("key")

    def is_edited(self, name: str) -> bool:
        """Return whether an existing file differs from what was written."""
        path = self.folder / name
        return path.is_file() and self._records().get(name, {}).get("sha256") != compute_sha256(path)

    def record(self, name: str, key: str) -> None:
        """Record the key of the input of a table that was just written."""
        records = self._records() | {name: {"key": key, "sha256": compute_sha256(self.folder / name)}}
        write_json(self.folder / RECORD, records)

    def _records(self) -> dict[str, dict[str, str]]:
        try:
            records = parse_json((self.folder / RECORD).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            return {}
        return records if isinstance(records, dict) else {}
