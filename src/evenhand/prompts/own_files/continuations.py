"""Read existing continuations, with or without labels, from CSV, JSON Lines or Parquet, and check them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.prompts.own_files.tables import (
    MISSING_WORDS,
    Source,
    TableInMemory,
    as_source,
    number_column,
    read_table,
    require_columns,
    text_column,
    with_names,
)
from evenhand.schema import LABELS, DataError, ResponseError, checked

CONTINUATION_FORMAT = (
    "A file of continuations is CSV, JSON Lines or Parquet with one continuation per row and the benchmark's group "
    "columns. Each classifier role needs one of `ROLE_negative` (true or false), `ROLE_score` (with --threshold) or "
    "`ROLE_label`. If a benchmark has one role, `negative`, `score` or `label` is enough. Alternatively, give a "
    "column `continuation` and name a classifier with --classifier. The prompt of a row comes from `prompt_id`, else "
    "`text` (the prompt itself), else `prompt`. Without these columns, each row counts as a separate prompt. "
    "Optional columns: `sample` (number of the response to its prompt) and `error`."
)
TRUE_WORDS, FALSE_WORDS = ("true", "1", "yes", "y", "t", "1.0"), ("false", "0", "no", "n", "f", "0.0")
NEGATIVE_LABELS = ("negative", "toxic", "offensive", "hateful")
"""Labels that mark a text as negative without a threshold, in upper or lower case."""
OTHER_LABELS = (
    "positive",
    "neutral",
    "other",
    "no_impact",
    "non-toxic",
    "nontoxic",
    "not toxic",
    "not offensive",
)
PROMPT_COLUMNS = ("prompt_id", "text", "prompt")
"""Columns that can identify the prompt of a row; the first that exists is used."""
_SCORE_HINT = "A score belongs in a column 'score' or 'ROLE_score', with --threshold."
PARTS = ("negative", "score", "label", "scores")


@dataclass(frozen=True)
class UserContinuations:
    """A checked table of continuations, with the columns that a benchmark's analysis needs in addition to groups."""

    frame: pl.DataFrame
    """The user's columns; `prompt_id`, `sample`, `continuation`, `finish`, `token_count`, `log_likelihood` and `error`;
    and for each role in `judged` the columns `<role>_label`, `_score`, `_negative`, `_scores`, `_error`.
    """
    judged: tuple[str, ...]
    """Roles whose labels the file contains."""


@checked
def read_continuations(
    path: Path | str | TableInMemory,
    needed_columns: Sequence[str],
    roles: Sequence[str],
    *,
    threshold: float | None = None,
    judged_now: Collection[str] = (),
    optional: Collection[str] = (),
) -> UserContinuations:
    """Read a file of continuations for a benchmark (for the format, see CONTINUATION_FORMAT).

    `path` is .csv, .jsonl, .ndjson or .parquet. `needed_columns` are the groups that the benchmark compares, and
    `roles` its classifiers. A continuation is negative from the score `threshold`. Labels in the file for the roles
    `judged_now` are ignored. Roles in `optional` need no label, or only a score.

    Rows with the same `prompt_id` are samples of one prompt. Without it, rows with the same `text`, or else `prompt`,
    and the same groups are. Otherwise, each row is a separate prompt. Raises a DataError that names the column or row.
    """
    path = as_source(path)
    frame = read_table(path, CONTINUATION_FORMAT)
    require_columns(frame, needed_columns, path, CONTINUATION_FORMAT)
    for name in ("prompt_id", "text", "prompt", "continuation", "finish", "error"):
        if name in frame.columns:
            text_column(frame, name, path)
    frame = with_names(frame, path)
    _check_groups(frame, path)
    _check_prompts(frame, path)
    wanted = [role for role in roles if role not in judged_now]
    main = [role for role in roles if role not in optional] or list(roles)
    role_columns = {role: _columns_by_part(frame, role, alone=main == [role]) for role in wanted}
    judged = tuple(role for role, columns in role_columns.items() if columns)
    for role in judged:
        frame = _with_label(frame, role, role_columns[role], path, threshold, verdict=role not in optional)
    if judged_now or (not judged and set(roles) <= set(optional)):
        require_columns(frame, ["continuation"], path, CONTINUATION_FORMAT)
    elif not judged:
        bare = [name for name in PARTS if name in frame.columns]
        which_role = (
            f" The role of '{bare[0]}' is not known ({', '.join(roles)}): rename it, such as '{roles[0]}_{bare[0]}'."
            if bare
            else ""
        )
        raise DataError(
            f"{path} contains no judgement of {' or '.join(roles)} (found: "
            f"{', '.join(frame.columns)}).{which_role}",
            f"Add a column '{roles[0]}_negative', or a column 'continuation' and name who judges it: "
            f"--classifier {roles[0]}=vader (`evenhand list classifiers`).",
        )
    return UserContinuations(_with_rows(frame, needed_columns, judged), judged)


