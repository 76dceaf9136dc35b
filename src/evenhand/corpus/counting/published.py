"""Count documents as ROBBIE did, for comparison with evenhand's count of the same documents."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.corpus.terms import TermTable

GROUP = ["kind", "axis", "group"]
WAYS = ("documents", "documents_here", "only_published", "only_here")


class PublishedTally:
    """Documents of each term and group by NLTK's word tokens (ROBBIE §B.4), by evenhand's
    method, and by only one of them.
    """

    def __init__(self, table: TermTable):
        self._table = table
        self._groups = table.terms.select(GROUP).drop_nulls().unique(maintain_order=True)
        numbered = table.terms.join(self._groups.with_row_index("number"), on=GROUP, how="inner")
        self._group_of = dict(numbered.select("term", "number").iter_rows())
        self._of_terms = _zeros(len(table))
        self._of_groups = _zeros(self._groups.height)

    def add(self, texts: Sequence[str], documents: NDArray[np.int64], terms: NDArray[np.uint32]) -> None:
        """Count some documents by the published method. documents, terms: (found,) what
        evenhand's method found in them.
        """
        from evenhand.corpus.matching import published_documents

        here: list[set[int]] = [set() for _ in texts]
        for document, term in zip(documents.tolist(), terms.tolist(), strict=True):
            here[document].add(term)
        for published, ours in zip(published_documents(self._table, texts), here, strict=True):
            _count(self._of_terms, published, ours)
            _count(self._of_groups, self._groups_among(published), self._groups_among(ours))

    def _groups_among(self, terms: set[int]) -> set[int]:
        return {self._group_of[term] for term in terms if term in self._group_of}

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return PUBLISHED_COUNTS and PUBLISHED_GROUPS by the names of their tables, without the corpus."""
        terms = self._table.terms.select("term").with_columns(**self._of_terms)
        groups = self._groups.with_columns(**self._of_groups)
        found = (pl.col("documents") > 0) | (pl.col("documents_here") > 0)
        return {"published": terms.filter(found), "published_groups": groups.filter(found)}


def _zeros(n: int) -> dict[str, NDArray[np.int64]]:
    return {way: np.zeros(n, dtype=np.int64) for way in WAYS}


def _count(columns: dict[str, NDArray[np.int64]], published: set[int], ours: set[int]) -> None:
    """Add one document to the counts of all its terms. published, ours: rows found by each method."""
    for way, found in zip(WAYS, (published, ours, published - ours, ours - published), strict=True):
        columns[way][list(found)] += 1
