"""Read existing texts from CSV, JSON Lines, Parquet or a workbook."""

import re
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.annotation.building.built import Notes, StudyText, Value
from evenhand.prompts.own_files import booleans, number_column, read_table, text_column
from evenhand.schema import DataError, list_names, nearest_names

TEXT_FORMAT = (
    "A file of texts is CSV, JSON Lines, Parquet or a workbook with one text per row. The text is in `continuation` or "
    "`response` (with its prompt in `context`, `prompt` or `text`), or in `text` (with its prompt in `context` or "
    "`prompt`). Optional columns: `model`, `axis`, `group`, any other column that the analysis can split by, and the "
    "results of classifiers: `NAME_label`, `NAME_score`, `NAME_negative`."
)
WRITTEN = ("continuation", "response", "text")
BEFORE = ("context", "prompt", "text")
JUDGED = re.compile(r"(?:(.+)_)?(label|score|negative)")


def read_texts(path: Path, notes: Notes) -> list[StudyText]:
    """Return the texts of a file (see TEXT_FORMAT). Raise DataError with the invalid column or row."""
    frame = read_table(path, TEXT_FORMAT)
    written = next((name for name in WRITTEN if name in frame.columns), None)
    if written is None:
        near = next((near for name in WRITTEN for near in nearest_names(name, frame.columns, most=1)), None)
        guess = f" If '{near}' contains the texts, rename it to '{WRITTEN[0]}'." if near else ""
        raise DataError(
            f"{path} has no column of texts (found: {list_names(frame.columns)}).{guess}", TEXT_FORMAT
        )
    before = next((name for name in BEFORE if name in frame.columns and name != written), None)
    texts = text_column(frame, written, path).to_list()
    contexts = text_column(frame, before, path).to_list() if before else [None] * frame.height
    models = (
        text_column(frame, "model", path).to_list() if "model" in frame.columns else [None] * frame.height
    )
    used = {written, before, "model"}
    judgements, judged = _judgements(frame, path, used)
    about = [
        name
        for name, kind in frame.schema.items()
        if name not in used | judged and not kind.is_nested() and kind not in (pl.Binary, pl.Object)
    ]
    if about:
        notes.add(f"{path.name}: the analysis can split by {', '.join(about)}.")
    groups = (
        [
            {name: plain_value(value) for name, value in row.items()}
            for row in frame.select(about).iter_rows(named=True)
        ]
        if about
        else [{} for _ in range(frame.height)]
    )
    notes.count(sum(text is None for text in texts), f"rows of {path.name} without a text are left out")
    return [
        StudyText(text.strip(), context or None, model or None, its, said)
        for text, context, model, its, said in zip(texts, contexts, models, groups, judgements, strict=True)
        if text is not None
    ]


def plain_value(value: Any) -> Value:
    """Return a cell as a value that an item can have: a text, a number, true, false or None."""
    if value is None or isinstance(value, str | bool):
        return value
    return float(value) if isinstance(value, int | float) else str(value)


def _judgements(
    frame: pl.DataFrame, path: Path, used: set[str | None]
) -> tuple[list[dict[str, dict[str, Any]]], set[str]]:
    """Return the judgements of each text in the file by classifier, and the names of those columns."""
    columns: dict[str, dict[str, pl.Series]] = {}
    judged: set[str] = set()
    for name in frame.columns:
        found = JUDGED.fullmatch(name)
        if name in used or found is None:
            continue
        part = found[2]
        if part == "label":
            values = text_column(frame, name, path)
        elif part == "score":
            values = number_column(frame, name, path).fill_nan(None)
        else:
            values = booleans(frame[name], path, "Write true or false.")
        columns.setdefault(found[1] or "classifier", {})[part] = values
        judged.add(name)
    rows: list[dict[str, dict[str, Any]]] = [{} for _ in range(frame.height)]
    for who, parts in columns.items():
        said = {part: values.to_list() for part, values in parts.items()}
        for place, row in enumerate(rows):
            one = {part: values[place] for part, values in said.items() if values[place] is not None}
            if one:
                row[who] = one
    return rows, judged
