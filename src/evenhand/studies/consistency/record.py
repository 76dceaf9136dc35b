"""A consistency study on disk: the record used to resume it and to keep studies apart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.schema import read_json
from evenhand.studies.consistency.levels import Levels
from evenhand.studies.consistency.options import DESIGN, EARLIER, CheckOptions
from evenhand.study import Compared, StudyRecord

RECORD = StudyRecord("study.json", "consistency study", part="options")


def begin(path: Path, options: CheckOptions, levels: Levels, given: Mapping[str, Any]) -> None:
    """Write the record of a new study, or check that a resumed study has the same options.

    Options that do not affect prompts and responses may change. Raises as `StudyRecord.begin`.
    """

    def asking(stored: dict[str, Any]) -> Compared:
        return RECORD.valid(path, CheckOptions, {**EARLIER, **stored}).asking(), options.asking()

    content = {
        "options": options.model_dump(mode="json"),
        "given": {**_given_before(path), **given},
        "frame": [levels.frame.before, levels.frame.after],
        "lacking": levels.lacking,
        "wordings": levels.wordings().to_dicts(),
    }
    RECORD.begin(path, content, asking, renewed=True)


def _given_before(path: Path) -> dict[str, Any]:
    """Return the options that the user gave in earlier sessions, which resuming must keep."""
    if not RECORD.is_in(path):
        return {}
    content = read_json(path / RECORD.file, "Restore the file from a copy, or start another with -o.")
    before = content.get("given") if isinstance(content, dict) else None
    return before if isinstance(before, dict) else {}


def design_of(folder: Path | None) -> dict[str, Any]:
    """Return the numbers of nonsense wordings and prompts with which the check in a folder was started; empty if there
    is none.
    """
    if folder is None or not RECORD.is_in(folder):
        return {}
    stored = {**EARLIER, **RECORD.stored(folder)}
    return {name: stored[name] for name in DESIGN if name in stored}
