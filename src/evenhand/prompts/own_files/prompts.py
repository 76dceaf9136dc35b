"""A user's tables of prompts, responses and scores, read from CSV, JSON Lines or Parquet, and checked."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, DataError, ResponseError, is_file, parse_json

PROMPT_FORMAT = (
    "A prompt file is CSV, JSON Lines or Parquet with one prompt per row: `text`; optionally `prompt_id` "
    "(unique), `context`, `span_start` and `span_end` (characters); every other column is a group column, "
    "e.g. axis, descriptor, template."
)
RESPONSE_FORMAT = (
    "A response file is CSV, JSON Lines or Parquet with one scored text per row: the benchmark's group "
    "columns, and either `perplexity` or both `log_likelihood` (natural log, summed over the scored tokens) "
    "and `token_count`; optionally `error`."
)
READERS = (".csv", ".jsonl", ".ndjson", ".parquet")
MISSING_WORDS = ("", "na", "n/a", "nan", "none", "null")
"""What counts as no number, in any case of letters; never applied to group columns."""


@dataclass(frozen=True)
class UserResponses:
    """A checked response table: the user's columns, and `perplexity`, `log_likelihood`, `token_count`
    (null where not known) and `error` (a ResponseError code, or null)."""

    frame: pl.DataFrame
    errors: dict[str, int]
    """Rows per error code."""
    empty_groups: dict[str, int]
    """Rows without a value per needed column."""


def read_prompts(path: Path | str) -> PromptSet:
    """A user's own prompts.

    path: .csv, .jsonl, .ndjson or .parquet; see PROMPT_FORMAT. Missing texts become empty ones, which
    later are error rows. Without `prompt_id`, one is made from the row's content and, for identical rows,
    its occurrence. Returns a prompt set whose card states the file and how many texts are empty. Raises
    DataError naming the file and what is missing or wrong in it.
    """
    path = Path(path)
    frame = read_table(path, PROMPT_FORMAT)
    require_columns(frame, ["text"], path, PROMPT_FORMAT)
    check_names(frame, path)
    frame = frame.with_columns(text_column(frame, "text", path).fill_null(""))
    empty = int((frame["text"].str.strip_chars() == "").sum())
    for column in ("span_start", "span_end"):
        if column in frame.columns:
            numbers = number_column(frame, column, path)
            if (numbers < 0).any() or (numbers != numbers.round()).any():
                raise DataError(f"{path}: '{column}' must hold whole numbers of characters.", PROMPT_FORMAT)
            frame = frame.with_columns(numbers.cast(pl.UInt32))
    if "prompt_id" in frame.columns:
        frame = frame.with_columns(text_column(frame, "prompt_id", path))
    else:
        frame = frame.select(_made_ids(frame), pl.all())
    if "context" in frame.columns:
        frame = frame.with_columns(text_column(frame, "context", path))
    card = Card(
        name=path.stem,
        summary=f"{frame.height:,} prompts of the user's own, from {path.name}",
        source=str(path),
        details=f"{empty:,} of {frame.height:,} texts are empty.",
    )
    return PromptSet(frame, card)


def read_responses(path: Path | str, needed_columns: Sequence[str] = ()) -> UserResponses:
    """Responses that a user already has, ready for a benchmark's measures.

    path: .csv, .jsonl, .ndjson or .parquet; see RESPONSE_FORMAT. needed_columns: group columns the
    benchmark needs. Returns the table with perplexity = exp(-log_likelihood / token_count) worked out
    where it is not given, and counts of what cannot be used: a missing number is `missing`, NaN,
    infinity or a perplexity that is not positive `not_finite`, no token `no_scored_token`. Raises
    DataError naming the file and what is missing or wrong in it.
    """
    path = Path(path)
    frame = read_table(path, RESPONSE_FORMAT)
    require_columns(frame, needed_columns, path, RESPONSE_FORMAT)
    check_names(frame, path)
    if "perplexity" not in frame.columns:
        lacking = [column for column in ("log_likelihood", "token_count") if column not in frame.columns]
        if len(lacking) == 2:
            require_columns(frame, ["perplexity"], path, RESPONSE_FORMAT)
        require_columns(frame, lacking, path, RESPONSE_FORMAT)
    numbers = {
        column: number_column(frame, column, path)
        if column in frame.columns
        else _nothing(column, frame.height)
        for column in ("perplexity", "log_likelihood", "token_count")
    }
    positive = (numbers["log_likelihood"].fill_nan(None) > 0).arg_true()
    if len(positive):
        row = int(positive[0])
        raise DataError(
            f"{path}, row {row + 1}: the log likelihood is {numbers['log_likelihood'][row]:g}; "
            "a log probability cannot be above 0.",
            "Negative log likelihoods need the other sign; perplexities belong in a column `perplexity`.",
        )
    old = (
        pl.lit(text_column(frame, "error", path))
        if "error" in frame.columns
        else pl.lit(None, dtype=pl.String)
    )
    tokens, logs = pl.col("token_count"), pl.col("log_likelihood")
    worked_out = pl.when(tokens > 0).then((-logs / tokens).exp())
    frame = frame.with_columns(**numbers).with_columns(perplexity=pl.coalesce("perplexity", worked_out))
    frame = frame.with_columns(
        error=pl.when(old.is_not_null() & (old != "")).then(old).otherwise(_error_code())
    )
    good = pl.col("error").is_null()
    usable = pl.when(logs.is_finite()).then(logs)
    frame = frame.with_columns(
        perplexity=pl.when(good).then("perplexity"),
        log_likelihood=pl.when(good).then(pl.coalesce(usable, -pl.col("perplexity").log() * tokens)),
        token_count=tokens.fill_nan(None).cast(pl.UInt32, strict=False),
    )
    counts = frame.filter(~good)["error"].value_counts().rows()
    empty = {column: frame[column].null_count() for column in needed_columns}
    return UserResponses(frame, dict(counts), {column: count for column, count in empty.items() if count})


def read_scores(path: Path | str, needed_columns: Sequence[str] = ()) -> pl.DataFrame | None:
    """A table whose answers are scores of any kind (larger is likelier), or None if it has no `score`.

    path: .csv, .jsonl, .ndjson or .parquet. needed_columns: group columns the benchmark needs. Returns the
    user's columns with `score` as numbers, empty likelihood columns, and `error`: `missing` for an absent
    score, `not_finite` for NaN or infinity. Raises DataError naming the file and what is wrong in it.
    """
    path = Path(path)
    frame = read_table(path, RESPONSE_FORMAT)
    if "score" not in frame.columns:
        return None
    require_columns(frame, needed_columns, path, RESPONSE_FORMAT)
    check_names(frame, path)
    score = pl.col("score")
    code = (
        pl.when(score.is_null())
        .then(pl.lit(ResponseError.MISSING.value))
        .when(~score.is_finite())
        .then(pl.lit(ResponseError.NOT_FINITE.value))
    )
    empty = {name: pl.lit(None, dtype=pl.Float64) for name in ("perplexity", "log_likelihood", "token_count")}
    absent = {name: value for name, value in empty.items() if name not in frame.columns}
    return frame.with_columns(number_column(frame, "score", path)).with_columns(error=code, **absent)


def read_table(path: Path, expected: str) -> pl.DataFrame:
    """A table from a file, chosen by its suffix; CSV columns come as text.

    path: .csv, .jsonl, .ndjson or .parquet. expected: the documented format, for the error message.
    Raises DataError for a missing, empty, unreadable or unknown kind of file.
    """
    if not is_file(path):
        raise DataError(f"There is no file {path}.", expected)
    kind = path.suffix.lower()
    if kind not in READERS:
        raise DataError(f"{path}: files ending in '{kind}' cannot be read.", expected)
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.", expected)
    try:
        if kind == ".csv":
            # all text: a number-like group such as "007" must not change, nor the axis "null" vanish
            frame = pl.read_csv(path, infer_schema=False)
        elif kind == ".parquet":
            frame = pl.read_parquet(path)
        else:
            frame = _read_json_lines(path, expected)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path} cannot be read as {kind[1:]}: {str(error).splitlines()[0]}.", expected
        ) from error
    if frame.is_empty():
        raise DataError(f"{path} holds no rows.", expected)
    return frame


def _read_json_lines(path: Path, expected: str) -> pl.DataFrame:
    rows = []
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            try:
                row = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                raise DataError(f"{path}, line {number}: not valid JSON: {error}.", expected) from error
            if not isinstance(row, dict):
                raise DataError(f"{path}, line {number}: expected an object, found {line[:40]!r}.", expected)
            if b"\\ud" in line.lower():  # half a pair may stand alone, which no table can hold
                _refuse_surrogates(row, f"{path}, line {number}", expected)
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def _refuse_surrogates(row: dict[str, Any], where: str, expected: str) -> None:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: it holds a lone surrogate ({error.object[error.start]!a}), which is no character.",
            expected,
        ) from error


def require_columns(frame: pl.DataFrame, needed: Sequence[str], path: Path, expected: str) -> None:
    """Raise DataError, with the nearest names there are, if a user's table lacks a column.

    expected: the documented format, for the error message.
    """
    lacking = [column for column in needed if column not in frame.columns]
    if not lacking:
        return
    lowered = {name.lower(): name for name in frame.columns}
    guesses = []
    for column in lacking:
        near = get_close_matches(column.lower(), lowered, n=1, cutoff=0.6)
        if near:
            what = "it" if len(lacking) == 1 else f"'{column}'"
            guesses.append(f" Is {what} '{lowered[near[0]]}'? Then rename it.")
    if len(frame.columns) == 1 and ";" in frame.columns[0]:
        guesses.append(" Its values seem to be separated by ';': save it with commas.")
    columns = "column" if len(lacking) == 1 else "columns"
    named = ", ".join(f"'{column}'" for column in lacking)
    raise DataError(
        f"{path} has no {columns} {named}; it has {', '.join(frame.columns)}.{''.join(guesses)}", expected
    )


def check_names(frame: pl.DataFrame, path: Path) -> None:
    """Raise DataError, naming the row, where an axis or a group of a user's table is called by nothing but blanks."""
    for column in ("axis", "group", "descriptor"):
        if column in frame.columns and frame[column].dtype == pl.String:
            names = frame[column]
            blank = (names.str.strip_chars() == "").arg_true()
            if len(blank):
                row = int(blank[0])
                raise DataError(
                    f"{path}, row {row + 1}: '{column}' is {names[row]!r}, which is no name.",
                    "Write its name, or leave the row out.",
                )


