"""Files without a published or built-in checksum: counted, recorded at the first download, and compared later.

Trust on first use: a record next to the versions of a data set describes each file at its first download.
"""

import csv
import datetime
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from evenhand.schema import ChecksumMismatch, DataError, compute_sha256, parse_json, write_json

FIRST_FETCHED = "first_fetched.json"
LONGEST_FIELD = 1 << 24


@dataclass(frozen=True)
class FirstFetch:
    """Properties of a file when it was first downloaded."""

    sha256: str
    bytes: int
    fetched: str
    """The day, in UTC: 2026-01-31."""
    source: str
    """The URL, or the folder that was named with --from."""

    @classmethod
    def from_file(cls, path: Path, source: str) -> "FirstFetch":
        """Return the record of a local file."""
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        return cls(compute_sha256(path), path.stat().st_size, today, source)


def read_first_fetches(data: Path, version: str) -> dict[str, FirstFetch]:
    """Return the records of the files of a version, by path; empty if there is no readable record.

    data: folder of the data set in the cache, which contains its versions.
    """
    files = _record(data).get(version, {})
    try:
        return {path: FirstFetch(**told) for path, told in files.items()}
    except (AttributeError, TypeError):
        return {}


def write_first_fetches(data: Path, version: str, files: Mapping[str, FirstFetch]) -> None:
    """Record files that were downloaded for the first time; earlier records stay. Raises WriteError."""
    told = {path: asdict(first) for path, first in files.items()}
    known = {path: asdict(first) for path, first in read_first_fetches(data, version).items()}
    write_json(data / FIRST_FETCHED, {**_record(data), version: {**told, **known}})


def differing_file(path: Path, first: FirstFetch, data: Path) -> ChecksumMismatch:
    """Return the error for a file that differs from its first download."""
    return ChecksumMismatch(
        f"{path} differs from the file that was first downloaded on {first.fetched} from {first.source}: SHA-256 "
        f"was {first.sha256} and is {compute_sha256(path)}.",
        f"The owner's checksum is not known. To trust the present file, delete its entry in {data / FIRST_FETCHED} "
        "and fetch again. To get the earlier file, delete the present one and fetch again.",
    )


def check_same(present: Path, given: Path, first: FirstFetch | None, data: Path) -> None:
    """Raise ChecksumMismatch if a user's file differs from the one in the cache, which is never replaced."""
    if compute_sha256(present) == compute_sha256(given):
        return
    since = "" if first is None else f", first downloaded on {first.fetched} from {first.source}"
    raise ChecksumMismatch(
        f"{given} differs from the file that is already installed: {present}{since}. Nothing was replaced.",
        f"To replace it, delete {present} and its entry in {data / FIRST_FETCHED}, and fetch again. To keep the "
        "installed file, remove --from.",
    )


def check_readable(path: Path, reader: str, source: str) -> None:
    """Raise ChecksumMismatch for an invalid archive, and for a file that its reader rejects.

    reader: `module:function`, "" for none. source: origin of the file, for the message.
    """
    why, hint = "", "Try again later, or use a complete copy with --from DIR."
    if path.stat().st_size == 0:
        why = "It is empty."
    elif path.suffix == ".zip" and not zipfile.is_zipfile(path):
        why = "It is not an archive: it is incomplete, or the server sent something else."
    elif reader:
        module, _, function = reader.partition(":")
        try:
            getattr(import_module(module), function)(path)
        except DataError as error:
            why, hint = error.message, error.hint or hint
    if why:
        raise ChecksumMismatch(f"{path.name} from {source} was discarded. {why}", hint)


def check_rows(path: Path, rows: int | None) -> None:
    """Raise ChecksumMismatch if a table or a file of lines has another number of rows than the published one.

    rows: expected number, without the heading of a CSV file and without blank lines; None: unknown, nothing is checked.
    """
    if rows is None:
        return
    found = _rows(path)
    if found != rows:
        raise ChecksumMismatch(
            f"{path.name} has {found:,} rows, but the published file has {rows:,}. The file was discarded.",
            "Its checksum is not known, but the number of rows shows that it is another file or incomplete. Try "
            "again later, or use a copy of the owner's repository with --from DIR.",
        )


def _rows(path: Path) -> int:
    with path.open(encoding="utf-8", errors="replace", newline="") as handle:
        if path.suffix != ".csv":
            return sum(bool(line.strip()) for line in handle)
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            return max(0, sum(map(bool, csv.reader(handle))) - 1)
        except csv.Error:
            return 0
        finally:
            csv.field_size_limit(before)


def _record(data: Path) -> dict[str, Any]:
    try:
        found = parse_json((data / FIRST_FETCHED).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
