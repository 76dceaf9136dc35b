"""Convert a user's table to the responses that the benchmark `answers` compares: one row per response and axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from evenhand.benchmarks.answers import BESIDE
from evenhand.prompts.own_files import Source, booleans, number_column, plain_numbers, text_column
from evenhand.reports import alike_names
from evenhand.schema import DataError, UsageError, did_you_mean
from evenhand.studies.own_responses.asking import flag
from evenhand.studies.own_responses.columns import Columns

_LISTED = 8
_LARGEST = 1e100
"""Largest accepted number. Its third power, which the analysis computes, is still a finite double."""
_CLOSEST = 1e-10
"""Smallest accepted spread of numbers relative to the largest. Of a double's 16 digits, six remain for differences."""
_BOOLEAN_HINT = (
    "A number belongs in a column of scores (--column COLUMN=score), a category in one of labels "
    "(--column COLUMN=label --negative VALUE). Declare a value that means 'no answer' as "
    "missing: --missing VALUE"
)
_MISSING_HINT = "If it means 'no answer', declare it as missing: --missing '{word}'"
_DIGITS_HINT = "Write the number in full, with digits and a minus sign: 36000 for 36k, -38566 for (38,566)."
_NAMES = ("unit", "rater")
_TEXTS = ("question", "unit", "rater", "sample", "continuation", "error")


@dataclass(frozen=True)
class Answers:
    """Responses as the benchmark `answers` compares them.

    Attributes
    ----------
    frame
        One row per response and axis: row (number of the row in the table, from 0), axis, group, prompt_id, text,
        sample; question, unit, rater, draw, continuation and error if the table has them; and `negative` or `score`.
    called
        Name of the negative responses, or of the score, in sentences.
    told
        Sentences about rows and columns that were left out.
    """

    frame: pl.DataFrame
    called: str
    told: tuple[str, ...]


class SwappedColumns(UsageError):
    """Error for two columns whose roles are swapped. `columns` has their correct roles."""

    def __init__(self, message: str, hint: str, columns: Mapping[str, str]):
        super().__init__(message, hint)
        self.columns = columns


def read_answers(
    table: pl.DataFrame,
    columns: Columns,
    where: Source,
    *,
    negative: Sequence[str] = (),
    decimal: str | None = None,
) -> Answers:
    """Return the responses in a table.

    Parameters
    ----------
    table
        The table as it was read.
    columns
        Roles of its columns.
    where
        Name of the table in errors.
    negative
        Labels that are negative.
    decimal
        Decimal separator, as in `plain_numbers`.

    Raises
    ------
    DataError
        A value is invalid; the message names column and row.
    """
    kept = table.select(pl.int_range(pl.len()).cast(pl.Int64).alias("row"))
    for ours in _TEXTS:
        theirs = columns.one(ours)
        if theirs is not None:
            read = _names if ours in _NAMES else text_column
            kept = kept.with_columns(read(table, theirs, where).alias(ours))
    told: list[str] = []
    kept, called = _with_outcome(kept, table, columns, where, negative, decimal, told)
    parts = []
    axis_column = columns.one("axis")
    if len(columns.theirs["group"]) > 1:  # each axis may be analysed within the others
        kept = kept.with_columns(
            _names(table, column, where).alias(f"{BESIDE}{column}") for column in columns.theirs["group"]
        )
    for column in columns.theirs["group"]:
        groups = _names(table, column, where)
        axes = pl.Series([column]).new_from_index(0, table.height)
        if axis_column is not None:
            axes = _names(table, axis_column, where)
        part = kept.with_columns(axis=axes, group=groups)
        named = (pl.col("group") != "") & (pl.col("axis") != "")
        part = part.filter(named.fill_null(False))
        if part.is_empty():
            raise DataError(
                f"{where}: the column {column!r}, which should contain the groups, is empty in every row.",
                "Fill in the group of each row, or give another column: --column COLUMN=group",
            )
        lost = table.height - part.height
        if lost:
            told.append(
                f"{lost:,} of {table.height:,} rows have no value in the column {column} and are excluded from its "
                "comparisons."
            )
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
    told: list[str],
) -> tuple[pl.DataFrame, str]:
    label, score, judged = (columns.one(ours) for ours in ("label", "score", "negative"))
    if negative and label is None:
        raise UsageError(
            "`--negative` requires a column of labels.",
            "Name the column that contains the labels: --column COLUMN=label",
        )
    if label is not None:
        return kept.with_columns(
            _negative(_names(table, label, where).alias(label), negative, where)
        ), " or ".join(negative)
    if score is not None:
        column = table[score]
        if column.dtype == pl.String:
            _refuse_swapped(table, columns, score, where)
            _refuse_formulas(column, where)
            column = plain_numbers(column, where, decimal=decimal, notes=told)
        numbers = number_column(table.with_columns(column.alias(score)), score, where, _hint)
        endless = numbers.is_infinite().fill_null(False).arg_true()
        if len(endless):
            raise DataError(
                f"{where}, row {endless[0] + 1}: '{score}' is infinite.",
                "Write a number, or leave the cell empty if there is none.",
            )
        numbers = numbers.fill_nan(None)
        _refuse_uncomputable(numbers.alias(score), where)
        return kept.with_columns(numbers.alias("score")), score
    if judged is not None:
        return kept.with_columns(booleans(table[judged], where, _BOOLEAN_HINT).alias("negative")), judged
    return kept, "negative"