def number_column(frame: pl.DataFrame, column: str, path: Path) -> pl.Series:
    """A column of a user's table as Float64, null where there is nothing (MISSING_WORDS).

    Raises DataError naming the row of a word that is no number.
    """
    values = frame[column]
    if values.dtype != pl.String:
        if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
            raise DataError(
                f"{path}: the column '{column}' holds {values.dtype}, not numbers.",
                "Write one number in each row, or leave the row empty.",
            )
        return values.cast(pl.Float64)
    words = values.str.strip_chars()
    # the word nan says that a model gave nan; other words say that there is nothing
    nan = words.str.to_lowercase() == "nan"
    missing = words.str.to_lowercase().is_in(MISSING_WORDS) & ~nan
    numbers = words.set(missing, None).cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & ~missing & words.is_not_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise DataError(f"{path}, row {row + 1}: '{column}' is {values[row]!r}, which is not a number.")
    return numbers


def text_column(frame: pl.DataFrame, column: str, path: Path) -> pl.Series:
    """A column of a user's table as String; raises DataError, naming its type, for lists, objects and bytes."""
    values = frame[column]
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise DataError(
            f"{path}: the column '{column}' holds {values.dtype}, not text.", "Write one text in each row."
        )
    return values.cast(pl.String)


def _nothing(column: str, height: int) -> pl.Series:
    return pl.repeat(None, height, dtype=pl.Float64, eager=True).alias(column)


