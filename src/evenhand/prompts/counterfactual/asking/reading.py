"""Read and check a user's own prompts before any model is called."""

from pathlib import Path

import polars as pl

from evenhand.prompts.counterfactual.asking.slots import find_slots
from evenhand.prompts.counterfactual.tables import read_texts
from evenhand.prompts.own_files import require_columns, text_column, without_flags
from evenhand.schema import DataError, checked

OWN_FORMAT = (
    "Prompts come as CSV, JSON Lines or Parquet with one prompt per row in the column `text`, or as a .txt file of "
    "UTF-8 with one prompt per line. Optional column: `prompt_id`, your own identifiers. Other columns are kept."
)
LONGEST = 50_000
"""Maximum number of characters of a prompt; longer ones indicate a file that was read with the wrong quotes."""
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
TAKEN = (
    *("base", "axis", "group", "original", "names", "unit", "changes", "contradiction", "base_text", "keep"),
    *("sample", "continuation", "finish", "error", "request_id"),
)
REVIEWED = {"base", "axis", "group", "original", "text"}


@checked
def read_own(path: Path | str, notes: list[str] | None = None) -> pl.DataFrame:
    """Read your own prompts as a table with ``base`` (your `prompt_id`, or `row-N`), ``text`` and your other columns.

    `path` is .csv, .jsonl, .ndjson, .parquet, or .txt with one prompt per line. Rows without a text and repeated texts
    are left out. `notes` receives sentences on a guessed encoding or delimiter of a CSV; without it, a CSV must be
    UTF-8. Raises a DataError that names file, row and column.
    """
    path = Path(path)
    guesses: list[str] | None = None if notes is None else []
    frame = read_texts(path, guesses=guesses)
    if notes is not None:
        notes.extend(without_flags(guesses or (), path))
    require_columns(frame, ["text"], path, OWN_FORMAT)
    if set(frame.columns) >= REVIEWED:
        raise DataError(
            f"{path} is a review file (it has the columns {', '.join(sorted(REVIEWED))}).",
            "To use the prompts that it lists: --counterfactual reviewed",
        )
    if taken := [name for name in TAKEN if name in frame.columns]:
        raise DataError(
            f"{path} has a column {taken[0]!r}, which is reserved for the audit.",
            f"Rename the column. {OWN_FORMAT}",
        )
    texts = checked_texts(frame, path)
    for row, text in enumerate(texts, 1):
        find_slots(text, f"{path}, row {row}")  # a misspelt one is an error
    if "prompt_id" in frame.columns:
        base = text_column(frame, "prompt_id", path).str.strip_chars()
        if (wrong := (base.is_null() | (base == "") | base.is_duplicated()).arg_true()).len():
            raise DataError(
                f"{path}, row {wrong[0] + 1}: the prompt_id {base[wrong[0]]!r} is empty or occurs twice.",
                "Give each prompt its own id, or remove the column.",
            )
    else:
        base = pl.Series([f"row-{row}" for row in range(1, frame.height + 1)], dtype=pl.String)
    frame = frame.drop("prompt_id", strict=False).with_columns(base=base, text=texts.str.strip_chars("\r\n"))
    asked = frame.filter(pl.col("text").str.strip_chars() != "").unique(
        "text", keep="first", maintain_order=True
    )
    if asked.is_empty():
        raise DataError(f"{path}: 'text' is empty in every row.", OWN_FORMAT)
    return asked.select("base", "text", pl.exclude("base", "text"))


def checked_texts(frame: pl.DataFrame, path: Path) -> pl.Series:
    """Return the column `text`. Raise DataError for control characters and for texts that are too long for prompts."""
    texts = text_column(frame, "text", path).fill_null("")
    if (rows := texts.str.contains(CONTROL).arg_true()).len():
        raise DataError(
            f"{path}, row {rows[0] + 1}: 'text' contains a control character ({_control(texts[rows[0]])}).",
            "Remove it. Such characters usually come from copying, and models read them differently.",
        )
    if (rows := (texts.str.len_chars() > LONGEST).arg_true()).len():
        raise DataError(
            f"{path}, row {rows[0] + 1}: 'text' has {len(texts[rows[0]]):,} characters, but at most {LONGEST:,} "
            "are allowed.",
            "Check for a missing quotation mark, which joins rows. Otherwise shorten the prompt.",
        )
    return texts


def _control(text: str) -> str:
    return next(
        f"{ord(letter):#04x}"
        for letter in text
        if (ord(letter) < 32 and letter not in "\t\n\r") or ord(letter) == 127
    )
