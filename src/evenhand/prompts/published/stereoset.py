"""StereoSet: clusters of a stereotypical, an anti-stereotypical and an unrelated text about one target."""

import csv
import hashlib
import json
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.prompts.datasets import dataset
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, DataError, checked, is_file, missing_columns, parse_json

COLUMNS = (
    "dataset_type", "cluster_id", "bias_type", "target", "context", "sentence", "gold_label", "sentence_id",
)  # fmt: skip
TYPES = ("intrasentence", "intersentence")
LABELS = ("stereotype", "anti-stereotype", "unrelated")
FILES = ("dev.json", "dev.csv")
MARK = "BLANK"
HINT = (
    "Expected dev.json of moinnadeem/StereoSet (`evenhand data fetch stereoset`), or a table with the "
    f"columns {', '.join(COLUMNS)}."
)


@checked
def load_stereoset(folder: Path) -> PromptSet:
    """Return StereoSet as a prompt set, one row per candidate text.

    Parameters
    ----------
    folder : path
        Folder with dev.json (as published) or dev.csv (the same rows as a table).

    Returns
    -------
    PromptSet
        Columns: prompt_id (the published sentence_id), text, context, axis and bias_type (the same), dataset_type,
        cluster_id, target, gold_label, sentence_id, blank_context, span_start, span_end.
        - Intrasentence rows: ``text`` is the sentence and ``context`` null. ``blank_context`` is the sentence with
          BLANK. The span is the word at its place, without punctuation around it.
        - Intersentence rows: ``text`` is the continuation and ``context`` the sentence before it. There is no span.

    Raises
    ------
    DataError
        A file or column is missing, JSON or a label is invalid, or a cluster lacks one of the three labels.

    References
    ----------
    - Nadeem et al. 2021, section 3.
    """
    rows = _rows(Path(folder))
    _check(rows, Path(folder))
    spans = [_blank_span(row) for row in rows]
    intra = [row[0] == "intrasentence" for row in rows]
    table = {column: [row[i] for row in rows] for i, column in enumerate(COLUMNS)}
    frame = pl.DataFrame(
        {
            "prompt_id": table["sentence_id"],
            "text": table["sentence"],
            "context": [
                None if inside else text for inside, text in zip(intra, table["context"], strict=True)
            ],
            "axis": table["bias_type"],
            **{c: table[c] for c in COLUMNS if c not in ("context", "sentence")},
            "blank_context": [
                text if inside else None for inside, text in zip(intra, table["context"], strict=True)
            ],
            "span_start": pl.Series([span and span[0] for span in spans], dtype=pl.UInt32),
            "span_end": pl.Series([span and span[1] for span in spans], dtype=pl.UInt32),
        },
        schema_overrides={"context": pl.String, "blank_context": pl.String},
    )
    return PromptSet(frame, _card(frame.height))


def content_sha256(folder: Path) -> str:
    """Return the SHA-256 (hex) of the rows, which is the same for dev.json and dev.csv with the same data.

    folder: as for `load_stereoset`. Each row is a JSON list of its eight columns, with runs of white space as one
    space. The rows are sorted and joined by line feeds. Raises DataError as `load_stereoset` does.
    """
    tidy = ([" ".join(field.split()) for field in row] for row in _rows(Path(folder)))
    lines = sorted(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in tidy)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


Row = tuple[str, ...]


def _rows(folder: Path) -> list[Row]:
    for name, reader in zip(FILES, (_read_json, _read_csv), strict=True):
        if is_file(folder / name):
            rows = list(reader(folder / name))
            if not rows:
                raise DataError(f"{folder / name} contains no rows.", HINT)
            return rows
    raise DataError(f"{folder} has neither {' nor '.join(FILES)}.", HINT)


def _read_csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as handle:
        lines = csv.DictReader(handle)
        if lacking := missing_columns(path, COLUMNS, lines.fieldnames or (), HINT):
            raise lacking
        for number, line in enumerate(lines, 1):
            if None in line.values() or None in line:
                raise DataError(f"{path}, row {number}: expected {len(lines.fieldnames or ())} fields.", HINT)
            yield tuple(line[column] for column in COLUMNS)


def _read_json(path: Path) -> Iterator[Row]:
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} is not valid JSON: {error}.", HINT) from error
    for dataset_type in TYPES:
        for number, cluster in enumerate(_get(content, ("data", dataset_type), list, path, "top level")):
            where = f"{dataset_type} cluster {number}"
            head = [
                _get(cluster, (key,), str, path, where) for key in ("id", "bias_type", "target", "context")
            ]
            for sentence in _get(cluster, ("sentences",), list, path, where):
                last = [_get(sentence, (key,), str, path, where) for key in ("sentence", "gold_label", "id")]
                yield (dataset_type, *head, *last)


def _get(value: Any, keys: Sequence[str], kind: type, path: Path, where: str) -> Any:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            raise DataError(f"{path}, {where}: no key '{key}'.", HINT)
        value = value[key]
    if not isinstance(value, kind):
        raise DataError(f"{path}, {where}: '{keys[-1]}' is not a {kind.__name__}.", HINT)
    return value


def _check(rows: list[Row], folder: Path) -> None:
    labels: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row[0] not in TYPES or row[6] not in LABELS:
            raise DataError(
                f"{folder}: sentence {row[7]} has type {row[0]!r} and label {row[6]!r}; expected one of "
                f"{', '.join(TYPES)} and one of {', '.join(LABELS)}.",
                HINT,
            )
        labels.setdefault((row[0], row[1]), []).append(row[6])
    for (_, cluster), of_cluster in labels.items():
        if sorted(of_cluster) != sorted(LABELS):
            raise DataError(
                f"{folder}: cluster {cluster} has the labels {', '.join(of_cluster)}; expected each of "
                f"{', '.join(LABELS)} once.",
                HINT,
            )


def _blank_span(row: Row) -> tuple[int, int] | None:
    """Return the span of the word that replaces BLANK; with several blanks, that of the last one, as published."""
    dataset_type, _, _, _, context, sentence, _, sentence_id = row
    if dataset_type != "intrasentence":
        return None
    places = [i for i, word in enumerate(context.split(" ")) if MARK in word]
    place = places[-1] if places else None
    words = sentence.split(" ")
    if place is None or place >= len(words):
        raise DataError(
            f"Sentence {sentence_id}: no word found at the position of {MARK} in {context!r}.", HINT
        )
    start = sum(len(word) + 1 for word in words[:place])
    word = words[place]
    bare = word.strip(string.punctuation)
    if not bare:
        return start, start + len(word)
    start += word.index(bare)
    return start, start + len(bare)


def _card(rows: int) -> Card:
    entry = dataset("stereoset")
    return entry.card(
        name="stereoset",
        summary=entry.summary,
        construct="Preference of stereotypical over anti-stereotypical texts about a target term.",
        groups="79 target terms of gender, profession, race and religion; the target is held fixed.",
        critique=(
            "Written by crowd workers; many clusters are inconsistent or do not contrast social groups "
            "(Blodgett et al. 2021)."
        ),
        details=f"{rows:,} texts of the development part; the published main table is of the test part.",
    )