def _check_groups(frame: pl.DataFrame, path: Source) -> None:
    """Raise DataError for a row with an axis but no group, or vice versa; the row would be lost unnoticed."""
    if not {"axis", "group"} <= set(frame.columns):
        return
    # HolisticBias uses the axis "null" for sentences without a group
    axis, group = pl.col("axis"), pl.col("group")
    for what, nameless in (
        ("an axis but no group", group.is_null() & axis.is_not_null() & (axis != "null")),
        ("a group but no axis", group.is_not_null() & axis.is_null()),
    ):
        rows = frame.select(nameless.arg_true()).to_series()
        if len(rows):
            raise DataError(
                f"{path}, row {rows[0] + 1}: {len(rows)} of {frame.height} rows have {what}.",
                f"Fill in the {what.rpartition(' ')[2]}, or drop these rows.",
            )


def _check_prompts(frame: pl.DataFrame, path: Source) -> None:
    """Raise DataError for samples without a prompt, because each would count as a separate
    prompt and overstate the evidence.
    """
    named = next((name for name in PROMPT_COLUMNS if name in frame.columns), None)
    if named is not None:
        nameless = frame.select(
            (pl.col(named).cast(pl.String).str.strip_chars() == "").fill_null(True).arg_true()
        )
        rows = nameless.to_series()
        if named == "prompt" and len(rows):
            raise DataError(
                f"{path}, row {rows[0] + 1}: 'prompt' is empty in {len(rows):,} of {frame.height:,} rows, so the "
                "prompts of these responses are not known.",
                "Fill it in, or add a column 'prompt_id'.",
            )
        return
    if "sample" not in frame.columns:
        return
    repeated = (number_column(frame, "sample", path) > 0).arg_true()
    if len(repeated):
        row = int(repeated[0])
        raise DataError(
            f"{path}, row {row + 1}: 'sample' is {frame['sample'][row]!r}, so a prompt has several responses, but "
            f"no column identifies the prompt (found: {', '.join(frame.columns)}).",
            "Add a column 'prompt_id' (or 'prompt', or 'text' with the prompt itself) that is the same in all "
            "responses to one prompt. If each row responds to a different prompt, remove 'sample'.",
        )


def _columns_by_part(frame: pl.DataFrame, role: str, *, alone: bool) -> dict[str, str]:
    """Return the columns of a role's labels by their part; columns without the role's name are
    used if it is the only role.
    """
    named = {part: f"{role}_{part}" for part in PARTS}
    plain = {part: part for part in PARTS if alone and part in frame.columns}
    return plain | {part: column for part, column in named.items() if column in frame.columns}


def _with_label(
    frame: pl.DataFrame,
    role: str,
    column_of: Mapping[str, str],
    path: Source,
    threshold: float | None,
    *,
    verdict: bool,
) -> pl.DataFrame:
    columns: dict[str, pl.Series] = {}
    if "score" in column_of:
        columns["score"] = number_column(frame, column_of["score"], path).fill_nan(None)
    if "label" in column_of:
        columns["label"] = text_column(frame, column_of["label"], path)
    if "scores" in column_of:
        columns["scores"] = score_lists(frame[column_of["scores"]], path)
    if "negative" in column_of:
        columns["negative"] = booleans(frame[column_of["negative"]], path)
    elif "score" in columns and threshold is not None:
        columns["negative"] = columns["score"] >= threshold
    elif "label" in columns and "scores" not in columns:
        columns["negative"] = _negative_labels(columns["label"], role, path)
    elif verdict and "scores" not in columns:
        raise DataError(
            f"{path}: the minimum score of a negative response in '{column_of['score']}' is not known.",
            f"Set --threshold, or add a column '{role}_negative' of true and false.",
        )
    made = [
        columns.get(part, pl.Series([None] * frame.height)).cast(LABELS[part]).alias(f"{role}_{part}")
        for part in PARTS
    ]
    frame = frame.with_columns(made)
    nothing = pl.all_horizontal(pl.col(f"{role}_{part}").is_null() for part in columns)
    missing = pl.when(nothing).then(pl.lit(str(ResponseError.MISSING)))
    return frame.with_columns(
        pl.coalesce(_text_or_null(frame, f"{role}_error"), missing).alias(f"{role}_error")
    )


