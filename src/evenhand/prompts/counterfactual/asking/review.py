"""Write counterfactual texts to a table for review, and read the edited table."""

import re
from pathlib import Path

import polars as pl

from evenhand.prompts.counterfactual.asking.making import LEFT_OUT, MADE, AskedPrompts, with_ids
from evenhand.prompts.counterfactual.asking.reading import checked_texts
from evenhand.prompts.own_files import booleans, read_table, require_columns, text_column, without_flags
from evenhand.schema import DataError, UsageError, checked, write_table

REVIEW_FORMAT = (
    "A review is what `evenhand data build counterfactuals` wrote: one row per text to be asked, with base, axis, "
    "group, original and text. Edit `text`, write no into `keep`, or delete rows."
)
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""Pattern of the beginning of a cell that a spreadsheet would compute, with or without a quote."""
ONE_SIDED = "after the review, only one of its groups is left"


def write_review(path: Path, asked: AskedPrompts) -> Path:
    """Write the texts to a table for review, one per row with `keep` (yes), atomically; return the path.

    Cells that a spreadsheet would read as a formula (beginning with =, +, -, @ or a tab) get an apostrophe in front,
    which `read_review` removes.

    Raises UsageError for another ending, and WriteError.

    Parameters
    ----------
    path
        .csv.
    """
    if path.suffix.lower() != ".csv":
        raise UsageError(
            f"{path}: unsupported file type. A review is a .csv file.", "For example: --output REVIEW.csv"
        )
    frame = asked.frame.drop("prompt_id").select(pl.lit("yes").alias("keep"), pl.all())
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return write_table(path, frame.with_columns(escape_formulas(frame[name]) for name in texts), "csv")


def escape_formulas(cells: pl.Series) -> pl.Series:
    """Return cells with an apostrophe before what a spreadsheet would compute.

    >>> escape_formulas(pl.Series(["=1+1", "Is it?"])).to_list()
    ["'=1+1", 'Is it?']
    """
    return pl.Series(
        cells.name, [f"'{cell}" if cell and FORMULA.match(cell) else cell for cell in cells], pl.String
    )


def unescape_formulas(cells: pl.Series) -> pl.Series:
    """Return cells without the apostrophes that `escape_formulas` added."""
    return pl.Series(
        cells.name,
        [cell[1:] if cell and cell[0] == "'" and FORMULA.match(cell) else cell for cell in cells],
        pl.String,
    )


_WORDS = "Write yes or no (true or false, 1 or 0), or leave it empty."


@checked
def read_review(path: Path | str) -> AskedPrompts:
    """Read the counterfactual texts from a review file that you edited.

    Rows whose `keep` is no (false, 0) are left out; an empty value means yes. An edited text is no longer `original`.
    Prompts with a single group on an axis are left out. A CSV that a spreadsheet saved in Windows-1252 or with other
    delimiters is accepted, and the result notes it.

    `path` is .csv, .jsonl, .ndjson or .parquet. Raises a DataError that names the row for an empty text, a group
    without a name, or the same text for two groups of a prompt.
    """
    path = Path(path)
    guesses: list[str] = []
    frame = read_table(path, REVIEW_FORMAT, guesses=guesses)
    require_columns(frame, ["base", "axis", "group", "original", "text"], path, REVIEW_FORMAT)
    if path.suffix.lower() == ".csv":
        frame = frame.with_columns(
            unescape_formulas(frame[name]) for name in frame.columns if frame[name].dtype == pl.String
        )
    frame = frame.with_columns(
        text=checked_texts(frame, path), original=booleans(frame["original"], path, _WORDS)
    )
    for name in ("base", "axis", "group", "text"):
        column = text_column(frame, name, path)
        frame = frame.with_columns(column if name == "text" else column.str.strip_chars())
    frame = frame.with_row_index("row", 1)
    if "keep" in frame.columns:
        kept = booleans(frame["keep"], path, _WORDS).fill_null(True)
        frame = frame.filter(kept).drop("keep")
    for name in ("base", "axis", "group", "text"):
        empty = frame.filter(pl.col(name).is_null() | (pl.col(name).str.strip_chars() == ""))
        if empty.height:
            raise DataError(
                f"{path}, row {empty['row'][0]}: '{name}' is empty.",
                "Fill it in, delete the row, or write no in the column `keep`.",
            )
    same = frame.filter(pl.struct("base", "axis", "text").is_duplicated())
    if same.height:
        first = same.row(0, named=True)
        both = same.filter(*(pl.col(name) == first[name] for name in ("base", "axis", "text")))
        raise DataError(
            f"{path}, rows {both['row'][0]} and {both['row'][1]}: {first['base']} has the same text for "
            f"{both['group'][0]} and {both['group'][1]} ({first['axis']}).",
            "Each text belongs to one group. Delete or edit one of the rows.",
        )
    absent = [name for name in MADE if name not in frame.columns]
    frame = frame.with_columns(pl.lit("").alias(name) for name in absent)
    # the reviewer kept these rows despite contradictions
    frame = frame.with_columns(contradiction=pl.lit(""))
    unit = pl.when(pl.col("unit").str.strip_chars() != "").then("unit").otherwise("base")
    frame = frame.with_columns(unit.alias("unit"))
    own = pl.col("base_text").is_in([""]) | (pl.col("text") == pl.col("base_text"))
    frame = frame.with_columns(pl.col("original").fill_null(False) & own.fill_null(False))
    n_base, groups = frame["base"].n_unique(), pl.col("group").n_unique().over("base", "axis")
    alone = frame.filter(groups < 2).unique(["base", "axis"], maintain_order=True)
    frame = frame.filter(groups > 1).drop("row", "prompt_id", strict=False)
    if frame.is_empty():
        raise DataError(f"{path}: no prompt is left with texts about two groups.", REVIEW_FORMAT)
    left_out = alone.select("base", "axis", pl.lit(ONE_SIDED).alias("reason"), "base_text")
    return AskedPrompts(
        with_ids(frame.select(*MADE, pl.exclude(*MADE))),
        left_out.cast(pl.Schema(LEFT_OUT)),
        n_base,
        without_flags(guesses, path),
    )
