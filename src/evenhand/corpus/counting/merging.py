"""Add the counts of parts. They are integers, so the order does not matter and the sum is exact."""

from collections.abc import Sequence
from dataclasses import asdict

import polars as pl

from evenhand.corpus.counting.counts import TABLES, Counts
from evenhand.schema import DataError

KEYS = ("corpus", "fold", "term", "kind", "axis", "group", "first", "second", "reason")
"""Columns that identify what was counted; the other columns are counts."""


def merged(several: Sequence[Counts]) -> Counts:
    """Add the counts of several parts of a corpus.

    The order and grouping of the parts do not matter.

    Parameters
    ----------
    several : sequence of Counts
        At least one. The parts must not have documents in common.

    Returns
    -------
    Counts
        The total counts.

    Raises
    ------
    DataError
        The tables of terms or the options differ, or two parts counted the same piece of a file.
    ValueError
        There are no parts.

    Examples
    --------
    >>> from evenhand.corpus.counting.counts import empty_counts
    >>> merged([empty_counts("a1"), empty_counts("a1")]).table_hash
    'a1'
    """
    if not several:
        raise ValueError("no counts were given; give at least one")
    one = several[0]
    for other in several[1:]:
        _refuse_others(one, other)
    tables = {name: pl.concat([getattr(counts, name) for counts in several]) for name in TABLES}
    _refuse_overlaps(tables["sources"])
    kept = {name: sort_table(name, frame, one.options.contexts) for name, frame in tables.items()}
    return Counts(one.table_hash, **kept, options=one.options)


def sort_table(name: str, frame: pl.DataFrame, contexts: int) -> pl.DataFrame:
    """Return one table of counts in its stored form: one sorted row for each counted thing."""
    schema = TABLES[name]
    if name == "sources":
        return frame.sort("corpus", "address", "first", "last")
    if name == "contexts":
        several = frame.sort("corpus", "term", "key", "address", "place")
        return several.group_by("corpus", "term", maintain_order=True).head(contexts).select(*schema)
    keys = [column for column in schema if column in KEYS]
    return frame.group_by(keys).sum().sort(keys, nulls_last=False).select(*schema)


def _refuse_others(one: Counts, other: Counts) -> None:
    if one.table_hash != other.table_hash:
        raise DataError(
            f"Counts with two tables of terms cannot be added: {one.table_hash} and {other.table_hash}.",
            "Count all parts with the same lists of terms.",
        )
    mine, theirs = asdict(one.options), asdict(other.options)
    differing = [f"{name} {mine[name]} and {theirs[name]}" for name in mine if mine[name] != theirs[name]]
    if differing:
        raise DataError(
            f"Counts with different options cannot be added: {'; '.join(differing)}.",
            "Count all parts with the same options.",
        )


def _refuse_overlaps(sources: pl.DataFrame) -> None:
    """Raise DataError if a piece was counted in two parts."""
    several = sources.sort("corpus", "address", "first", "last", nulls_last=True)
    whole = pl.col("last").is_null()
    same = pl.col("corpus").eq(pl.col("corpus").shift(-1)) & pl.col("address").eq(pl.col("address").shift(-1))
    twice = several.with_columns(next=pl.col("first").shift(-1)).filter(
        same & (whole | (pl.col("last") > pl.col("next")) | (pl.col("first") == pl.col("next")))
    )
    if twice.height:
        row = twice.row(0, named=True)
        part = f"from {row['first']} to {'its end' if row['last'] is None else row['last']}"
        raise DataError(
            f"{row['address']} ({part}) was counted twice for the corpus {row['corpus']!r}.",
            "Add the counts of each piece once.",
        )
