"""Read and write files of human judgements (table VOTES); an invalid file raises an error with its line.

JSON Lines files begin with a line that describes the file (ANNOTATIONS). Parquet files have this line in their
metadata, and CSV files have none. In a CSV, texts that a spreadsheet would read as formulas start with an apostrophe,
which is removed when the file is read.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import polars as pl

from evenhand.schema.annotations import ADDED_VOTES, ANNOTATIONS, ANNOTATIONS_VERSION, VOTES
from evenhand.schema.described_studies import check_described, impossible_answers
from evenhand.schema.errors import DataError, UsageError, did_you_mean, missing_columns
from evenhand.schema.files import TableKind, atomic_write, is_file, missing_file, parse_json, table_bytes
from evenhand.schema.parquet import UNREADABLE, Parquet
from evenhand.schema.version import VERSION

EXPECTED = "Expected what `evenhand annotate export STUDY -o FILE` writes: .jsonl, .csv or .parquet."
KINDS: Mapping[str, TableKind] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}
TELLING = {"person", "presentation", "question", "measurement", "answer", "shown_left"}
"""Columns that together occur in no other table of evenhand."""
WORDS: Mapping[str, tuple[str, ...]] = {
    "role": ("real", "onboarding", "gold", "duplicate", "survey"),
    "kind": ("pair", "conversation", "text"),
    "measurement": ("nominal", "ordinal", "interval", "preference", "text", "marks"),
    "shown_left": ("a", "b"),
    "review": ("accepted", "rejected"),
}
NEVER_NULL = ("study", "person", "role", "question", "measurement")
OF_ITEMS = ("presentation", "item", "kind")
"""Columns that are null only in rows of surveys."""
OBJECTS = ("groups", "judgements")
PYTHON: Mapping[Any, tuple[type, ...]] = {
    pl.String: (str,),
    pl.Int64: (int,),
    pl.Float64: (float, int),
    pl.Boolean: (bool,),
    VOTES["shown_at"]: (str,),
}
IN_WORDS: Mapping[Any, str] = {
    pl.String: "a text",
    pl.Int64: "a whole number",
    pl.Float64: "a finite number",
    pl.Boolean: "true or false",
}
LONGEST = 1e9
"""Maximum duration of a judgement in seconds, about thirty years."""
TEXTS = [name for name, kind in VOTES.items() if kind == pl.String]
FORMULA = r"^'*[\s\p{C}]*[=+\-@|\x{ff0b}\x{ff0d}\x{ff1d}\x{ff20}]"
BATCH = 10_000
Where = Callable[[int], str]
"""Description of a row (counted from 0) in a message: the file and the line."""


def is_annotations(path: Path | str) -> bool:
    """Return whether a file states that it contains human judgements.

    The file may still be damaged or of another version. False if there is no such file.
    """
    path = Path(path)
    if path.suffix.lower() not in KINDS or not is_file(path):
        return False
    try:
        match KINDS[path.suffix.lower()]:
            case "parquet":
                return set(Parquet(path).schema) >= TELLING
            case "csv":
                with path.open(encoding="utf-8-sig", newline="") as text:
                    return set(next(csv.reader(text), [])) >= TELLING
            case "jsonl":
                with path.open("rb") as handle:
                    first = parse_json(handle.readline().removeprefix(b"\xef\xbb\xbf"))
                return isinstance(first, dict) and (ANNOTATIONS in first or first.keys() >= TELLING)
    except (*UNREADABLE, ValueError, csv.Error):
        return False


def write_votes(path: Path | str, votes: pl.DataFrame, study: Mapping[str, Any]) -> Path:
    """Write human judgements to a file, which appears only when it is complete.

    Parameters
    ----------
    path : path or str
        A .jsonl, .csv or .parquet file.
    votes : polars.DataFrame
        The judgements, with the columns VOTES.
    study : mapping of str
        Definition of the study without items, for the first line. A CSV does not contain it.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UsageError
        The path has another ending.
    DataError
        `read_votes` would refuse the table.
    WriteError
        The file cannot be written.
    """
    path = Path(path)
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"{path}: unknown file type.", f"Use a file name that ends in {', '.join(KINDS)}.")
    votes = votes.select(*VOTES)
    _check(votes, lambda row: f"row {row + 1} of what is to be written")
    header = json.dumps(
        {
            ANNOTATIONS: ANNOTATIONS_VERSION,
            "evenhand": VERSION,
            "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "rows": votes.height,
            "study": study,
        }
    )
    match kind:
        case "parquet":
            pieces = [table_bytes(votes, metadata={ANNOTATIONS: header})]
        case "csv":
            pieces = [table_bytes(_escape_formulas(votes), "csv", quote_style="non_numeric")]
        case "jsonl":
            pieces = [memoryview(f"{header}\n".encode()), table_bytes(votes, "jsonl")]
    with atomic_write(path) as handle:
        for piece in pieces:
            handle.write(piece)
    return path


def read_votes(path: Path | str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read human judgements from a file of `write_votes`.

    Parameters
    ----------
    path : path or str
        The file.

    Returns
    -------
    votes : polars.DataFrame
        The judgements, with the columns VOTES.
    study : dict of str
        The first line of the file, which describes the study; {} for a CSV.

    Raises
    ------
    DataError
        The file is invalid. The message names the line. Examples are another version, other columns or types,
        an unknown word, an impossible number, missing rows, and an answer that is not offered or occurs
        twice.
    """
    path = Path(path).expanduser()
    if not is_file(path):
        raise missing_file(path, EXPECTED)
    match KINDS.get(path.suffix.lower()):
        case "parquet":
            votes, header, where = _read_parquet(path)
        case "csv":
            votes, header, where = _read_csv(path)
        case "jsonl":
            votes, header, where = _read_json_lines(path)
        case _:
            raise DataError(f"{path} is not an export of judgements: unknown file type.", EXPECTED)
    _check(votes, where)
    if "rows" in header and header["rows"] != votes.height:
        raise DataError(
            f"{path} contains {votes.height:,} judgements, but {header['rows']} were exported.",
            'Export again. If you removed rows yourself, delete "rows" from the first line.',
        )
    if wrong := impossible_answers(votes, header.get("study", {})):
        row, why = wrong
        raise DataError(f"{where(row)}: the answer is {_format(votes['answer'][row])}, {why}.", EXPECTED)
    return votes, header


