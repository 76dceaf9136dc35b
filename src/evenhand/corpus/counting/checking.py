"""Check that the content of a file can be counts, because the file may be from another program or edited."""

from dataclasses import fields
from typing import Any

import polars as pl

from evenhand.corpus.counting.counts import TABLES
from evenhand.corpus.counting.options import CountingOptions
from evenhand.corpus.reading import FOLDS
from evenhand.schema import UNREADABLE, UsageError, read_table_bytes

MOST = 1 << 53
"""Largest valid count; the sum of a thousand such counts still fits in 64 bits."""
MAY_BE_NULL = frozenset({"group", "last", "sha256", "damage"})
COUNTED = ("terms", "groups", "pairs")
"""Tables whose rows count documents of a corpus and fold."""


def parse_options(stored: Any) -> CountingOptions:
    """Return the options in a file. Raise ValueError for unknown options and wrong types."""
    known = {field.name: field.default for field in fields(CountingOptions)}
    if not isinstance(stored, dict) or set(stored) != set(known):
        raise ValueError("its counting options are missing")
    pairs = stored["pairs"]
    if not isinstance(pairs, list) or not all(isinstance(word, str) for word in pairs):
        raise ValueError("its pairs are not words")
    for name, usual in known.items():
        if name != "pairs" and type(stored[name]) is not type(usual):
            raise ValueError(f"its {name} is {stored[name]!r}")
    try:
        return CountingOptions(**stored | {"pairs": tuple(pairs)})
    except UsageError as error:
        raise ValueError(str(error).split("\n")[0].rstrip(".")) from error


def read_rows(name: str, content: bytes) -> pl.DataFrame:
    """Read one of TABLES from Parquet. Raise ValueError for wrong columns or types, nulls, and invalid numbers."""
    schema = TABLES[name]
    try:
        frame = read_table_bytes(content)
    except UNREADABLE as error:
        raise ValueError(f"its table {name} cannot be read") from error
    if dict(frame.schema) != schema:
        raise ValueError(f"its table {name} has other columns: {', '.join(frame.columns)}")
    for column, kind in schema.items():
        values = frame[column]
        if column not in MAY_BE_NULL and values.null_count():
            raise ValueError(f"its table {name} has rows without {column}")
        if kind == pl.Int64 and ((values < 0) | (values > MOST)).any():
            raise ValueError(f"its table {name} has a {column} that is not a count")
        if column == "fold" and (values >= FOLDS).any():
            raise ValueError(f"its table {name} has a fold of more than {FOLDS}")
    return frame.select(*schema)


def check_rows(tables: dict[str, pl.DataFrame]) -> None:
    """Raise ValueError if a count of documents exceeds the number of documents."""
    totals = tables["totals"].select("corpus", "fold", there="documents")
    if totals.select("corpus", "fold").is_duplicated().any():
        raise ValueError("its table totals has a corpus and fold twice")
    for name in COUNTED:
        most = tables[name].group_by("corpus", "fold").agg(pl.col("documents").max())
        _refuse_more(name, most.join(totals, on=["corpus", "fold"], how="left"))
    corpora = totals.group_by("corpus").agg(pl.col("there").sum())
    for name in ("published", "published_groups"):
        _refuse_more(name, tables[name].join(corpora, on="corpus", how="left"))


def _refuse_more(name: str, rows: pl.DataFrame) -> None:
    if (rows["documents"] > rows["there"].fill_null(0)).any():
        raise ValueError(f"its table {name} counts more documents than there are")
