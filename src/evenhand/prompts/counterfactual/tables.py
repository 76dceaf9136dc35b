"""Build tables of texts with their counterfactuals from files, for review or for use."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from evenhand.prompts.counterfactual.contradictions import contradiction
from evenhand.prompts.counterfactual.engine import Counterfactuals
from evenhand.prompts.own_files import read_lines, read_table, require_columns, text_column
from evenhand.schema import DataError, UsageError, checked, write_table

if TYPE_CHECKING:
    from evenhand.prompts.counterfactual.changes import Counterfactual

TEXTS_FORMAT = (
    "Texts can be CSV, JSON Lines or Parquet with one text per row, in the column `text` (or the column you name). "
    "They can also be a UTF-8 .txt file with one text per line."
)
CHANGES = pl.List(
    pl.Struct(
        {
            "start": pl.Int64,
            "end": pl.Int64,
            "new_start": pl.Int64,
            "new_end": pl.Int64,
            "before": pl.String,
            "after": pl.String,
            "rule": pl.String,
            "two_way": pl.Boolean,
        }
    )
)
ADDED = ("counterfactual", "changes", "contradiction")
WRITTEN = (".csv", ".jsonl", ".parquet")


@checked
def counterfactuals(
    texts: Path | str | pl.DataFrame,
    axis: str,
    *,
    target: str,
    source: str | Sequence[str] | None = None,
    both: bool = False,
    names: bool = True,
    quotes: bool = False,
    column: str = "text",
) -> pl.DataFrame:
    """Rewrite a table of texts so that each is about another group of people, and list the changes.

    Use it to make pairs of prompts that differ only in the group. For single texts, use `Counterfactuals`.

    Parameters
    ----------
    texts : path, str or polars.DataFrame
        A table, or a .csv, .jsonl, .ndjson or .parquet file, or a .txt file with one text per line.
    axis, target, source, both, names, quotes
        Way of grouping people, new and old group, and what is changed; as in `Counterfactuals`.
    column : str, default "text"
        Column with the texts.

    Returns
    -------
    polars.DataFrame
        The rows and columns of `texts`, and three more:

        - ``counterfactual``: the new text. It equals the old one if nothing changed, and is null if the text
          is missing.
        - ``changes``: a list of structs, one per change. ``start`` and ``end`` are characters in the old
          text, ``new_start`` and ``new_end`` in the new one. ``before`` and ``after`` are the words. ``rule``
          is the kind of word, such as pronoun. ``two_way`` states whether the same rules restore the
          original.
        - ``contradiction``: names, titles and quotations that were not changed and do not fit the new gender,
          in words. It is "" if there are none, with `both`, and on other axes than gender.

    Raises
    ------
    UsageError
        The axis or a group is unknown, or the groups cannot be exchanged.
    DataError
        A file or a column cannot be read, all texts are empty, or the table already has one of the new
        columns.

    Examples
    --------
    >>> table = counterfactuals(pl.DataFrame({"text": ["She left.", "It rained."]}), "gender", target="male")
    >>> table["counterfactual"].to_list()
    ['He left.', 'It rained.']
    """
    engine = Counterfactuals(axis, target=target, source=source, both=both, names=names, quotes=quotes)
    where = Path("the table") if isinstance(texts, pl.DataFrame) else Path(texts)
    frame = texts if isinstance(texts, pl.DataFrame) else read_texts(where, column)
    require_columns(frame, [column], where, TEXTS_FORMAT)
    if present := [name for name in ADDED if name in frame.columns]:
        raise DataError(
            f"{where} already has a column {present[0]!r}, a name that the result uses for its own column.",
            "Rename your column.",
        )
    originals = text_column(frame, column, where).to_list()
    if originals and not any(text and text.strip() for text in originals):
        raise DataError(f"{where}: '{column}' is empty in every row.", TEXTS_FORMAT)
    made: list[Counterfactual | None] = [None if text is None else engine.of(text) for text in originals]
    changes = [
        []
        if one is None
        else [{name: getattr(change, name) for name in change.__slots__} for change in one.changes]
        for one in made
    ]
    is_one_way = axis == "gender" and not both
    left = [
        contradiction(one.text, one.changes, target) if one is not None and is_one_way else "" for one in made
    ]
    return frame.with_columns(
        pl.Series("counterfactual", [one and one.text for one in made], pl.String),
        pl.Series("changes", changes, CHANGES),
        pl.Series("contradiction", left, pl.String),
    )


def read_texts(path: Path, column: str = "text", *, guesses: list[str] | None = None) -> pl.DataFrame:
    """Return a user's texts as a table with the column `column`. guesses: as in `read_table`.

    Raises DataError (see TEXTS_FORMAT).
    """
    if path.suffix.lower() != ".txt":
        return read_table(path, TEXTS_FORMAT, guesses=guesses)
    lines = read_lines(path, TEXTS_FORMAT)
    if not lines:
        raise DataError(f"{path} is empty.", TEXTS_FORMAT)
    return pl.DataFrame({column: lines})


def list_changes(frame: pl.DataFrame, column: str = "text") -> pl.DataFrame:
    """Return one row for each change in a table of counterfactuals.

    `frame` is the result of `counterfactuals`. The columns are row (counted from 1), start, end, from, to, rule,
    two_way, original, counterfactual and contradiction. Texts without a change have no row.

    >>> table = counterfactuals(pl.DataFrame({"text": ["She left."]}), "gender", target="male")
    >>> list_changes(table).select("row", "from", "to", "rule").row(0)
    (1, 'She', 'He', 'pronoun')
    """
    rows = frame.select(
        pl.int_range(1, pl.len() + 1).alias("row"), pl.col(column).alias("original"), *ADDED
    ).filter(pl.col("changes").list.len() > 0)
    return (
        rows.explode("changes")
        .unnest("changes")
        .select(
            "row",
            "start",
            "end",
            pl.col("before").alias("from"),
            pl.col("after").alias("to"),
            "rule",
            "two_way",
            "original",
            "counterfactual",
            "contradiction",
        )
    )


def write_counterfactuals(path: Path, frame: pl.DataFrame, column: str = "text") -> Path:
    """Write the result of `counterfactuals` atomically, and return the path.

    Raises UsageError for another ending, and WriteError.

    Parameters
    ----------
    path
        A .csv is for review and has one row per change (`list_changes`). A .jsonl or .parquet has one row per text,
        with the user's columns.
    """
    check_ending(path)
    return write_table(path, list_changes(frame, column) if path.suffix.lower() == ".csv" else frame)


def check_ending(path: Path) -> None:
    """Raise UsageError for a format in which counterfactuals cannot be written."""
    if path.suffix.lower() not in WRITTEN:
        raise UsageError(
            f"{path}: unsupported file type. Counterfactuals are written as {', '.join(WRITTEN)}.",
            "FILE.csv lists all changes for review; FILE.jsonl and FILE.parquet contain all texts.",
        )