def _read_parquet(path: Path) -> tuple[pl.DataFrame, dict[str, Any], Where]:
    try:
        file = Parquet(path)
        _check_columns(list(file.schema), str(path))
        present = {name: kind for name, kind in VOTES.items() if name in file.schema}
        for name, kind in present.items():
            if file.schema[name] != kind:
                raise DataError(
                    f"{path}: the column {name} has the type {file.schema[name]}, not {kind}.", EXPECTED
                )
        votes = _add_missing_columns(file.read(list(present)))
        header = file.metadata.get(ANNOTATIONS)
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {_first_line(error)}.", EXPECTED) from error
    return votes, _header(header or "{}", str(path)), lambda row: f"{path}, row {row + 1}"


def _read_json_lines(path: Path) -> tuple[pl.DataFrame, dict[str, Any], Where]:
    numbers: list[int] = []
    with path.open("rb") as handle:
        header = _header(handle.readline().removeprefix(b"\xef\xbb\xbf"), f"{path}, line 1")
        frames = list(_batches(path, handle, numbers))
    votes = pl.concat(frames) if frames else pl.DataFrame(schema=VOTES)
    return votes, header, lambda row: f"{path}, line {numbers[row]}"


def _batches(path: Path, handle: Any, numbers: list[int]) -> Iterator[pl.DataFrame]:
    rows: list[dict[str, Any]] = []

    def table() -> pl.DataFrame:
        start = len(numbers) - len(rows)
        return _convert_rows(rows, lambda row: f"{path}, line {numbers[start + row]}")

    for number, line in enumerate(handle, 2):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: invalid JSON: {error}.", EXPECTED) from error
        if not isinstance(row, dict) or row.keys() != VOTES.keys():
            _check_columns(row if isinstance(row, dict) else [], f"{path}, line {number}")
        numbers.append(number)
        rows.append(row)
        if len(rows) == BATCH:
            yield table()
            rows = []
    if rows:
        yield table()


def _convert_rows(rows: list[dict[str, Any]], where: Where) -> pl.DataFrame:
    columns = {}
    for name, kind in VOTES.items():
        values = [row.get(name) for row in rows]
        allowed = (*PYTHON[kind], type(None))
        if not set(map(type, values)) <= set(allowed):
            wrong = next(i for i, value in enumerate(values) if type(value) not in allowed)
            raise _make_value_error(where(wrong), name, values[wrong])
        try:
            column = pl.Series(name, values, pl.String if kind == VOTES["shown_at"] else kind)
        except (UnicodeError, OverflowError, TypeError, *UNREADABLE) as error:
            wrong = next(i for i, value in enumerate(values) if not _fits_column(value))
            raise _make_value_error(where(wrong), name, values[wrong]) from error
        columns[name] = _times(column, where) if kind == VOTES["shown_at"] else column
    return pl.DataFrame(columns)


