"""Match the descriptors of a run to counted terms by spelling, and list those without a match."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.corpus import Counts, TermTable, normalise
from evenhand.schema import DataError, UsageError
from evenhand.stats.associations import split_half_reliability

DESCRIPTORS, PERSON_NOUNS = "descriptor", "person_noun"


@dataclass(frozen=True)
class Matched:
    """Frequency of each descriptor of a run in the corpus.

    Attributes
    ----------
    frequencies
        Axis, descriptor, bucket, tokens, documents, near_person, and documents of the two halves of the folds.
    unmatched
        Axis and descriptor of each descriptor that was not counted.
    total
        Number of documents in the corpus.
    """

    frequencies: pl.DataFrame
    unmatched: pl.DataFrame
    total: int

    @property
    def reliability(self) -> float | None:
        """Return how similar ranks within axes would be in another corpus of this kind and size (0 to 1).

        It is computed from two halves of the documents. None with fewer than three descriptors.
        """
        halves = self.frequencies.select("even", "odd").cast(pl.Float64).to_numpy()
        return split_half_reliability(
            halves, self.frequencies["axis"].rank("dense").to_numpy().astype(np.int64)
        )

    @property
    def never_found(self) -> int:
        """Return the number of descriptors that were counted but are in no document."""
        return self.frequencies.filter(pl.col("documents") == 0).height


def matched(
    descriptors: pl.DataFrame, counts: Counts, table: TermTable, corpus: str | None = None
) -> Matched:
    """Find the descriptors of a run among the terms.

    A descriptor matches the term with the same spelling, also without a following noun for people ("gay person"). If
    several terms have this spelling, the one of the same axis is used. A descriptor without a bucket gets that of the
    term.

    Raises UsageError for a corpus that was not counted, DataError if no descriptor was counted.

    Parameters
    ----------
    descriptors
        Axis, descriptor, bucket, tokens.
    corpus
        One of the counted corpora; None: all of them together.
    """
    counted, total = _counted(counts, corpus)
    found = _terms_of(descriptors, table)
    joined = (
        descriptors.with_columns(term=pl.Series(found, dtype=pl.UInt32))
        .join(counted, on="term", how="left")
        .join(table.terms.select("term", "group"), on="term", how="left")
        .with_columns(pl.coalesce("bucket", "group").alias("bucket"))
    )
    missing = joined.filter(pl.col("term").is_null()).select("axis", "descriptor")
    known = joined.filter(pl.col("term").is_not_null())
    if known.is_empty():
        raise DataError(
            f"None of the {joined.height} descriptors of the run was counted "
            f"({', '.join(missing['descriptor'][:5])}, ...).",
            "Count the terms of the run's benchmark: --terms descriptors (evenhand's sentences) or --terms "
            "holisticbias,holisticbias-nouns.",
        )
    columns = ("documents", "near_person", "even", "odd")
    return Matched(
        known.with_columns(pl.col(columns).fill_null(0)).select(
            "axis", "descriptor", "bucket", "tokens", *columns
        ),
        missing,
        total,
    )


def _counted(counts: Counts, corpus: str | None) -> tuple[pl.DataFrame, int]:
    totals, terms = counts.totals, counts.terms
    if corpus is not None:
        names = totals["corpus"].unique().sort().to_list()
        if corpus not in names:
            raise UsageError(f"This count has no corpus {corpus!r}.", f"Counted: {', '.join(names)}.")
        totals, terms = (frame.filter(pl.col("corpus") == corpus) for frame in (totals, terms))
    even = pl.col("documents").filter(pl.col("fold") % 2 == 0).sum().alias("even")
    odd = pl.col("documents").filter(pl.col("fold") % 2 == 1).sum().alias("odd")
    near = pl.col("documents_near_person").sum().alias("near_person")
    found = terms.group_by("term").agg(pl.col("documents").sum(), near, even, odd)
    return found, int(totals["documents"].sum())


def _terms_of(descriptors: pl.DataFrame, table: TermTable) -> list[int | None]:
    """Return the term of each descriptor, or None."""
    spelt = table.surfaces.filter(~pl.col("inflected")).join(table.terms, on="term")
    by_text: dict[str, list[Mapping[str, object]]] = {}
    for row in spelt.select("text", "term", "axis", "kind").iter_rows(named=True):
        by_text.setdefault(row["text"], []).append(row)
    nouns = table.terms.filter(pl.col("kind") == PERSON_NOUNS).select("term")
    people = set(table.surfaces.join(nouns, on="term")["text"])

    def called(name: str) -> list[Mapping[str, object]]:
        spelling = normalise(name).strip()
        before, _, last = spelling.rpartition(" ")
        return by_text.get(spelling) or by_text.get(before if last in people else "", [])

    return [_best(called(name), axis) for axis, name in descriptors.select("axis", "descriptor").rows()]


def _best(candidates: list[Mapping[str, object]], axis: str) -> int | None:
    if not candidates:
        return None
    best = min(candidates, key=lambda row: (row["axis"] != axis, row["kind"] != DESCRIPTORS, row["term"]))
    return int(str(best["term"]))
