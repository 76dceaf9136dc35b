"""Documents counted as ROBBIE counted them, beside our count of the same documents."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.corpus.counting.counts import PUBLISHED_COUNTS
from evenhand.corpus.terms import TermTable


class PublishedTally:
    """Documents of each term by word tokens of NLTK (ROBBIE §B.4), by us, and by one of the two alone."""

    def __init__(self, table: TermTable):
        self._table = table
        self._columns = {
            name: np.zeros(len(table), dtype=np.int64)
            for name in PUBLISHED_COUNTS
            if name not in ("corpus", "term")
        }

    def add(self, texts: Sequence[str], documents: NDArray[np.int64], terms: NDArray[np.uint32]) -> None:
        """Count some documents as published. documents, terms: (found,) what we found in them."""
        from evenhand.corpus.matching import published_documents

        here: list[set[int]] = [set() for _ in texts]
        for document, term in zip(documents.tolist(), terms.tolist(), strict=True):
            here[document].add(term)
        for published, ours in zip(published_documents(self._table, texts), here, strict=True):
            for name, found in (
                ("documents", published),
                ("documents_here", ours),
                ("only_published", published - ours),
                ("only_here", ours - published),
            ):
                self._columns[name][list(found)] += 1

    def frame(self) -> pl.DataFrame:
        """PUBLISHED_COUNTS without the corpus."""
        frame = pl.DataFrame({"term": np.arange(len(self._table)), **self._columns})
        return frame.filter((pl.col("documents") > 0) | (pl.col("documents_here") > 0))