def _fits_column(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    return not isinstance(value, int) or abs(value) < 2**63


def _read_csv(path: Path) -> tuple[pl.DataFrame, dict[str, Any], Where]:
    try:
        raw = pl.read_csv(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), infer_schema=False)
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {_first_line(error)}.", EXPECTED) from error
    _check_columns(raw.columns, f"{path}, line 1")
    raw = _add_missing_columns(raw)

    def where(row: int) -> str:  # a text with line breaks takes several lines
        breaks = raw.head(row).select(pl.sum_horizontal(pl.all().str.count_matches("\n").sum())).item()
        return f"{path}, line {row + 2 + int(breaks or 0)}"

    columns = []
    for name, kind in VOTES.items():
        words = raw[name]
        if kind == pl.String:
            column = _unescape_formulas(words)
        elif kind == VOTES["shown_at"]:
            column = _times(words, where)
        elif kind == pl.Boolean:
            plain = words.str.to_lowercase()
            column = plain.replace_strict(
                {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
            )
        else:
            column = words.cast(kind, strict=False)
        if len(wrong := (column.is_null() & words.is_not_null()).arg_true()):
            raise _make_value_error(where(wrong[0]), name, words[wrong[0]])
        columns.append(column)
    return pl.DataFrame(columns), {}, where


def _times(words: pl.Series, where: Where) -> pl.Series:
    times = words.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    if len(wrong := (times.is_null() & words.is_not_null()).arg_true()):
        raise _make_value_error(where(wrong[0]), words.name, words[wrong[0]])
    return times


def _check(votes: pl.DataFrame, where: Where) -> None:
    def refuse(wrong: pl.Expr, name: str, why: str) -> None:
        if len(rows := votes.select(wrong.fill_null(value=False)).to_series().arg_true()):
            raise DataError(f"{where(rows[0])}: {name} is {_format(votes[name][rows[0]])}, {why}.", EXPECTED)

    for name in NEVER_NULL:
        refuse(pl.col(name).is_null(), name, "but must not be empty")
    for name in OF_ITEMS:
        refuse(pl.col(name).is_null() & (pl.col("role") != "survey"), name, "which only surveys allow")
    for name, words in WORDS.items():
        refuse(~pl.col(name).is_in(words), name, f"not {' or '.join(words)}")
    for name in ("value", "seconds"):
        refuse(~pl.col(name).is_finite(), name, "not a finite number")
    refuse(~pl.col("seconds").is_between(0, LONGEST), "seconds", f"but must be from 0 to {LONGEST:,}")
    for name in ("position", "turn"):
        refuse(pl.col(name) < 0, name, "but must be 0 or more")
    # a turn may have several marks, but each only once
    mark = pl.when(pl.col("measurement") == "marks").then("answer").alias("mark")
    key = pl.struct("person", "presentation", "question", "turn", mark)
    twice = key.is_duplicated() & ~key.is_first_distinct()
    refuse(twice & pl.col("presentation").is_not_null(), "question", "which an earlier row answers already")
    for name in OBJECTS:
        for text in votes[name].drop_nulls().unique():
            try:
                sound = isinstance(parse_json(text), dict)
            except ValueError:
                sound = False
            if not sound:
                refuse(pl.col(name) == text, name, "not a JSON object")


def _check_columns(found: Any, where: str) -> None:
    needed = [name for name in VOTES if name not in ADDED_VOTES]
    if lacking := missing_columns(where, needed, map(str, found), EXPECTED):
        raise lacking
    if more := [str(name) for name in found if name not in VOTES]:
        guess = did_you_mean(more[0], VOTES)
        raise DataError(f"{where}: unknown columns {', '.join(more[:6])}.{guess}", EXPECTED)


def _add_missing_columns(votes: pl.DataFrame) -> pl.DataFrame:
    """Return judgements with the columns that earlier versions did not write, filled with null."""
    absent = [name for name in VOTES if name not in votes.columns]
    return votes.with_columns(pl.lit(None, VOTES[name]).alias(name) for name in absent).select(*VOTES)


def _header(line: str | bytes, where: str) -> dict[str, Any]:
    try:
        header = parse_json(line)
    except ValueError:
        header = None
    version = header.get(ANNOTATIONS) if isinstance(header, dict) else None
    if type(version) is not int or not isinstance(header.get("study"), dict):
        raise DataError(f"{where} is not an export of judgements.", EXPECTED)
    if version != ANNOTATIONS_VERSION:
        newer = version > ANNOTATIONS_VERSION
        raise DataError(
            f"{where}: unsupported format version {version}; this evenhand reads version {ANNOTATIONS_VERSION}.",
            "Install a newer evenhand." if newer else "Export again from the study's database.",
        )
    check_described(header["study"], where, EXPECTED)
    return cast(dict[str, Any], header)


def _escape_formulas(votes: pl.DataFrame) -> pl.DataFrame:
    # a text that already starts with an apostrophe and a formula gets one more, so that reading restores it
    texts = pl.col(TEXTS)
    return votes.with_columns(
        pl.when(texts.str.contains(FORMULA)).then("'" + texts).otherwise(texts).name.keep()
    )


def _unescape_formulas(texts: pl.Series) -> pl.Series:
    guarded = FORMULA.replace("^", "^'")
    return (
        texts.to_frame()
        .select(
            pl.when(pl.col(texts.name).str.contains(guarded))
            .then(pl.col(texts.name).str.slice(1))
            .otherwise(pl.col(texts.name))
            .alias(texts.name)
        )
        .to_series()
    )


def _make_value_error(where: str, name: str, value: Any) -> DataError:
    expected = IN_WORDS.get(VOTES[name], "a time such as 2025-01-31T12:00:00+00:00")
    return DataError(f"{where}: {name} is {_format(value)}, not {expected}.", EXPECTED)


def _format(value: Any) -> str:
    shown = (
        ascii(value)
        if isinstance(value, str)
        else str(value)
        if isinstance(value, float)
        else json.dumps(value)
    )
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
