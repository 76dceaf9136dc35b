"""Files of scores that others have made: CSV, Parquet, JSON Lines, RealToxicityPrompts' own, ROBBIE's own."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.schema import DataError

FORMAT = (
    "A score file is CSV, JSON Lines or Parquet with one judged text per row: its text (in a column text, "
    "continuation or prediction), and its score, its label, or both. JSON Lines of RealToxicityPrompts "
    "(prompt.text with prompt.toxicity, continuation.text, ...) and ROBBIE's scores.*.json are read as they are."
)
TEXT_COLUMNS = ("text", "continuation", "prediction", "generation")
PARTS = ("prompt", "continuation")
MISSING_WORDS = ("", "na", "n/a", "none", "null")


def read_score_file(path: Path) -> pl.DataFrame:
    """The rows of a file of scores; columns of a CSV are text, those of other files as they are.

    path: .csv, .parquet, .jsonl, .ndjson, or .json with a list of objects or ROBBIE's {"scores": [...]}. A line of
    RealToxicityPrompts becomes two rows, one of the prompt and one of its continuation, with the columns text,
    toxicity, insult, ... Raises DataError for a file that is missing, empty, unreadable or of another kind.
    """
    if not path.is_file():
        raise DataError(f"There is no score file {path}.", FORMAT)
    kind = path.suffix.lower()
    try:
        if kind == ".csv":
            frame = pl.read_csv(path, infer_schema=False)
        elif kind == ".parquet":
            frame = pl.read_parquet(path)
        elif kind in (".jsonl", ".ndjson"):
            frame = _frame(_lines(path))
        elif kind == ".json":
            content = json.loads(path.read_text(encoding="utf-8"))
            frame = _frame(content.get("scores", []) if isinstance(content, dict) else content)
        else:
            raise DataError(f"{path}: files ending in {kind!r} cannot be read.", FORMAT)
    except (pl.exceptions.PolarsError, UnicodeDecodeError, json.JSONDecodeError, TypeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise DataError(f"The score file {path} cannot be read: {first}.", FORMAT) from error
    if frame.is_empty():
        raise DataError(f"The score file {path} holds no rows.", FORMAT)
    return frame


def numbers(frame: pl.DataFrame, column: str, path: Path) -> pl.Series:
    """A column as Float64, null for what is missing; raises DataError for a word that is no number."""
    values = frame[column]
    if values.dtype != pl.String:
        if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
            raise DataError(f"{path}: the column {column!r} holds {values.dtype}, not numbers.", FORMAT)
        return values.cast(pl.Float64)
    words = values.str.strip_chars()
    missing = words.str.to_lowercase().is_in(MISSING_WORDS)
    parsed = words.set(missing, None).cast(pl.Float64, strict=False)
    wrong = (parsed.is_null() & ~missing & words.is_not_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{path}, row {row + 1}: {column!r} is {values[row]!r}, which is not a number.", FORMAT
        )
    return parsed


def _lines(path: Path) -> Iterable[Any]:
    with path.open(encoding="utf-8-sig") as handle:
        for number, line in enumerate(handle, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as error:
                    raise DataError(f"{path}, line {number}: not valid JSON: {error}.", FORMAT) from error


def _frame(rows: Iterable[Any]) -> pl.DataFrame:
    flat: list[dict[str, Any]] = []
    for row in rows:
        if not isinstance(row, dict):
            raise DataError(f"Expected an object per row, found {str(row)[:40]!r}.", FORMAT)
        parts = [row[part] for part in PARTS if isinstance(row.get(part), dict)]
        flat += parts or [row]
    names = dict.fromkeys(
        name for row in flat for name, value in row.items() if not isinstance(value, dict | list)
    )
    columns = {name: [row.get(name) for row in flat] for name in names}
    return pl.DataFrame({name: pl.Series(name, values, strict=False) for name, values in columns.items()})
