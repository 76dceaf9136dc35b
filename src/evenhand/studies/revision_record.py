"""The folder of a search: what decides its result, so that it is gone on with and never mixed with another."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from evenhand import __version__
from evenhand.runs.manifest import refuse_differences
from evenhand.schema import DataError, UsageError
from evenhand.schema.files import atomic_write
from evenhand.studies.config import NAMED_ANEW
from evenhand.studies.revision_options import RevisionConfig
from evenhand.studies.trust import check_addresses, check_code

RECORD = "revision.json"


def begin(folder: Path, record: Mapping[str, Any]) -> None:
    """Start a search in a new or empty folder, or check that the one there is the same.

    Raises ResumeRefused listing what differs, UsageError if something else lies there, WriteError.
    """
    path = folder / RECORD
    if path.is_file():
        stored = read_json(path)
        before, now = _comparable(stored["search"]), _comparable(record)
        refuse_differences(f"The search {folder}", before, now, "Start another with -o.")
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists and holds no search.", "Choose another folder with -o.")
    write_json(path, {"version": 1, "evenhand": __version__, "search": record})


def _comparable(record: Mapping[str, Any]) -> dict[str, Any]:
    audit = {name: value for name, value in record.get("audit", {}).items() if name not in NAMED_ANEW}
    return {**record, "audit": audit}


def is_search(folder: Path) -> bool:
    """Whether a folder holds a search."""
    return (folder / RECORD).is_file()


def resumed_search(
    folder: Path, *, trust_remote_code: bool = False, trust_addresses: bool = False
) -> RevisionConfig:
    """The options of a search that is gone on with.

    trust_remote_code: run code that comes with the model. trust_addresses: ask the servers that the folder names (see
    `evenhand.studies.trust`). Raises DataError if its record cannot be read, ResumeRefused where the folder alone names
    code or servers.
    """
    stored = stored_search(folder)
    audit = stored.audit
    check_code(folder, audit.trust_remote_code, trust_remote_code)
    names = [audit.model, *audit.classifiers.values(), stored.reviser]
    check_addresses(folder, names, trusted=trust_addresses)
    trusting = audit.model_copy(update={"trust_remote_code": trust_remote_code})
    return stored.model_copy(update={"audit": trusting})


def stored_search(folder: Path) -> RevisionConfig:
    """The options of a search that was begun; raises DataError if its record cannot be read."""
    told = read_json(folder / RECORD)
    try:
        return RevisionConfig.model_validate({**told["search"]["config"], "audit": told["search"]["audit"]})
    except (KeyError, TypeError, ValidationError) as error:
        raise DataError(
            f"{folder / RECORD} is not the record of a search of this version of evenhand: {error}.",
            "Start another search with -o.",
        ) from error


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table as Parquet, whole or not at all; raises WriteError."""
    with atomic_write(path) as handle:
        table.write_parquet(handle)


def write_json(path: Path, content: Any) -> None:
    """Write JSON, whole or not at all; raises WriteError."""
    with atomic_write(path) as handle:
        handle.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """What a JSON file holds; raises DataError if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Restore it, or start another search.") from error
