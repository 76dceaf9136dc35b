"""A before/after study on disk: its options, its two runs, and how it is gone on with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.runs.manifest import as_json, refuse_differences
from evenhand.schema import DataError, ResumeRefused, UsageError
from evenhand.schema.files import atomic_write
from evenhand.studies.config import AuditConfig, stored_config
from evenhand.studies.options import validated

RECORD = "before-after-options.json"
VERSION = 1
BEFORE, AFTER = "before", "after"
"""Folders of the runs of the model by itself and behind the mitigations."""
ELSEWHERE = "Start another study with -o, or leave out what differs."


def is_before_after(path: Path) -> bool:
    """Whether a folder holds a before/after study."""
    return (path / RECORD).is_file()


def stored_study(path: Path) -> AuditConfig:
    """The options a study was started with; raises DataError if its record cannot be read, ResumeRefused if it is of
    another version."""
    where = path / RECORD
    try:
        content = json.loads(where.read_text(encoding="utf-8"))
        version, config = content["version"], dict(content["config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{where} cannot be read: {error}.", "Give the folder of a study.") from error
    if version != VERSION:
        raise ResumeRefused(f"{where} has version {version}; this evenhand reads {VERSION}.", ELSEWHERE)
    return stored_config(config, path)


def begin(path: Path, config: AuditConfig, given: Mapping[str, Any]) -> None:
    """Write the record of a study, or see that it goes on with what it was started with.

    Raises UsageError for a folder that holds something else, ResumeRefused listing the options that differ. Other
    classifiers are left to the runs, which say how to judge anew.
    """
    if is_before_after(path):
        stored = stored_study(path).same_results()
        now = config.comparable_with(stored)
        refuse_differences(
            f"The study {path}", _without_judges(stored), _without_judges({**stored, **now}), ELSEWHERE
        )
        return
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} exists and is no before/after study.", "Choose another folder with -o.")
    content = {"version": VERSION, "config": config.model_dump(mode="json"), "given": as_json(given)}
    with atomic_write(path / RECORD) as handle:
        handle.write(json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace"))


def with_changes(config: AuditConfig, changes: Mapping[str, Any]) -> AuditConfig:
    """Options with some of them named again; raises UsageError for values that cannot be."""
    named = {name: value for name, value in changes.items() if value is not None and value not in ((), {})}
    return validated(AuditConfig, {**config.model_dump(), **named})


def _without_judges(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "classifiers"}
