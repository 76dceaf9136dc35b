"""The folder of a search: the record of all that affects its result, used to resume it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.schema import VERSION, DataError
from evenhand.studies.audit import NAMED_ANEW
from evenhand.studies.search_instruction.options import RevisionConfig
from evenhand.study import Compared, StudyRecord

RECORD = StudyRecord("revision.json", "instruction search", part="search")
is_search = RECORD.is_in


def begin(folder: Path, record: Mapping[str, Any]) -> None:
    """Start a search in a new or empty folder, or check that the search there has the same options.

    Options that did not exist in the version that started the search count as defaults.

    Raises as `StudyRecord.begin`.

    Parameters
    ----------
    record
        Everything that affects the result; `config` and `audit` are its options.
    """

    def deciding(stored: dict[str, Any]) -> Compared:
        config = stored_search(folder)
        options = {
            "config": config.model_dump(mode="json", exclude={"audit"}),
            "audit": config.audit.same_results(),
        }
        return _comparable({**stored, **options}), _comparable(record)

    RECORD.begin(folder, {"evenhand": VERSION, "search": record}, deciding)


def _comparable(record: Mapping[str, Any]) -> dict[str, Any]:
    audit = {name: value for name, value in record.get("audit", {}).items() if name not in NAMED_ANEW}
    return {**record, "audit": audit}


def stored_search(folder: Path) -> RevisionConfig:
    """Return the options with which a search was started; raises DataError if its record cannot be read."""
    stored = RECORD.stored(folder)
    config, audit = stored.get("config"), stored.get("audit")
    if not isinstance(config, dict) or not isinstance(audit, dict):
        raise DataError(
            f"{folder / RECORD.file} does not contain the options of a search.", "Start a new search with -o."
        )
    return RECORD.valid(folder, RevisionConfig, {**config, "audit": audit})
