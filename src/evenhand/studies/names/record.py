"""The folder of a study of names: what decides its numbers, so that it is gone on with and never mixed."""

from pathlib import Path
from typing import Any

from evenhand.schema import VERSION
from evenhand.studies.names.options import NamesConfig
from evenhand.studies.record import Compared, StudyRecord

RECORD = StudyRecord("names.json", "names study", part="options")
is_study = RECORD.is_in


def begin(path: Path, config: NamesConfig) -> None:
    """Write the record of a study, or see that it goes on with what it was begun with (`StudyRecord.begin`).

    Rows may be added to a study: those that it has stay as they are.
    """

    def deciding(stored: dict[str, Any]) -> Compared:
        before = RECORD.valid(path, NamesConfig, stored)
        now = config.deciding()
        grown = {**now, "rows": {label: now["rows"].get(label) for label in before.rows}}
        return before.deciding(), grown

    content = {"evenhand": VERSION, "options": config.model_dump(mode="json")}
    RECORD.begin(path, content, deciding, renewed=True)


def stored_study(path: Path) -> NamesConfig:
    """The options a study was begun with; raises DataError if its record cannot be read."""
    return RECORD.valid(path, NamesConfig, RECORD.stored(path))
