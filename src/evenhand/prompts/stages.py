"""Intermediate tables of a build, each recorded with the content it was made from.

A build that is run again makes only the stages whose input has changed.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import UNREADABLE, parse_json, read_parquet, sha256_of, write_json, write_table

RECORD = "stages.json"


def content_key(*parts: Any) -> str:
    """32 hex characters of what a stage depends on: JSON-serialisable values.

    >>> content_key("a", 1) == content_key("a", 1) != content_key("a", 2)
    True
    """
    content = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class Stages:
    """A folder of intermediate tables with a record of what each was made from.

    folder: made when something is written. An unreadable record counts as missing: everything is recomputed.
    """

    def __init__(self, folder: Path):
        self.folder = folder

    def frame(self, name: str, key: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """The Parquet table `name`, made only if it is not there or was made from something else."""
        path = self.folder / name
        if self.key_of(name) == key and path.is_file():
            try:
                return read_parquet(path)
            except UNREADABLE:  # damaged since: making it again costs time alone
                pass
        table = make()
        write_table(path, table)
        self.record(name, key)
        return table

    def write_csv(self, name: str, key: str, table: pl.DataFrame) -> Path:
        """Write a table for people, and remember its content, so that their edits are noticed."""
        path = self.folder / name
        write_table(path, table)
        self.record(name, key)
        return path

    def key_of(self, name: str) -> str | None:
        """What a table was made from; None if it was never finished."""
        return self._records().get(name, {}).get("key")

    def is_edited(self, name: str) -> bool:
        """Whether a file that is there is not as it was written."""
        path = self.folder / name
        return path.is_file() and self._records().get(name, {}).get("sha256") != sha256_of(path)

    def record(self, name: str, key: str) -> None:
        """Remember what a table, written just now, was made from."""
        records = self._records() | {name: {"key": key, "sha256": sha256_of(self.folder / name)}}
        write_json(self.folder / RECORD, records)

    def _records(self) -> dict[str, dict[str, str]]:
        try:
            records = parse_json((self.folder / RECORD).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            return {}
        return records if isinstance(records, dict) else {}
