"""A before/after study on disk: its options, its two runs, and how to resume it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.studies.audit import AuditConfig, stored_config
from evenhand.study import Compared, StudyRecord, validate_options

RECORD = StudyRecord("before-after-options.json", "before/after study", part="config")
BEFORE, AFTER = "before", "after"
"""Folders of the runs without and with mitigations."""


def stored_study(path: Path) -> AuditConfig:
    """Return the options with which a study was started; raises as `StudyRecord.stored` and `stored_config`."""
    return stored_config(RECORD.stored(path), path)


def begin(path: Path, config: AuditConfig, given: Mapping[str, Any]) -> None:
    """Write the record of a new study, or check that a resumed study has the same options.

    Classifiers are not compared here. The runs check them, and their errors describe how to rescore. Raises the errors
    of `StudyRecord.begin`.
    """

    def results(stored: dict[str, Any]) -> Compared:
        before = stored_config(stored, path).same_results()
        now = {**before, **config.comparable_with(before)}
        return _without_classifiers(before), _without_classifiers(now)

    RECORD.begin(path, {"config": config.model_dump(mode="json"), "given": given}, results)


def with_changes(config: AuditConfig, changes: Mapping[str, Any]) -> AuditConfig:
    """Return options with some of them replaced; raises UsageError for invalid values."""
    named = {name: value for name, value in changes.items() if value is not None and value not in ((), {})}
    return validate_options(AuditConfig, {**config.model_dump(), **named})


def _without_classifiers(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "classifiers"}