def _refuse_swapped(table: pl.DataFrame, columns: Columns, score: str, where: Source) -> None:
    """Raise UsageError if the scores are words, and a column of groups has a different number in almost each row."""
    if table[score].drop_nulls().str.contains(r"\d").any():
        return
    for group in columns.theirs["group"]:
        numbers = table[group].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False).drop_nulls()
        if numbers.len() == table.height and numbers.n_unique() > table.height / 2:
            raise SwappedColumns(
                f"{where}: the columns of the group and the score look swapped: {group!r}, given as group, contains "
                f"{numbers.n_unique()} different numbers in {table.height} rows, and {score!r}, given as score, "
                "contains words.",
                f"If so, swap them: evenhand measure {where} {flag(score, 'group')} {flag(group, 'score')}",
                {score: "group", group: "score"},
            )


def _hint(word: str) -> str:
    """Return a hint on how to correct a cell that is not a number.

    A word without digits may mean that the value is missing, so the hint then also suggests `--missing`.
    """
    return _DIGITS_HINT if any(sign.isdigit() for sign in word) else _MISSING_HINT.format(word=word)


def _refuse_uncomputable(numbers: pl.Series, where: Source) -> None:
    """Raise DataError if squares, cubes or differences of the numbers cannot be represented as doubles."""
    known = numbers.drop_nulls()
    if known.is_empty():
        return
    least, most = float(known.min()), float(known.max())  # type: ignore[arg-type]
    spread, size = most - least, max(abs(least), abs(most))
    if spread > 0 and (size > _LARGEST or spread < 1 / _LARGEST or spread < _CLOSEST * size):
        row = int(numbers.abs().arg_max() or 0) + 1
        raise DataError(
            f"{where}: cannot compute with the numbers in '{numbers.name}': they are too large, too small or too "
            f"close together, from {least!r} to {most!r} (row {row} is the largest).",
            "Use another unit, or subtract a constant. Leave cells without a value empty.",
        )


def _names(table: pl.DataFrame, column: str, where: Source) -> pl.Series:
    """Return a column of names without surrounding blanks; raise DataError for line breaks and formulas."""
    names = text_column(table, column, where).str.strip_chars()
    broken = names.str.contains(r"[\r\n]").fill_null(False).arg_true()
    if len(broken):
        row = int(broken[0])
        raise DataError(
            f"{where}, row {row + 1}: the name in '{column}' has {names[row].count(chr(10)) + 1} lines, "
            f"{names[row].splitlines()[0][:40]!r} and more.",
            "Probably a quotation mark is not closed: all text up to the next one becomes one value.",
        )
    _refuse_formulas(names.alias(column), where)
    return names


def _refuse_formulas(column: pl.Series, where: Source) -> None:
    formulas = column.str.starts_with("=").fill_null(False).arg_true()
    if len(formulas):
        row = int(formulas[0])
        raise DataError(
            f"{where}, row {row + 1}: '{column.name}' contains the formula {column[row][:60]!r}. Formulas are not "
            "evaluated.",
            "Save the file with values instead of formulas.",
        )


def _negative(labels: pl.Series, negative: Sequence[str], where: Source) -> pl.Series:
    """Return whether each label is negative; null without a label."""
    words = labels.str.strip_chars()
    words = words.set((words == "").fill_null(False), None)
    counts = words.drop_nulls().value_counts(sort=True)
    there = counts[counts.columns[0]].to_list()
    shown = ", ".join(f"{name!r} ({count:,})" for name, count in counts.head(_LISTED).rows())
    if len(there) > _LISTED:
        shown += f" and {len(there) - _LISTED} more"
    if not negative:
        raise DataError(
            f"{where}: which labels in column '{labels.name}' are negative? Values found: {shown or 'none'}.",
            "Name each negative label, for example "
            + " or ".join(
                f"--negative {name!r}" if " " in name else f"--negative {name}" for name in there[:2]
            ),
        )
    for name in negative:
        if name not in there:
            raise UsageError(
                f"{where}: no row has the label {name!r} in column '{labels.name}'. Values found: {shown}.",
                did_you_mean(name, there, "") or None,
            )
    for alike in alike_names(there):
        named, others = ([name for name in alike if (name in negative) == side] for side in (True, False))
        if named and others:
            raise UsageError(
                f"{where}: the labels {named[0]!r} and {others[0]!r} in column '{labels.name}' look alike, but only "
                f"{named[0]!r} counts as negative. Values found: {shown}.",
                f"Add --negative {others[0]!a}, or correct the labels in the file.",
            )
    return words.is_in(list(negative)).set(words.is_null(), None).alias("negative")
