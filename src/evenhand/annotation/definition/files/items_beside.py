"""Items in a separate file next to the study: JSON Lines, or CSV of texts, with line numbers."""

import csv
import io
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from evenhand.annotation.definition.files.located import Node, SourcePosition
from evenhand.schema import did_you_mean, is_file, parse_json

LISTS = (("items",), ("onboarding", "items"), ("hidden", "gold"))
"""Lists that a study may replace by a file."""
LARGEST = 1024 * 1024 * 1024
"""Maximum size in bytes."""
TEXTS = ("id", "text", "context", "model", "explanation")
"""Columns of a CSV that are fields of an item; `expected.QUESTION` is the correct answer, and all others are groups."""
DELIMITERS = ",;\t|"
Found = list[tuple[SourcePosition, str]]
Steps = tuple[str | int, ...]


class _Wrong(Exception):
    """The reason why a file cannot be used, and the place in it."""

    def __init__(self, message: str, place: SourcePosition | None = None):
        super().__init__(message)
        self.place = place


def put_in_files(study: dict[str, Any], node: Node, folder: Path) -> tuple[Found, set[Steps]]:
    """Insert the items of files where `study` names them, and their places into `node`.

    Returns the problems, and the lists that are incomplete because of them.
    """
    problems: Found = []
    torn: set[Steps] = set()
    for path in LISTS:
        value: Any = study
        for step in path[:-1]:
            value = value.get(step) if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(named := value.get(path[-1]), dict):
            continue
        where = node.find_position((*path, "file"))
        if set(named) != {"file"} or not isinstance(named["file"], str):
            other = next((str(key) for key in named if key != "file"), "file")
            told = did_you_mean(other, ["file"], ". ") if other != "file" else ""
            problems.append(
                (
                    node.find_position(path),
                    f"{'.'.join(path)}: expected a list, or `file: items.jsonl` alone{told}",
                )
            )
            value[path[-1]] = []
            torn.add(path)
            continue
        holder = node
        for step in path[:-1]:
            holder = holder.parts[step]
        before = len(problems)
        try:
            read = list(_read_items(_find_file(named["file"], folder), named["file"], problems))
        except _Wrong as wrong:
            told = str(wrong) if wrong.place else f"{'.'.join(path)}.file: {wrong}"
            problems.append((wrong.place or where, told))
            read = []
        if len(problems) > before:
            torn.add(path)
        value[path[-1]] = [item for item, _ in read]
        holder.parts[path[-1]] = Node(where, {n: Node(place) for n, (_, place) in enumerate(read)})
    return problems, torn


def _find_file(name: str, folder: Path) -> Path:
    """Return the file that a study names; a file outside its folder must be named by its absolute path."""
    path = Path(name)
    if not is_file(folder / path):
        raise _Wrong(f"file {name[:200]!r} not found; expected it in the folder of the study")
    if not path.is_absolute():
        home, there = folder.resolve(), (folder / path).resolve()
        if ".." in path.parts or not there.is_relative_to(home):
            raise _Wrong(
                f"{name!r} is outside the study's folder; put the file into this folder, or give its absolute path"
            )
    return folder / path


def _read_items(path: Path, name: str, problems: Found) -> Iterator[tuple[Any, SourcePosition]]:
    if path.suffix.lower() not in (".jsonl", ".ndjson", ".csv", ".tsv"):
        raise _Wrong(
            f"{name!r} has an unsupported file extension; expected .jsonl (any items) or .csv (texts)"
        )
    if (size := path.stat().st_size) > LARGEST:
        raise _Wrong(f"{name!r} has {size:,} bytes; expected at most {LARGEST:,}")
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise _Wrong(f"{name!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _Wrong(
            f"byte {content[error.start]:#04x} is not UTF-8; save the file as UTF-8",
            SourcePosition(path.name, line),
        ) from error
    yield from (_lines if path.suffix.lower() in (".jsonl", ".ndjson") else _rows)(text, path.name, problems)


def _lines(text: str, file: str, problems: Found) -> Iterator[tuple[Any, SourcePosition]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield parse_json(line), SourcePosition(file, number)
        except JSONDecodeError as error:
            problems.append(
                (
                    SourcePosition(file, number, error.pos + 1),
                    f"is not valid JSON: {error.msg}; expected one item per line",
                )
            )


def _rows(text: str, file: str, problems: Found) -> Iterator[tuple[Any, SourcePosition]]:
    heading = text.split("\n", 1)[0]
    mark = "\t" if file.lower().endswith(".tsv") else max(DELIMITERS, key=heading.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    line = 1
    try:
        columns = next(rows, [])
        if "text" not in columns:
            raise _Wrong(
                f"has the columns {', '.join(columns)[:200]}; expected `text`{did_you_mean('text', columns, '. ')}",
                SourcePosition(file, 1),
            )
        if len({*columns}) < len(columns):
            raise _Wrong("two columns have the same name; rename one of them", SourcePosition(file, 1))
        line = rows.line_num + 1
        for row in rows:
            place, line = SourcePosition(file, line), rows.line_num + 1
            if not any(row):
                continue
            if len(row) != len(columns):
                problems.append((place, f"has {len(row)} values; expected {len(columns)}, as the heading"))
                continue
            yield _item(dict(zip(columns, row, strict=True)), place), place
    except csv.Error as error:
        raise _Wrong(
            f"is not a valid CSV: {error}; is a quote mark missing?", SourcePosition(file, line)
        ) from error


def _item(row: dict[str, str], place: SourcePosition) -> dict[str, Any]:
    given = {name: row[name] for name in TEXTS if name == "text" or row.get(name)}
    expected = {
        name.removeprefix("expected."): said
        for name, said in row.items()
        if name.startswith("expected.") and said
    }
    groups = {
        name: said for name, said in row.items() if name not in TEXTS and not name.startswith("expected.")
    }
    return {"id": f"line-{place.line}", **given, "expected": expected, "groups": groups}
