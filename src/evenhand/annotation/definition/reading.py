"""Study files: YAML read with line numbers, items beside them, and written again."""

from pathlib import Path

from evenhand.annotation.definition.study import Study


def read_study(path: Path | str) -> Study:
    """Read a study file; `items`, `onboarding.items` and `hidden.gold` may be `{file: NAME.jsonl}` beside it.

    Raises DataError naming file, line, what is wrong, what was expected and the nearest known word, all at once.
    """
    raise NotImplementedError


def study_yaml(study: Study) -> str:
    """A study as the text of a study file, readable, long texts as blocks; `read_study` gives it back."""
    raise NotImplementedError
