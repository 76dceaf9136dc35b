"""Names of a classifier's labels, from a file: one a line, or JSON."""

import json
from pathlib import Path
from typing import Any

from evenhand.schema import DataError

FORMAT = (
    "A label file holds the names in the order of the model's outputs: one a line, or as JSON a list of names, "
    '{"0": "name", ...} or {"name": 0, ...}.'
)


def read_labels(path: Path | str) -> tuple[str, ...]:
    """The label names in a file, in the order of the model's outputs.

    path: text with one name a line (as ParlAI writes style classes; empty lines at the end are no labels), or
    .json with a list or with a mapping between numbers and names, in either direction. Raises DataError for a
    file that is missing, unreadable or empty, for names that stand twice, and for numbers that are not 0, 1, 2, ...
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise DataError(f"There is no label file {path}.", FORMAT)
    try:
        content = path.read_text(encoding="utf-8-sig")
        parsed = json.loads(content) if path.suffix.lower() == ".json" else content.rstrip().splitlines()
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"The label file {path} cannot be read: {error}.", FORMAT) from error
    names = _in_order(parsed, path)
    if not names:
        raise DataError(f"The label file {path} is empty.", FORMAT)
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"{path}, label {position}: {name!r} is not a name.", FORMAT)
    stripped = tuple(name.strip() for name in names)
    if twice := sorted({name for name in stripped if stripped.count(name) > 1}):
        raise DataError(f"The label file {path} names {', '.join(twice[:3])} twice.", FORMAT)
    return stripped


def _in_order(parsed: Any, path: Path) -> list[Any]:
    if isinstance(parsed, list):
        return parsed
    if not isinstance(parsed, dict):
        raise DataError(f"The label file {path} holds neither a list nor a mapping.", FORMAT)
    by_number = all(isinstance(value, str) for value in parsed.values())
    numbers = [str(n) for n in (parsed if by_number else parsed.values())]
    names = list(parsed.values() if by_number else parsed)
    if sorted(numbers) != sorted(str(n) for n in range(len(names))):
        raise DataError(
            f"The numbers in the label file {path} are not 0 to {len(names) - 1}, each once.", FORMAT
        )
    return [name for _, name in sorted(zip(numbers, names, strict=True), key=lambda pair: int(pair[0]))]
