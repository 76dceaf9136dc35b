"""The record of a consistency study on disk. In addition to the options, it contains the levels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.schema import read_json
from evenhand.studies.consistency.levels import Levels
from evenhand.studies.consistency.options import CheckOptions


def begin(path: Path, options: CheckOptions, levels: Levels, given: Mapping[str, Any]) -> None:
    """Write the record of a new study, or check that a resumed study has the same options (`StudyOptions.begin`)."""
    options.begin(
        path,
        given={**_given_before(path), **given},
        frame=[levels.frame.before, levels.frame.after],
        lacking=levels.lacking,
        wordings=levels.wordings().to_dicts(),
    )


def _given_before(path: Path) -> dict[str, Any]:
    """Return the options that the user gave in earlier sessions, which resuming must keep."""
    if not CheckOptions.has_record(path):
        return {}
    content = read_json(
        path / CheckOptions.RECORD.file, "Restore the file from a copy, or start another with -o."
    )
    before = content.get("given") if isinstance(content, dict) else None
    return before if isinstance(before, dict) else {}
