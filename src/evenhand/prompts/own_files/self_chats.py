"""Read existing conversations, one utterance per row, from CSV, JSON Lines or Parquet, and check them."""

from collections.abc import Collection, Sequence
from pathlib import Path

import polars as pl

from evenhand.prompts.own_files.continuations import booleans, score_lists
from evenhand.prompts.own_files.tables import (
    Source,
    TableInMemory,
    as_source,
    number_column,
    read_table,
    require_columns,
    text_column,
)
from evenhand.schema import LABELS, DataError, ResponseError, checked

CHAT_FORMAT = (
    "A file of conversations is CSV, JSON Lines or Parquet with one utterance per row. Columns: `conversation` (a "
    "label), `name` (the name with which speaker A opened it), `gender` (of the name: woman or man), `speaker` (A or "
    "B), `turn` (1 is the opener, then 2, 3, ...) and `text`. Optional columns: `race_ethnicity`, `tier`, "
    "`name_in_context` (true or false), `error` (why the text is missing), and `tokens` (lists of the tokens of the "
    "model's tokenizer; this name has no other meaning). Optional judgements: `gender_label` (woman, man or "
    "neither), `toxicity_negative` (true or false)."
)
SPEAKERS = ("A", "B")
LINES_BEFORE = 4
"""Maximum number of lines before an utterance that classifiers with contexts read."""
MOST_TURNS = 1_000_000
PARTS = ("label", "score", "negative", "scores")


@checked
def read_self_chats(
    path: Path | str | TableInMemory,
    needed_columns: Sequence[str],
    roles: Sequence[str],
    *,
    threshold: float | None = None,
    judged_now: Collection[str] = (),
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Read a file of conversations for a benchmark (for the format, see CHAT_FORMAT).

    `path` is .csv, .jsonl, .ndjson or .parquet. `needed_columns` are those that the benchmark compares by, and `roles`
    its classifiers. An utterance is negative from the score `threshold`. Labels in the file for the roles `judged_now`
    are ignored. An empty cell is a missing utterance; an empty reply is "" in JSON Lines and Parquet.

    Returns the table and the roles that the file labels. It has one row per utterance with the file's columns, and
    prompt_id, sample, continuation (the text), lines_before (up to four earlier utterances) and error. For each
    labelled role, it has `<role>_label`, `_score`, `_negative`, `_scores` and `_error`. Raises a DataError that names
    the row or column.
    """
    path = as_source(path)
    frame = read_table(path, CHAT_FORMAT)
    require_columns(frame, [*needed_columns, "text"], path, CHAT_FORMAT)
    for name in {*needed_columns, "text", "error", "race_ethnicity", "tier"} - {"turn"}:
        if name in frame.columns:
            frame = frame.with_columns(text_column(frame, name, path).alias(name))
    frame = frame.with_columns(turn=_turns(frame, path))
    if "name_in_context" in frame.columns:
        frame = frame.with_columns(name_in_context=booleans(frame["name_in_context"], path))
    _check(frame, path)
    judged = [role for role in roles if role not in judged_now and _parts(frame, role)]
    for role in judged:
        frame = _with_judgement(frame, role, path, threshold)
    stated = pl.col("error").str.strip_chars() if "error" in frame.columns else pl.lit(None, pl.String)
    absent = pl.when(pl.col("text").is_null()).then(pl.lit(str(ResponseError.MISSING)))
    frame = frame.with_columns(error=pl.coalesce(pl.when(stated != "").then(stated), absent))
    frame = frame.with_columns(
        prompt_id=pl.format("{}/{}", "conversation", "turn"),
        sample=pl.lit(0, pl.UInt16),
        continuation="text",
        lines_before=_lines_before(frame),
    )
    return frame, tuple(judged)


def _turns(frame: pl.DataFrame, path: Source) -> pl.Series:
    turns = number_column(frame, "turn", path)
    wrong = turns.is_null() | ~turns.is_between(1, MOST_TURNS) | (turns != turns.floor())
    if len(wrong := wrong.fill_null(True).arg_true()):
        row = int(wrong[0])
        raise DataError(
            f"{path}, row {row + 1}: 'turn' must be 1, 2, 3, ..., got {frame['turn'][row]!r}.",
            CHAT_FORMAT,
        )
    return turns.cast(pl.Int64)


def _check(frame: pl.DataFrame, path: Source) -> None:
    """Raise DataError unless every row has a conversation and a speaker, turns are unique, and
    each conversation has one opener.
    """
    for column in ("conversation", "speaker"):
        empty = (frame[column].is_null() | (frame[column].str.strip_chars() == "")).arg_true()
        if len(empty):
            raise DataError(f"{path}, row {empty[0] + 1}: '{column}' is empty.", CHAT_FORMAT)
    strange = (~frame["speaker"].is_in(SPEAKERS)).arg_true()
    if len(strange):
        row = int(strange[0])
        raise DataError(
            f"{path}, row {row + 1}: 'speaker' must be A (who opens) or B, got {frame['speaker'][row]!r}.",
            "In the column speaker, write A for the speaker who opens the conversation, and B for the one who replies.",
        )
    twice = (~frame.select(pl.struct("conversation", "turn").is_first_distinct()).to_series()).arg_true()
    if len(twice):
        row = int(twice[0])
        raise DataError(
            f"{path}, row {row + 1}: turn {frame['turn'][row]} of the conversation {frame['conversation'][row]!r} "
            "occurs twice.",
            "Give each conversation a unique label.",
        )
    for column in ("name", "gender"):
        several = frame.group_by("conversation").agg(pl.col(column).n_unique()).filter(pl.col(column) > 1)
        if several.height:
            raise DataError(
                f"{path}: the conversation {several['conversation'].sort()[0]!r} has more than one {column}.",
                "Give each row of a conversation the name with which it was opened, and that name's gender.",
            )


def _lines_before(frame: pl.DataFrame) -> pl.Series:
    """Return up to LINES_BEFORE lines before each utterance, oldest first, one line each."""
    said = frame.select("conversation", "turn", "text").with_row_index("row").sort("conversation", "turn")
    before = [pl.col("text").shift(back).over("conversation") for back in range(LINES_BEFORE, 0, -1)]
    joined = said.select("row", lines=pl.concat_list(before).list.drop_nulls().list.join("\n"))
    return joined.sort("row")["lines"]


def _parts(frame: pl.DataFrame, role: str) -> list[str]:
    return [part for part in PARTS if f"{role}_{part}" in frame.columns]


def _with_judgement(frame: pl.DataFrame, role: str, path: Source, threshold: float | None) -> pl.DataFrame:
    found = _parts(frame, role)
    values: dict[str, pl.Series] = {}
    for part in found:
        column = f"{role}_{part}"
        if part == "label":
            values[part] = text_column(frame, column, path)
        elif part == "score":
            values[part] = number_column(frame, column, path).fill_nan(None)
        elif part == "negative":
            values[part] = booleans(frame[column], path)
        else:
            values[part] = score_lists(frame[column], path)
    if "negative" not in values and "score" in values and threshold is not None:
        values["negative"] = values["score"] >= threshold
    empty = pl.Series([None] * frame.height)
    frame = frame.with_columns(
        values.get(part, empty).cast(LABELS[part]).alias(f"{role}_{part}") for part in PARTS
    )
    nothing = pl.all_horizontal(pl.col(f"{role}_{part}").is_null() for part in values)
    missing = pl.when(nothing).then(pl.lit(str(ResponseError.MISSING)))
    return frame.with_columns(missing.alias(f"{role}_error"))
