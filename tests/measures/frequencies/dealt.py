"""Documents dealt into folds, and what counting them by loops gives: the truth that measures are held against."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

FOLDS = 20


def totals_of(
    documents: Sequence[Sequence[int]], folds: Sequence[int], *, words: int, corpus: str = "a"
) -> pl.DataFrame:
    """The table of totals: documents, each a sequence of the terms in it, with as many words and sentences each."""
    held = Counter(folds)
    rows = [(corpus, fold, n, 2 * n, words * n) for fold, n in sorted(held.items())]
    return pl.DataFrame(rows, schema=["corpus", "fold", "documents", "sentences", "words"], orient="row")


def terms_of(documents: Sequence[Sequence[int]], folds: Sequence[int], *, corpus: str = "a") -> pl.DataFrame:
    """The table of terms: a document is a sequence of hits, each a term."""
    documents_with: Counter[tuple[int, int]] = Counter()
    hits: Counter[tuple[int, int]] = Counter()
    for document, fold in zip(documents, folds, strict=True):
        documents_with.update((fold, term) for term in set(document))
        hits.update((fold, term) for term in document)
    rows = [(corpus, fold, term, n, hits[fold, term]) for (fold, term), n in sorted(documents_with.items())]
    table = pl.DataFrame(rows, schema=["corpus", "fold", "term", "documents", "hits"], orient="row")
    same = {
        "documents": ("documents_exact", "documents_alone", "sentences", "sentences_alone"),
        "hits": ("hits_exact", "hits_alone"),
    }
    return table.with_columns(pl.col(name).alias(other) for name, others in same.items() for other in others)


def pairs_of(documents: Sequence[Sequence[int]], folds: Sequence[int], *, corpus: str = "a") -> pl.DataFrame:
    """The table of pairs: documents with both terms; windows hold what stands side by side."""
    both: Counter[tuple[int, int, int]] = Counter()
    beside: Counter[tuple[int, int, int]] = Counter()
    for document, fold in zip(documents, folds, strict=True):
        found = sorted(set(document))
        both.update((fold, a, b) for i, a in enumerate(found) for b in found[i + 1 :])
        beside.update((fold, min(a, b), max(a, b)) for a, b in pairwise(document) if a != b)
    rows = [(corpus, *key, n, n, beside[key]) for key, n in sorted(both.items())]
    columns = ["corpus", "fold", "first", "second", "documents", "sentences", "windows"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def drawn_documents(n: int, shares: Sequence[float], *, seed: int) -> tuple[list[list[int]], list[int]]:
    """Documents that hold each term by itself with its share, once or more often, and their folds."""
    rng = np.random.default_rng(seed)
    held = rng.random((n, len(shares))) < np.array(shares)
    documents = []
    for row in held:
        hits = [term for term in np.flatnonzero(row) for _ in range(rng.geometric(0.5))]
        rng.shuffle(hits)
        documents.append([int(term) for term in hits])
    return documents, rng.integers(0, FOLDS, n).tolist()
