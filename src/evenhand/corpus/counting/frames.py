"""Convert dense arrays of counts to tables that have rows only for counts above zero.

The tables do not have the column corpus.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.corpus.counting.order import Order
from evenhand.corpus.reading import FOLDS

EXACT, ALONE, NEAR_PERSON = 1, 2, 4  # bits 0, 1, 2
"""Flags of a hit, or of all hits of a document, as three bits."""
FLAGS = 3
"""Number of flags. They have 1 << FLAGS combinations."""

Numbers = NDArray[np.int64]


def term_frame(order: Order, hits: Numbers, documents: Numbers, sentences: Numbers) -> pl.DataFrame:
    """Return a table with the columns TERM_COUNTS.

    hits, documents: counts of the codes (fold * terms + rank) * 8 + flags. sentences: counts of the codes (fold * terms
    + rank) * 2 + alone.
    """
    flags = np.arange(1 << FLAGS)
    by_flags = {"hits": hits.reshape(-1, 1 << FLAGS), "documents": documents.reshape(-1, 1 << FLAGS)}
    by_alone = sentences.reshape(-1, 2)
    columns = {"sentences": by_alone.sum(axis=1), "sentences_alone": by_alone[:, 1]}
    for unit, counts in by_flags.items():
        columns[unit] = counts.sum(axis=1)
        for name, flag in (("exact", EXACT), ("alone", ALONE), ("near_person", NEAR_PERSON)):
            columns[f"{unit}_{name}"] = counts[:, (flags & flag) > 0].sum(axis=1)
    found = np.flatnonzero(columns["hits"])
    fold, rank = np.divmod(found, max(order.size, 1))
    counted = {name: values[found] for name, values in columns.items()}
    return pl.DataFrame({"fold": fold, "term": order.term[rank], **counted})


def group_frame(
    order: Order, hits: Numbers, groups: dict[str, Numbers], axes: dict[str, Numbers]
) -> pl.DataFrame:
    """Return a table with the columns GROUP_COUNTS.

    hits: as for `term_frame`. groups, axes: counts of documents, of sentences, and of repeated hits at the same place
    (which are subtracted), by codes fold * groups + group.
    """
    of_terms = hits.reshape(FOLDS, order.size, 1 << FLAGS).sum(axis=2)
    whole = order.axes.with_columns(group=pl.lit(None, dtype=pl.String))
    several = [
        _add_counts(order.groups, order.group, of_terms, groups).filter(pl.col("group").is_not_null()),
        _add_counts(whole, order.axis, of_terms, axes),
    ]
    return pl.concat(several, how="diagonal")


def _add_counts(
    labels: pl.DataFrame, of_rank: Numbers, hits: Numbers, counts: dict[str, Numbers]
) -> pl.DataFrame:
    summed = np.zeros((FOLDS, labels.height), dtype=np.int64)
    for rank, number in enumerate(of_rank):
        summed[:, number] += hits[:, rank]
    found = np.flatnonzero(counts["documents"])
    fold, number = np.divmod(found, max(labels.height, 1))
    return labels[number].with_columns(
        fold=pl.Series(fold),
        hits=pl.Series((summed.ravel() - counts["again"])[found]),
        **{name: pl.Series(counts[name][found]) for name in ("documents", "sentences")},
    )
