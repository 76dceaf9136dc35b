"""From somebody's table to the answers that the benchmark `answers` compares: a row for each answer and axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import polars as pl

from evenhand.benchmarks.answers import BESIDE
from evenhand.prompts.own_files import Source, booleans, number_column, plain_numbers, text_column
from evenhand.schema import DataError, UsageError
from evenhand.studies.own_responses.columns import Columns

_LISTED = 8
_TEXTS = ("question", "unit", "rater", "sample", "continuation", "error")


@dataclass(frozen=True)
class Answers:
    """frame: row (of the table, from 0; once for each axis), axis, group, prompt_id, text, sample, and what the table
    holds of question, unit, rater, draw, continuation, error, and `negative` or `score`. called: the negative answers,
    or the number. told: what was left out, in sentences."""

    frame: pl.DataFrame
    called: str
    told: tuple[str, ...]


def answers_of(
    table: pl.DataFrame,
    columns: Columns,
    where: Source,
    *,
    negative: Sequence[str] = (),
    decimal: str | None = None,
    point: bool = True,
) -> Answers:
    """The answers in a table.

    table: as read. columns: what they hold. where: what errors call the table. negative: the labels that are
    negative. decimal, point: as `plain_numbers` takes them. Raises DataError naming column and row.
    """
    kept = table.select(pl.int_range(pl.len()).cast(pl.Int64).alias("row"))
    for ours in _TEXTS:
        theirs = columns.one(ours)
        if theirs is not None:
            kept = kept.with_columns(text_column(table, theirs, where).alias(ours))
    kept, called = _with_outcome(kept, table, columns, where, negative, decimal, point)
    told: list[str] = []
    parts = []
    axis_column = columns.one("axis")
    if len(columns.theirs["group"]) > 1:  # each axis may be looked at inside the others
        kept = kept.with_columns(
            text_column(table, column, where).str.strip_chars().alias(f"{BESIDE}{column}")
            for column in columns.theirs["group"]
        )
    for column in columns.theirs["group"]:
        groups = text_column(table, column, where).str.strip_chars()
        axes = pl.Series([column]).new_from_index(0, table.height)
        if axis_column is not None:
            axes = text_column(table, axis_column, where).str.strip_chars()
        part = kept.with_columns(axis=axes, group=groups)
        named = (pl.col("group") != "") & (pl.col("axis") != "")
        part = part.filter(named.fill_null(False))
        if part.is_empty():
            raise DataError(f"{where}: the column {column!r} names no group in any row.", "Fill it in.")
        lost = table.height - part.height
        if lost:
            told.append(f"{lost:,} of {table.height:,} rows name no {column} and are left out there.")
        parts.append(part)
    frame = pl.concat(parts)
    if "sample" in frame.columns:
        frame = frame.rename({"sample": "draw"})
    question = pl.col("question").fill_null("") if "question" in frame.columns else pl.lit("")
    frame = frame.with_columns(
        prompt_id=pl.format("row-{}", pl.col("row") + 1), sample=pl.lit(0), text=question
    )
    return Answers(frame, called, tuple(told))


def _with_outcome(
    kept: pl.DataFrame,
    table: pl.DataFrame,
    columns: Columns,
    where: Source,
    negative: Sequence[str],
    decimal: str | None,
    point: bool,
) -> tuple[pl.DataFrame, str]:
    label, score, judged = (columns.one(ours) for ours in ("label", "score", "negative"))
    if negative and label is None:
        raise UsageError(
            "--negative says which labels are negative, and no column holds labels.",
            "Name it: --column COLUMN=label",
        )
    if label is not None:
        return kept.with_columns(_negative(text_column(table, label, where), negative, where)), " or ".join(
            negative
        )
    if score is not None:
        column = table[score]
        if column.dtype == pl.String:
            _refuse_formulas(column, where)
            column = plain_numbers(column, where, decimal=decimal, point=point)
        numbers = number_column(table.with_columns(column.alias(score)), score, where)
        endless = numbers.is_infinite().fill_null(False).arg_true()
        if len(endless):
            raise DataError(f"{where}, row {endless[0] + 1}: '{score}' is infinite.", "Leave it empty.")
        return kept.with_columns(numbers.fill_nan(None).alias("score")), score
    if judged is not None:
        return kept.with_columns(booleans(table[judged], where).alias("negative")), judged
    return kept, "negative"


def _refuse_formulas(column: pl.Series, where: Source) -> None:
    formulas = column.str.starts_with("=").fill_null(False).arg_true()
    if len(formulas):
        row = int(formulas[0])
        raise DataError(
            f"{where}, row {row + 1}: '{column.name}' is the formula {column[row][:60]!r}, and none is worked out.",
            "Save the file with values in place of formulas.",
        )


def _negative(labels: pl.Series, negative: Sequence[str], where: Source) -> pl.Series:
    """Whether each label is a negative one; null where there is none."""
    words = labels.str.strip_chars()
    words = words.set((words == "").fill_null(False), None)
    counts = words.drop_nulls().value_counts(sort=True)
    there = counts[counts.columns[0]].to_list()
    shown = ", ".join(f"{name!r} ({count:,})" for name, count in counts.head(_LISTED).rows())
    if len(there) > _LISTED:
        shown += f" and {len(there) - _LISTED} more"
    if not negative:
        raise DataError(
            f"{where}: which of the labels in '{labels.name}' are negative is not said. It holds {shown or 'none'}.",
            "Say so, several times if several are: "
            + " or ".join(
                f"--negative {name!r}" if " " in name else f"--negative {name}" for name in there[:2]
            ),
        )
    for name in negative:
        if name not in there:
            near = get_close_matches(name, there, n=1, cutoff=0.6)
            raise UsageError(
                f"{where}: no row of '{labels.name}' says {name!r}; it holds {shown}.",
                f"Did you mean {near[0]!r}?" if near else None,
            )
    return words.is_in(list(negative)).set(words.is_null(), None).alias("negative")