def _with_rows(frame: pl.DataFrame, groups: Sequence[str], judged: Sequence[str]) -> pl.DataFrame:
    empty = {
        "continuation": pl.String,
        "finish": pl.String,
        "token_count": pl.UInt32,
        "log_likelihood": pl.Float64,
    }
    frame = frame.with_columns(
        pl.col(name).cast(kind, strict=False)
        if name in frame.columns
        else pl.lit(None, dtype=kind).alias(name)
        for name, kind in empty.items()
    )
    judgements = [pl.col(f"{role}_error").is_null() for role in judged]
    unjudged = ~pl.any_horizontal(judgements) if judgements else pl.lit(True)
    absent = pl.when(pl.col("continuation").is_null() & unjudged).then(pl.lit(str(ResponseError.MISSING)))
    frame = frame.with_columns(error=pl.coalesce(_text_or_null(frame, "error"), absent))
    failed = pl.col("error").is_not_null()
    frame = frame.with_columns(
        *(
            pl.when(~failed).then(f"{role}_{part}").alias(f"{role}_{part}")
            for role in judged
            for part in PARTS
        ),
        *(pl.coalesce("error", f"{role}_error").alias(f"{role}_error") for role in judged),
    )
    if "prompt_id" not in frame.columns:
        named = next((name for name in PROMPT_COLUMNS if name in frame.columns), None)
        if named is not None:
            same = pl.struct(named, *(name for name in groups if name != named)).rank("dense")
            frame = frame.with_columns(prompt_id=pl.format("prompt-{}", same))
        else:
            frame = frame.with_columns(prompt_id=pl.format("row-{}", pl.int_range(1, pl.len() + 1)))
    if "sample" not in frame.columns:
        frame = frame.with_columns(sample=pl.int_range(pl.len()).over("prompt_id"))
    return frame.with_columns(pl.col("prompt_id").cast(pl.String), pl.col("sample").cast(pl.UInt16))


def _text_or_null(frame: pl.DataFrame, column: str) -> pl.Expr:
    if column not in frame.columns:
        return pl.lit(None, dtype=pl.String)
    words = pl.col(column).cast(pl.String)
    return pl.when(words.str.strip_chars() != "").then(words)


def booleans(values: pl.Series, path: Source, hint: str = _SCORE_HINT) -> pl.Series:
    """Convert a column with any spelling of true and false to booleans, with null if empty. Raise a DataError with the
    row.

    Parameters
    ----------
    hint
        How another word is to be mended.
    """
    if values.dtype == pl.Boolean:
        return values
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise DataError(
            f"{path}: the column '{values.name}' must contain true or false, but its type is {values.dtype}.",
            "Write one of them in each row, or leave the row empty.",
        )
    words = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    wrong = (words.is_not_null() & ~words.is_in([*TRUE_WORDS, *FALSE_WORDS, *MISSING_WORDS])).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{path}, row {row + 1}: '{values.name}' must be true or false, got {values[row]!r}.",
            hint,
        )
    yes = words.is_in(list(TRUE_WORDS))
    return yes.set(words.is_in(list(MISSING_WORDS)).fill_null(True), None)


def _negative_labels(labels: pl.Series, role: str, path: Source) -> pl.Series:
    words = labels.str.strip_chars().str.to_lowercase()
    unknown = words.is_not_null() & ~words.is_in([*NEGATIVE_LABELS, *OTHER_LABELS, *MISSING_WORDS])
    if unknown.any():
        shown = ", ".join(sorted({repr(label) for label in labels.filter(unknown)})[:5])
        raise DataError(
            f"{path}: cannot tell which labels in '{labels.name}' ({shown}) are negative.",
            f"Add a column '{role}_negative' of true and false, or '{role}_score' with --threshold.",
        )
    negative = words.is_in(list(NEGATIVE_LABELS))
    return negative.set(words.is_in(list(MISSING_WORDS)).fill_null(True), None)


def score_lists(values: pl.Series, path: Source) -> pl.Series:
    """Return a column of lists of numbers, which text files contain as JSON. Raise DataError for other values."""
    if values.dtype != pl.String:
        return values
    try:
        return values.str.json_decode(pl.List(pl.Float32))
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path}: '{values.name}' is not a list of numbers in every row: {str(error).splitlines()[0]}.",
            "Write each as JSON, such as [0.1, 0.9].",
        ) from error
