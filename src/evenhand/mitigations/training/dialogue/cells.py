"""Read the cells of a table of self-chats strictly: an invalid cell raises an error that names its row."""

from pathlib import Path

import polars as pl

from evenhand.schema import DataError, parse_json, without_surrogates

SPLITS = ("tune", "test")
TRUE_WORDS, FALSE_WORDS = ("true", "1", "yes"), ("false", "0", "no", "")
OF_A_NAME = {
    "gender": "a name has one gender, or none",
    "split": "a name is used either for tuning or for testing",
    "word_collision": "a name either is a common word or is not",
}
"""Columns whose value must be the same in all rows of a name, with the reason."""


def sentences(values: pl.Series, path: Path) -> pl.Series:
    """Return a column of personas as lists of sentences: the lines of a text, or the items of a JSON list.

    Raises DataError, with the row, for other values.
    """
    expected = (
        'a list of sentences, a text with one sentence per line, or a JSON list such as ["i like tea."]'
    )
    kind = values.dtype
    if isinstance(kind, pl.Categorical | pl.Enum) or kind == pl.Null:
        values = values.cast(pl.String)
    if isinstance(kind, pl.Array):
        values = values.arr.to_list()
    if values.dtype == pl.String:
        read = {text: _parse_sentences(text) for text in values.drop_nulls().unique().to_list()}
        texts = values.to_list()
        for row, text in enumerate(texts):
            if text is not None and read[text] is None:
                raise _wrong(values, row, expected, path)
        made = [None if text is None else read[text] for text in texts]
        return pl.Series(values.name, made, pl.List(pl.String))
    if not isinstance(values.dtype, pl.List) or values.dtype.inner not in (pl.String, pl.Null):
        present = values.is_not_null().arg_true()
        if len(present):
            raise _wrong(values, int(present[0]), expected, path)
        return pl.Series(values.name, [None] * len(values), pl.List(pl.String))
    holes = values.list.eval(pl.element().is_null()).list.any().fill_null(False).arg_true()
    if len(holes):
        raise _wrong(values, int(holes[0]), f"{expected}, and no null among them", path)
    return values.cast(pl.List(pl.String))


def truths(values: pl.Series, path: Path) -> pl.Series:
    """Return a column of Booleans from true/false or 1/0; empty cells are false. Raises DataError with the row."""
    if values.dtype == pl.Boolean:
        return values.fill_null(False)
    kind = values.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        wrong = values.is_not_null().arg_true()
        words = pl.Series(values.name, [""] * len(values))
    else:
        words = values.cast(pl.String).str.strip_chars().str.to_lowercase().fill_null("")
        wrong = (~words.is_in([*TRUE_WORDS, *FALSE_WORDS])).arg_true()
    if len(wrong):
        raise _wrong(values, int(wrong[0]), "true or false", path)
    return words.is_in(list(TRUE_WORDS))


def check_names(frame: pl.DataFrame, path: Path) -> None:
    """Raise DataError, with the row, for empty names, unknown splits, and a name with two different values.

    frame: name, row (from 0) and the columns of OF_A_NAME that exist, in any order.
    """
    for row, name in (
        frame.filter(pl.col("name").str.strip_chars() == "").select("row", "name").head(1).rows()
    ):
        raise DataError(
            f"{path}, row {row + 1}: 'name' must be the name with which speaker A opens, got {name!r}.",
            "Add the name, or remove the conversation.",
        )
    if "split" in frame.columns:
        strange = frame.filter(~pl.col("split").is_in(list(SPLITS)).fill_null(False))
        for row, found in strange.sort("row").select("row", "split").head(1).rows():
            raise DataError(
                f"{path}, row {row + 1}: 'split' must be tune or test, got {found!r}.",
                "Write one of them in each row, or remove the column: half of the names are then reserved for "
                "testing.",
            )
    for column, why in OF_A_NAME.items():
        if column not in frame.columns:
            continue
        first = pl.col(column).sort_by("row").first().over("name")
        row_of_first = pl.col("row").min().over("name")
        other = frame.with_columns(first=first, at=row_of_first).filter(
            pl.col(column).ne_missing(pl.col("first"))
        )
        told = other.sort("row").select("row", "name", column, "first", "at").head(1)
        for row, name, found, before, at in told.rows():
            raise DataError(
                f"{path}, row {row + 1}: '{column}' of {name!r} is {found!r}, and {before!r} in row {at + 1}; {why}.",
                "Use the same value in all rows of a name. Two people with one name need two names.",
            )


def _parse_sentences(text: str) -> list[str] | None:
    """Return the sentences of a text; None if it starts like a JSON list but is not a list of texts."""
    if not text.strip().startswith("["):
        return [line.strip() for line in text.splitlines() if line.strip()]
    try:
        found = parse_json(text)
    except ValueError:
        return None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        return None
    return found if all(without_surrogates(one) == one for one in found) else None


def _wrong(values: pl.Series, row: int, expected: str, path: Path) -> DataError:
    found = values[row]
    shown = repr(found.to_list() if isinstance(found, pl.Series) else found)
    return DataError(
        f"{path}, row {row + 1}: '{values.name}' is {shown[:80]}{'...' * (len(shown) > 80)}; {expected} was expected.",
        "Correct the row, or remove the column.",
    )