def _error_code() -> pl.Expr:
    """Why a row has no usable perplexity, or null."""
    perplexity, tokens = pl.col("perplexity"), pl.col("token_count")
    empty = perplexity.is_null() & pl.col("log_likelihood").is_not_null() & (tokens <= 0)
    return (
        pl.when(empty)
        .then(pl.lit(ResponseError.NO_SCORED_TOKEN.value))
        .when(perplexity.is_null())
        .then(pl.lit(ResponseError.MISSING.value))
        .when(~perplexity.is_finite() | (perplexity <= 0))
        .then(pl.lit(ResponseError.NOT_FINITE.value))
        .otherwise(None)
    )


def _made_ids(frame: pl.DataFrame) -> pl.Series:
    """The hash of each row's content; identical rows are told apart by their occurrence."""
    names = sorted(frame.columns)
    rows = frame.select(pl.struct(names).struct.json_encode())[names[0]]
    hashes = [hashlib.blake2b((row or "").encode(), digest_size=8).hexdigest() for row in rows]
    made = pl.DataFrame({"hash": hashes}).with_columns(turn=pl.int_range(pl.len()).over("hash"))
    occurrence = pl.when(pl.col("turn") == 0).then(pl.lit("")).otherwise(pl.format("-{}", pl.col("turn") + 1))
    return made.select(prompt_id=pl.col("hash") + occurrence)["prompt_id"]
