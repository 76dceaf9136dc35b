"""The front door of the analysis: `analyse(FILE)` and the `PeopleStudy` it returns."""

from pathlib import Path


class PeopleStudy:
    """What people's answers say (a StudyResult)."""


def analyse(path: Path | str, **options: object) -> PeopleStudy:
    """Analyse an export. Raises DataError for what is none."""
    raise NotImplementedError
