"""Read and check your own prompts, responses and scores from files."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.prompts.own_files.delimited import without_flags
from evenhand.prompts.own_files.tables import (
    TableInMemory,
    as_source,
    number_column,
    read_table,
    require_columns,
    text_column,
    with_names,
)
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, DataError, ResponseError, checked

PROMPT_FORMAT = (
    "A prompt file is CSV, JSON Lines or Parquet with one prompt per row: `text`; optionally `prompt_id` "
    "(unique), `context`, `span_start` and `span_end` (characters); every other column is a group column, "
    "e.g. axis, descriptor, template."
)
RESPONSE_FORMAT = (
    "A response file is CSV, JSON Lines or Parquet with one scored text per row and the benchmark's group columns. "
    "It also needs either `perplexity`, or `log_likelihood` (natural log, summed over the scored tokens) and "
    "`token_count`. Optional column: `error`. Samples of lm_eval are accepted as they are; without `token_count` "
    "there are no perplexities."
)

LONGEST_TEXT = 2**31
LEAST_PERPLEXITY = 1 - 1e-6  # the perplexity of a certain text, minus rounding


@dataclass(frozen=True)
class UserResponses:
    """A checked table of existing responses; the result of `read_responses`.

    The table has the user's columns and `perplexity`, `log_likelihood` and `token_count` (null if not known).
    It also has `error` (a ResponseError code, or null).
    """

    frame: pl.DataFrame
    errors: dict[str, int]
    """Rows per error code."""
    empty_groups: dict[str, int]
    """Rows without a value per needed column."""


@checked
def read_prompts(path: Path | str) -> PromptSet:
    """Read a file of your own prompts.

    Use it to audit a model with your own prompts, grouped by your own columns.

    Parameters
    ----------
    path : path or str
        A .csv, .jsonl, .ndjson or .parquet file with one prompt per row. Its columns are ``text``, and
        optionally ``prompt_id`` (unique), ``context``, and ``span_start`` and ``span_end`` (characters).
        Every other column describes the group that the prompt mentions, for example axis, descriptor or
        template.

    Returns
    -------
    PromptSet
        The prompts. The card names the file and the number of empty texts. The notes state a guessed encoding
        or delimiter of a CSV.

    Raises
    ------
    DataError
        The file or a column cannot be read, all texts are empty, a span is outside its text, or a prompt_id
        occurs twice; the message names the place.

    Notes
    -----
    Missing texts become empty texts, which give error rows instead of responses. Without a column
    ``prompt_id``, an id is computed from the content of the row and, for identical rows, its occurrence.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = file.write_text("text,axis\\nThe deaf man,ability\\nThe tall man,body\\n")
    >>> read_prompts(file).frame["axis"].to_list()
    ['ability', 'body']
    """
    path = Path(path)
    guesses: list[str] = []
    frame = read_table(path, PROMPT_FORMAT, guesses=guesses)
    require_columns(frame, ["text"], path, PROMPT_FORMAT)
    frame = with_names(frame, path)
    frame = frame.with_columns(text_column(frame, "text", path).fill_null(""))
    empty = int((frame["text"].str.strip_chars() == "").sum())
    if empty == frame.height:
        raise DataError(f"{path}: 'text' is empty in every row.", PROMPT_FORMAT)
    for column in ("span_start", "span_end"):
        if column in frame.columns:
            numbers = number_column(frame, column, path)
            within = (numbers >= 0) & (numbers == numbers.round()) & (numbers < LONGEST_TEXT)
            wrong = (~within.fill_null(True)).arg_true()
            if len(wrong):
                row = int(wrong[0])
                raise DataError(
                    f"{path}, row {row + 1}: '{column}' must be a whole number of characters, got "
                    f"{frame[column][row]}.",
                    PROMPT_FORMAT,
                )
            frame = frame.with_columns(numbers.cast(pl.UInt32))
    if {"span_start", "span_end"} <= set(frame.columns):
        ends = pl.col("span_end")
        outside = (ends > pl.col("text").str.len_chars()) | (pl.col("span_start") > ends)
        rows = frame.select(outside.fill_null(False).arg_true()).to_series()
        if len(rows):
            start, end = frame.select("span_start", "span_end").row(int(rows[0]))
            raise DataError(
                f"{path}, row {rows[0] + 1}: the span from {start} to {end} is not within the text.",
                PROMPT_FORMAT,
            )
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
    return PromptSet(frame, card, notes=without_flags(guesses, path))


@checked
def read_responses(path: Path | str | TableInMemory, needed_columns: Sequence[str] = ()) -> UserResponses:
    """Read a file of existing responses for the measures of a benchmark.

    Use it if you call the measures yourself; `evenhand.measure` does all steps.

    Parameters
    ----------
    path : path or str
        A .csv, .jsonl, .ndjson or .parquet file in the format of RESPONSE_FORMAT.
    needed_columns : sequence of str, optional
        Columns of groups that the benchmark needs.

    Returns
    -------
    UserResponses
        The table, with counts of rows that cannot be used. A missing number is `missing`, NaN or infinity is
        `not_finite`, and no token is `no_scored_token`.

    Raises
    ------
    DataError
        Something is missing or wrong in the file; the message names it and the file.

    Notes
    -----
    If the column is missing, the perplexity is exp(-log_likelihood / token_count).
    """
    path = as_source(path)
    frame = read_table(path, RESPONSE_FORMAT)
    require_columns(frame, needed_columns, path, RESPONSE_FORMAT)
    frame = with_names(frame, path)
    needed = "perplexity" if {"perplexity", "token_count"} & set(frame.columns) else "log_likelihood"
    if "perplexity" not in frame.columns:
        lacking = [column for column in ("log_likelihood", "token_count") if column not in frame.columns]
        if len(lacking) == 2:
            require_columns(frame, ["perplexity"], path, RESPONSE_FORMAT)
        if lacking != ["token_count"]:  # lm_eval counts no tokens; a likelihood is valid without them
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
    below = (numbers["perplexity"].fill_nan(None) < LEAST_PERPLEXITY).arg_true()
    if len(below):
        row = int(below[0])
        raise DataError(
            f"{path}, row {row + 1}: the perplexity is {numbers['perplexity'][row]:g}; a perplexity cannot be below 1.",
            "It is exp(-log_likelihood / token_count). Log likelihoods belong in a column `log_likelihood`, next "
            "to `token_count`.",
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
        error=pl.when(old.is_not_null() & (old != "")).then(old).otherwise(_error_code(needed))
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


@checked
def read_scores(path: Path | str | TableInMemory, needed_columns: Sequence[str] = ()) -> pl.DataFrame | None:
    """Return a table of responses with scores of any kind (larger means more likely), or None without a column `score`.

    Raises DataError with the file and the problem.

    Parameters
    ----------
    path
        .csv, .jsonl, .ndjson or .parquet.
    needed_columns
        Group columns that the benchmark needs.

    Returns
    -------
    result
        The user's columns with `score` as numbers, empty likelihood columns, and `error`: `missing` for an absent
        score, `not_finite` for NaN or infinity.
    """
    path = as_source(path)
    frame = read_table(path, RESPONSE_FORMAT)
    if "score" not in frame.columns:
        return None
    require_columns(frame, needed_columns, path, RESPONSE_FORMAT)
    frame = with_names(frame, path)
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


def _nothing(column: str, height: int) -> pl.Series:
    return pl.repeat(None, height, dtype=pl.Float64, eager=True).alias(column)


def _error_code(needed: str) -> pl.Expr:
    """Return an expression for the reason why a row has no usable number, or null. needed:
    column that must contain one.
    """
    number, tokens = pl.col(needed), pl.col("token_count")
    empty = number.is_null() & pl.col("log_likelihood").is_not_null() & (tokens <= 0)
    possible = number > 0 if needed == "perplexity" else pl.lit(True)
    return (
        pl.when(empty)
        .then(pl.lit(ResponseError.NO_SCORED_TOKEN.value))
        .when(number.is_null())
        .then(pl.lit(ResponseError.MISSING.value))
        .when(~(number.is_finite() & possible))
        .then(pl.lit(ResponseError.NOT_FINITE.value))
        .otherwise(None)
    )


def _made_ids(frame: pl.DataFrame) -> pl.Series:
    """Return a hash of each row's content. Identical rows are distinguished by their order."""
    names = sorted(frame.columns)
    rows = frame.select(pl.struct(names).struct.json_encode())[names[0]]
    hashes = [hashlib.blake2b((row or "").encode(), digest_size=8).hexdigest() for row in rows]
    made = pl.DataFrame({"hash": hashes}).with_columns(turn=pl.int_range(pl.len()).over("hash"))
    occurrence = pl.when(pl.col("turn") == 0).then(pl.lit("")).otherwise(pl.format("-{}", pl.col("turn") + 1))
    return made.select(prompt_id=pl.col("hash") + occurrence)["prompt_id"]
