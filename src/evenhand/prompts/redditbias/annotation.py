"""Write the table of phrases that annotators label, and read it with their labels."""

import csv
import io
from pathlib import Path

import polars as pl

from evenhand.schema import DataError, is_file, missing_columns, missing_file

LABELS = ("bias_sent", "bias_phrase")
"""Columns of the labels: whether the comment is biased, and whether the phrase on its own is."""
COLUMNS = ("id", "attribute_in_window", "comment", "phrase", *LABELS)
TAKEN_AS = {"1": 1, "1.0": 1, "0": 0, "0.0": 0}
"""Labels that are used, with their values.

The annotation guidelines label sarcasm 1, and questions and reports of somebody else's view 0. Annotators leave a label
blank if they need more context or cannot decide.
"""
ANNOTATED = {
    "id": pl.String,
    "attribute_in_window": pl.Boolean,
    "comment": pl.String,
    "phrase": pl.String,
    **dict.fromkeys(LABELS, pl.Int8),
    **{f"{name}_label": pl.String for name in LABELS},
}
EXPECTED = (
    f"Expected a CSV with {', '.join(COLUMNS[2:])} (and {' and '.join(COLUMNS[:2])}, if there are any); in the last "
    "two columns 1 is biased, 0 is not, and anything else is left out."
)


def to_annotate(phrases: pl.DataFrame) -> pl.DataFrame:
    """Return the table to be labelled: the phrases, with an empty column for each label.

    phrases: a table from `filtering.extract_phrases`.

    >>> empty = pl.DataFrame(schema={"id": str, "attribute_in_window": bool, "comment": str, "phrase": str})
    >>> to_annotate(empty).columns == list(COLUMNS)
    True
    """
    return phrases.select(*COLUMNS[:4]).with_columns(pl.lit("").alias(name) for name in LABELS)


def read_annotations(path: Path | str) -> pl.DataFrame:
    """Read a labelled table, as `to_annotate` wrote it or as RedditBias publishes it.

    `path` is a CSV in UTF-8 or Latin-1. The table has the columns ANNOTATED. Labels are 1, 0 or null, and the original
    ones are in columns such as `bias_sent_label`. Blanks, "2" and any words, such as "1 - context needed", are null, as
    in the published code. Raises a DataError for an invalid file, a missing column or a row that is too long. Source:
    Barikeri et al. 2021, section 2 and appendix B.
    """
    file = Path(path).expanduser()
    if not is_file(file):
        raise missing_file(file, EXPECTED)
    try:
        rows = list(csv.reader(io.StringIO(_text(file), newline="")))
    except csv.Error as error:
        raise DataError(f"{file} is not a valid CSV: {error}.", EXPECTED) from error
    heading = [name.strip() for name in rows[0]] if rows else []
    if lacking := missing_columns(file, COLUMNS[2:], filter(None, heading), EXPECTED):
        raise lacking
    if twice := [name for name in COLUMNS if heading.count(name) > 1]:
        raise DataError(f"{file} has the column {twice[0]} {heading.count(twice[0])} times.", EXPECTED)
    values: dict[str, list[str]] = {name: [] for name in COLUMNS if name in heading}
    places = {name: heading.index(name) for name in values}
    for number, row in enumerate(rows[1:], 1):
        if len(row) > len(heading):
            raise DataError(
                f"{file}, row {number}: it has {len(row)} values, but the heading has {len(heading)} columns.",
                "Put values that contain a comma in quotes.",
            )
        if any(row):
            for name, place in places.items():
                values[name].append(row[place] if place < len(row) else "")
    frame = pl.DataFrame(values, schema=dict.fromkeys(values, pl.String))
    return _convert_types(frame)


def label_counts(annotated: pl.DataFrame) -> pl.DataFrame:
    """Return how often each label was given, and the value it is read as.

    annotated: a table from `read_annotations`. Returns a table with the columns column (a name in LABELS), label (the
    text that was written), count, and taken_as (1, 0, or null if the label is not used).
    """
    parts = [
        annotated.group_by(label=f"{name}_label")
        .agg(count=pl.len().cast(pl.Int64), taken_as=pl.col(name).first())
        .select(pl.lit(name).alias("column"), "label", "count", "taken_as")
        .sort("count", "label", descending=[True, False])
        for name in LABELS
    ]
    return pl.concat(parts)


def biased_phrases(annotated: pl.DataFrame) -> pl.DataFrame:
    """Return the phrases that are labelled as biased (1).

    annotated: a table from `read_annotations`. Returns a table with the columns id, attribute_in_window, comment,
    comments_processed (the phrase), bias_sent and bias_phrase. Repeated phrases are kept, as in the published code.
    Raises a DataError if no phrase is labelled as biased, or if such a phrase is empty.
    """
    biased = annotated.filter(pl.col("bias_phrase") == 1)
    if biased.is_empty():
        raise DataError(
            f"None of the {annotated.height:,} annotated phrases is labelled as biased.",
            "Write 1 into bias_phrase for each phrase that is biased by itself.",
        )
    blank = biased["phrase"].str.strip_chars() == ""
    if blank.any():
        raise DataError(
            f"{blank.sum():,} of {biased.height:,} phrases that are labelled as biased are empty.",
            "Remove the label, or restore the phrase.",
        )
    return biased.select(*COLUMNS[:3], "phrase", *LABELS).rename({"phrase": "comments_processed"})


def _text(file: Path) -> str:
    content = file.read_bytes()
    if b"\0" in content:
        raise DataError(f"{file} is not a valid CSV: it contains zero bytes.", EXPECTED)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _convert_types(frame: pl.DataFrame) -> pl.DataFrame:
    labels = [pl.col(name).str.strip_chars() for name in LABELS]
    absent = [pl.lit(None, ANNOTATED[n]).alias(n) for n in COLUMNS[:2] if n not in frame.columns]
    in_window = [
        pl.col("attribute_in_window").str.strip_chars().str.to_lowercase() == "true"
        for name in frame.columns
        if name == "attribute_in_window"
    ]
    return (
        frame.with_columns(in_window)
        .with_columns(
            *absent,
            *(label.alias(f"{name}_label") for name, label in zip(LABELS, labels, strict=True)),
            *(label.replace_strict(TAKEN_AS, default=None, return_dtype=pl.Int8) for label in labels),
        )
        .select(list(ANNOTATED))
    )
