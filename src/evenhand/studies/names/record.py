"""The folder of a study of names: the record of all that affects its numbers, used to resume it."""

from pathlib import Path
from typing import Any

from evenhand.runs import RunDirectory
from evenhand.schema import VERSION
from evenhand.studies.names.options import NamesConfig, slug
from evenhand.study import Compared, StudyRecord

ENDED = ("measurements.parquet", "findings.parquet", "headlines.parquet")
RECORD = StudyRecord("names.json", "names study", part="options")
is_study = RECORD.is_in


def begin(path: Path, config: NamesConfig) -> None:
    """Write the record of a new study, or check that a resumed one has the same options (`StudyRecord.begin`).

    Rows may be added to a study, and unfinished rows may be replaced. Others do not change.
    """

    def deciding(stored: dict[str, Any]) -> Compared:
        before = RECORD.valid(path, NamesConfig, stored)
        now = config.deciding()
        anew = {label for label in unfinished(path, before) if label in now["rows"]}
        kept = {
            label: model if label in anew else now["rows"].get(label) for label, model in before.rows.items()
        }
        return before.deciding(), {**now, "rows": kept}

    content = {"evenhand": VERSION, "options": config.model_dump(mode="json")}
    RECORD.begin(path, content, deciding, renewed=True)


def stored_study(path: Path) -> NamesConfig:
    """Return the options with which a study was started; raises DataError if its record cannot be read."""
    return RECORD.valid(path, NamesConfig, RECORD.stored(path))


def ended(folder: Path) -> bool:
    """Return whether all measures of a run were computed.

    >>> ended(Path("nowhere"))
    False
    """
    return all((folder / name).is_file() for name in ENDED) and bool(
        RunDirectory.open(folder).manifest.details
    )


def unfinished(path: Path, config: NamesConfig) -> list[str]:
    """Return the rows, including the base row, whose self-chats are not complete yet; in order."""
    return [
        label
        for label in config.models
        if not all(ended(path / "rows" / slug(label) / decoding) for decoding in config.decoding)
    ]
