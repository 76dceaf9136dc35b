"""The folder of a study of RedditBias: the record of all that affects its numbers, used to resume it."""

from pathlib import Path
from typing import Any

from evenhand.schema import VERSION
from evenhand.studies.redditbias.options import RedditBiasConfig
from evenhand.study import Compared, StudyRecord

RECORD = StudyRecord("redditbias.json", "RedditBias study", part="options")
is_study = RECORD.is_in


def begin(path: Path, config: RedditBiasConfig) -> None:
    """Write the record of a new study, or check that a resumed one has the same options (`StudyRecord.begin`)."""

    def deciding(stored: dict[str, Any]) -> Compared:
        return RECORD.valid(path, RedditBiasConfig, stored).deciding(), config.deciding()

    content = {"evenhand": VERSION, "options": config.model_dump(mode="json")}
    RECORD.begin(path, content, deciding)


def stored_study(path: Path) -> RedditBiasConfig:
    """Return the options with which a study was started; raises DataError if its record cannot be read."""
    return RECORD.valid(path, RedditBiasConfig, RECORD.stored(path))
