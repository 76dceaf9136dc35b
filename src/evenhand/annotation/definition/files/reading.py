"""Read study files: YAML with line numbers, and the items in separate files; all problems are reported at once."""

from collections.abc import Collection
from pathlib import Path

from pydantic import ValidationError

from evenhand.annotation.definition.files.items_beside import put_in_files
from evenhand.annotation.definition.files.located import LocatedContent, SourcePosition, read_located
from evenhand.annotation.definition.files.second_look import fitting
from evenhand.annotation.definition.files.wording import describe_errors
from evenhand.annotation.definition.study import INCOHERENT, Study
from evenhand.schema import DataError, checked, is_file, missing_file

LARGEST = 64 * 1024 * 1024
"""Maximum size of a study file in bytes; larger sets of items belong in a separate file."""
MOST_TOLD = 50
"""Maximum number of problems in the message of an error; its `problems` has all."""
HINT = "The format of study files: docs/how-to/write_a_study_file.md"


class StudyError(DataError):
    """A study file is invalid. ``problems`` has one line each, such as `study.yaml:12:5: questions[0].options: ...`."""

    def __init__(self, path: Path, problems: tuple[str, ...]):
        many = len(problems)
        more = [f"... and {many - MOST_TOLD} more."] if many > MOST_TOLD else []
        told = "\n".join([*problems[:MOST_TOLD], *more])
        super().__init__(f"{path} has {many} problem{'s' * (many != 1)}:\n{told}", HINT)
        self.problems = problems


@checked
def read_study(path: Path | str) -> Study:
    """Read the definition of a human evaluation from a YAML file.

    Use it for a study that you wrote yourself; `build_study` creates one from model texts.

    Parameters
    ----------
    path : path or str
        The YAML file. The lists `items`, `onboarding.items` and `hidden.gold` can be in other files of the same
        folder; write `{file: NAME.jsonl}` in place of the list.

    Returns
    -------
    Study
        The study.

    Raises
    ------
    StudyError
        The definition is invalid. The message lists all problems, each with file, line, expected value and the
        nearest known word. StudyError is a kind of DataError.
    DataError
        The file is missing, too large or not text.
    """
    path = Path(path)
    located = read_located(_read_text(path), path.name)
    found: list[tuple[SourcePosition, str]] = list(located.problems)
    if located.value is None and not found:
        found.append(
            (
                SourcePosition(path.name, 1),
                "is empty; expected `evenhand_study: 1` and the other keys of a study",
            )
        )
    if not isinstance(located.value, dict):
        if not found:
            found.append((located.node.place, "contains no keys; expected lines such as `evenhand_study: 1`"))
        raise StudyError(path, _lines(found))
    wrong, torn = put_in_files(located.value, located.node, path.parent)
    found += wrong
    study, more = _validate(located, torn)
    if study is None or found:
        raise StudyError(path, _lines([*found, *more]))
    return study


def _validate(
    located: LocatedContent, torn: Collection[tuple[str | int, ...]]
) -> tuple[Study | None, list[tuple[SourcePosition, str]]]:
    try:
        return Study.model_validate(located.value), []
    except ValidationError as error:
        problems = list(describe_errors(error.errors(include_url=False)))
        if any(said["type"] != INCOHERENT for said in error.errors(include_url=False)):
            problems += fitting(located.value, [problem.path for problem in problems], torn)
        return None, [
            (located.node.find_position(problem.path), str(problem) if problem.path else problem.message)
            for problem in problems
            if problem.path not in torn  # missing parts have already been reported
        ]


def _lines(found: list[tuple[SourcePosition, str]]) -> tuple[str, ...]:
    """Return the problems as lines in the order of the files, without repetitions."""
    files = {place.file: None for place, _ in found}
    order = {file: number for number, file in enumerate(files)}
    sorted_ = sorted(found, key=lambda said: (order[said[0].file], said[0].line, said[0].column or 0))
    return tuple(dict.fromkeys(f"{place}: {message}" for place, message in sorted_))


def _read_text(path: Path) -> str:
    if not is_file(path):
        raise missing_file(path, HINT, "Study file")
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise DataError(
                f"{path} has {size:,} bytes, but at most {LARGEST:,} are allowed.",
                "Put the items into a separate file in the same folder: `items: {file: items.jsonl}`.",
            )
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.", HINT) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}:{line}: byte {error.object[error.start]:#04x} is not UTF-8.", "Save the file as UTF-8."
        ) from error
