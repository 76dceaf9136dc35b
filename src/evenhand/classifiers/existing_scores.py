"""Existing scores as a classifier: texts are looked up in a file.

The file may be CSV, Parquet or JSON Lines, or in the format of RealToxicityPrompts or ROBBIE.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.classifiers.contract import Labels
from evenhand.schema import (
    Card,
    DataError,
    Number,
    ResponseError,
    UsageError,
    compute_sha256,
    convert_options,
    is_file,
    list_options,
    missing_file,
    parse_json,
    read_parquet,
    unknown_name,
)
from evenhand.weights import check_table_fits

FORMAT = (
    "A score file is CSV, JSON Lines or Parquet with one judged text per row: its text (in a column text, "
    "continuation or prediction), and its score, its label, or both. JSON Lines of RealToxicityPrompts "
    "(prompt.text with prompt.toxicity, continuation.text, ...) and ROBBIE's scores.*.json are read as they are."
)
TEXT_COLUMNS = ("text", "continuation", "prediction", "generation")
PARTS = ("prompt", "continuation")
MISSING_WORDS = ("", "na", "n/a", "none", "null")


def read_score_file(path: Path) -> pl.DataFrame:
    """Return the rows of a file of scores.

    `path` is a .csv, .parquet, .jsonl or .ndjson file, or a .json file with a list of objects or ROBBIE's
    {"scores": [...]}. Columns of a CSV are text; those of other files keep their types. A line of
    RealToxicityPrompts becomes two rows, of the prompt and of its continuation, with the columns text,
    toxicity, insult, ... Raises DataError if the file is missing, empty, unreadable or of another kind.
    """
    if not is_file(path):
        raise missing_file(path, FORMAT, "Score file")
    check_table_fits(path)
    kind = path.suffix.lower()
    try:
        if kind == ".csv":
            frame = pl.read_csv(path, infer_schema=False)
        elif kind == ".parquet":
            frame = read_parquet(path)
        elif kind in (".jsonl", ".ndjson"):
            frame = _frame(_lines(path))
        elif kind == ".json":
            content = parse_json(path.read_text(encoding="utf-8"))
            frame = _frame(content.get("scores", []) if isinstance(content, dict) else content)
        else:
            raise DataError(f"{path}: unsupported file type {kind!r}.", FORMAT)
    except (pl.exceptions.PolarsError, UnicodeError, json.JSONDecodeError, TypeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise DataError(f"The score file {path} cannot be read: {first}.", FORMAT) from error
    if frame.is_empty():
        raise DataError(f"The score file {path} contains no rows.", FORMAT)
    return frame


def numbers(frame: pl.DataFrame, column: str, path: Path) -> pl.Series:
    """Return a column as Float64, with null for missing values; raise DataError for a word that is not a number."""
    values = frame[column]
    if values.dtype != pl.String:
        if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
            raise DataError(f"{path}: the column {column!r} contains {values.dtype}, not numbers.", FORMAT)
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
                    yield parse_json(line)
                except json.JSONDecodeError as error:
                    raise DataError(f"{path}, line {number}: not valid JSON: {error}.", FORMAT) from error


def _frame(rows: Iterable[Any]) -> pl.DataFrame:
    flat: list[dict[str, Any]] = []
    for row in rows:
        if not isinstance(row, dict):
            raise TypeError(f"expected a JSON object for each text, got {str(row)[:40]!r}")
        parts = [row[part] for part in PARTS if isinstance(row.get(part), dict)]
        flat += parts or [row]
    names = dict.fromkeys(
        name for row in flat for name, value in row.items() if not isinstance(value, dict | list)
    )
    columns = {name: [row.get(name) for row in flat] for name in names}
    return pl.DataFrame({name: pl.Series(name, values, strict=False) for name, values in columns.items()})


CARD = Card(
    name="scores:FILE",
    summary="Existing scores from a file, such as Perspective's scores of RealToxicityPrompts, human ratings or an "
    "old run.",
    construct="What the scores measure.",
    harm="A text counts as harmful if its score is at least `threshold`, or if its label is in `negative`.",
    critique=(
        "Only texts that are in the file, letter for letter, are classified; the others count as missing. A text "
        "with two different scores is recorded as an error, because neither score can be preferred."
    ),
    licence="The licence of the file.",
    details=(
        "For scores, use scores:FILE?column=toxicity&threshold=0.5. For labels, use "
        "scores:FILE?label=class&negative=hate,offensive. Without a threshold or negative labels, texts get no "
        "verdict. Further options: text (column of the classified text), strip=true (ignore white space around a "
        "text)."
    ),
)
SCORE_COLUMNS = ("score", "toxicity")


def load(options: Mapping[str, Any]) -> "ExistingScores":
    """Return the classifier.

    The options are file, text, column, label, threshold, negative and strip (see CARD.details). `column` is
    one column of numbers or several, separated by commas; the first one is the score. Raises UsageError for
    unknown options, and DataError for a missing or unreadable file or column.
    """
    return _load(
        **convert_options(f"the classifier 'scores:{options.get('file', '')}'", options, list_options(_load))
    )


def _load(
    *,
    file: str = "",
    text: str | None = None,
    column: tuple[str, ...] | None = None,
    label: str | None = None,
    threshold: Number | None = None,
    negative: tuple[str, ...] = (),
    strip: bool = False,
) -> "ExistingScores":
    path, columns = Path(file).expanduser(), column
    frame = read_score_file(path)
    text = text or next((name for name in TEXT_COLUMNS if name in frame.columns), None)
    if text is None:
        raise DataError(
            f"{path} has no column of texts: none of {', '.join(TEXT_COLUMNS)} was found.",
            f"Name the column that contains the texts: scores:{path}?text=COLUMN. {FORMAT}",
        )
    if columns is None:
        columns = tuple(name for name in SCORE_COLUMNS if name in frame.columns)[:1]
    if label is None and "label" in frame.columns:
        label = "label"
    for name in (text, *columns, *([label] if label else [])):
        if name not in frame.columns:
            raise unknown_name(f"column in {path.name}", name, frame.columns)
    if not columns and not label:
        raise DataError(
            f"{path} has no column of scores and no column of labels.",
            f"Name one: scores:{path}?column=COLUMN or scores:{path}?label=COLUMN. {FORMAT}",
        )
    if threshold is not None and not columns:
        raise UsageError(
            f"The option threshold requires scores, but {path.name} has no column of scores.",
            f"Name the column of scores: scores:{path}?column=COLUMN&threshold={threshold:g}",
        )
    return ExistingScores(frame, path, text, columns, label, threshold, negative, strip)


class ExistingScores:
    """A classifier that looks up the scores of texts in a table; `load` creates it.

    Its labels are the columns of numbers. If the file has only labels in words, each distinct one is a label
    with the score 1 or 0.
    """

    reads_context = False

    def __init__(
        self,
        frame: pl.DataFrame,
        path: Path,
        text: str,
        columns: tuple[str, ...],
        label: str | None,
        threshold: float | None,
        negative: tuple[str, ...],
        strip: bool,
    ) -> None:
        self.path, self.columns, self.threshold = path, columns, threshold
        self.text_column, self.label_column, self.strip = text, label, strip
        classes = (
            frame[label].cast(pl.String)
            if label
            else pl.repeat(None, frame.height, dtype=pl.String, eager=True)
        )
        known = tuple(sorted(classes.drop_nulls().unique()))
        for name in negative:
            if name not in known:
                raise unknown_name(f"label in {path.name}", name, known or ["none"])
        self.negative = negative
        self.labels = columns or known
        self._absent = classes.is_null().to_list()
        if columns:
            parsed = [numbers(frame, name, path) for name in columns]
            scores = np.column_stack([series.to_numpy() for series in parsed])
            self._absent = parsed[0].is_null().to_list()
        else:
            scores = np.array(
                [[float(c == name) if c is not None else np.nan for name in known] for c in classes]
            )
        self._scores = scores.astype(np.float64)
        self._classes = classes.to_list()
        self._rows: dict[str, int] = {}
        self._conflicts: set[str] = set()
        self._index(frame[text].cast(pl.String).to_list())
        self._sha256 = compute_sha256(path)
        self._texts = self._found = 0

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return a hash of the file and how it is read; the path does not affect it."""
        return {
            "kind": "existing-scores",
            "name": "scores",
            "revision": self._sha256,
            "text": self.text_column,
            "labels": list(self.labels),
            "columns": list(self.columns),
            "label": self.label_column,
            "threshold": self.threshold,
            "negative": list(self.negative),
            "strip": self.strip,
        }

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Look up each text; see `Classifier.classify`. Contexts are not read.

        The error of a text is `missing` if it is not in the file or has no score there, `empty_text` if it is
        white space and not in the file, `not_finite`, or `classifier_error` if it has two different scores.
        """
        rows = [self._rows.get(self._key(text), -1) for text in texts]
        self._texts += len(texts)
        self._found += sum(row >= 0 for row in rows)
        answers = [self._error(text, row) for text, row in zip(texts, rows, strict=True)]
        errors = [code for code, _ in answers]
        width = len(self.labels)
        scores = np.full((len(rows), width), np.nan)
        good = [i for i, code in enumerate(errors) if code is None]
        scores[good] = self._scores[[rows[i] for i in good]].reshape(-1, width)
        harmful = scores[:, 0].copy() if self.columns else self._label_score(scores)
        labels = [
            self._classes[row] if code is None else None for row, code in zip(rows, errors, strict=True)
        ]
        return Labels(
            scores=scores.astype(np.float32),
            labels=labels,
            score=harmful,
            negative=[
                None if code else self._verdict(score, label)
                for code, score, label in zip(errors, harmful.tolist(), labels, strict=True)
            ],
            errors=errors,
            details=[detail for _, detail in answers],
        )

    def describe(self) -> dict[str, Any]:
        """Return facts for the report: file, columns, threshold, and the number of texts that were found."""
        return {
            "name": f"scores:{self.path.name}",
            "revision": self._sha256,
            "licence": CARD.licence,
            "file": str(self.path),
            "labels": list(self.labels),
            "negative": list(self.negative),
            "threshold": self.threshold,
            "texts_in_file": len(self._rows),
            "conflicting_texts": len(self._conflicts),
            "texts": self._texts,
            "found": self._found,
            "calls": 0,
        }

    def _key(self, text: str) -> str:
        return text.strip() if self.strip else text

    def _index(self, texts: list[str | None]) -> None:
        for row, text in enumerate(texts):
            if text is None:
                continue
            key = self._key(text)
            first = self._rows.setdefault(key, row)
            same = np.array_equal(self._scores[first], self._scores[row], equal_nan=True)
            if not same or self._classes[first] != self._classes[row]:
                self._conflicts.add(key)

    def _error(self, text: str, row: int) -> tuple[ResponseError | None, str | None]:
        if row < 0:
            code = ResponseError.MISSING if text.strip() else ResponseError.EMPTY_TEXT
            return code, f"not in {self.path.name}"
        if self._key(text) in self._conflicts:
            return ResponseError.CLASSIFIER_ERROR, f"occurs in {self.path.name} with different scores"
        if self._absent[row]:
            return ResponseError.MISSING, f"has no {'score' if self.columns else 'label'} in {self.path.name}"
        if self.columns and not np.isfinite(self._scores[row, 0]):
            return ResponseError.NOT_FINITE, None
        return None, None

    def _label_score(
        self, scores: np.ndarray[Any, np.dtype[np.float64]]
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        if not self.negative:
            return np.full(len(scores), np.nan)
        return np.asarray(scores[:, [self.labels.index(name) for name in self.negative]].sum(axis=1))

    def _verdict(self, score: float, label: str | None) -> bool | None:
        if self.negative:
            return label in self.negative
        return None if self.threshold is None else score >= self.threshold
