"""Measure how often a term is about people: the share of its hits near words for people."""

import numpy as np
import polars as pl

from evenhand.measures.columns import check_flags, require_columns, require_counts, require_texts, typed
from evenhand.measures.frequencies.folds import clustered_shares, counted_by_fold, folded, of_corpus
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, checked

LEAST_DOCUMENTS = 30
"""Minimum number of documents with a term that may be flagged, and with the terms with which it is compared."""
LEAST_COMPARED = 5
PART, PART_OF_OTHERS = 0.5, 0.2
"""Shares of the usual value below which a term is rarely about people.

The first is for a term that is known to have other senses, the second for any other.
"""


@checked
def sense_shares(totals: pl.DataFrame, terms: pl.DataFrame, catalogue: pl.DataFrame) -> pl.DataFrame:
    """Return the share of each term's occurrences that are near a word for people.

    Use it to find terms that are rarely about people in a corpus, such as a word with another sense. Their frequencies
    should not be read as frequencies of a group.

    Parameters
    ----------
    totals : polars.DataFrame
        One row per corpus and fold (part of its documents, drawn at random), with ``documents`` (their number).
    terms : polars.DataFrame
        One row per corpus, fold and term (a number) with ``documents``, ``hits`` (occurrences) and
        ``hits_near_person`` (those near a word for people).
    catalogue : polars.DataFrame
        One row per term with ``term``, ``kind`` and ``ambiguous`` (True: known to have other senses).

    Returns
    -------
    polars.DataFrame
        One row per corpus and term that was found.
        - ``documents``, ``hits``: counts.
        - ``near_person``: percentage of hits, with ``low`` and ``high`` (95% CI).
        - ``usual``: median of near_person over the unambiguous terms of its kind that are in at least 30 documents.
          Null if there are fewer than 5 of them.
        - ``rarely_of_people``: True if the whole interval is below half of the usual value (a fifth for a term that is
          not known to be ambiguous). Null if ``usual`` is null or the term occurs in fewer than 30 documents.

    Raises
    ------
    DataError
        A column is missing, a corpus has no documents or a fold twice, or there are counts in a fold without
        documents.

    Notes
    -----
    Terms that are not known to be ambiguous have a lower limit, because a noun such as "Californians" needs no
    other word for people near it.

    Examples
    --------
    >>> totals = pl.DataFrame({"corpus": "a", "fold": range(4), "documents": 500})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1, 2, 3] * 6, "term": [i // 4 for i in range(24)],
    ...     "hits": 40, "documents": 30, "hits_near_person": [1, 0, 0, 1] + [24, 26, 25, 25] * 5})
    >>> catalogue = pl.DataFrame({"term": range(6), "kind": "descriptor", "ambiguous": [True] + [False] * 5})
    >>> sense_shares(totals, found, catalogue)["rarely_of_people"].to_list()[:2]
    [True, False]
    """
    names = ["hits", "hits_near_person", "documents"]
    terms = counted_by_fold(terms, "sense_shares", ["term", *names])
    require_counts(catalogue, ["term"], "sense_shares")
    require_texts(catalogue, ["kind"], "sense_shares", null=True)
    require_columns(catalogue, ["ambiguous"], "sense_shares", of_any_kind=True)
    check_flags(catalogue, ["ambiguous"], "sense_shares")
    parts = []
    for corpus in folded(totals, "sense_shares"):
        mine = of_corpus(terms, corpus)
        found = mine["term"].unique().sort()
        rows = np.searchsorted(found.to_numpy(), mine["term"].to_numpy())
        hits, near, documents = (corpus.sums(mine, rows, len(found), name) for name in names)
        shares = clustered_shares(near, hits, units=documents.sum(axis=1))
        parts.append(
            pl.DataFrame(
                {
                    "corpus": [corpus.name] * len(found),
                    "term": found.cast(pl.UInt32),
                    "documents": documents.sum(axis=1).astype(np.int64),
                    "hits": hits.sum(axis=1).astype(np.int64),
                    "near_person": 100 * shares.estimate,
                    "low": 100 * shares.low,
                    "high": 100 * shares.high,
                },
                schema_overrides=typed(pl.String, "corpus"),
            )
        )
    known = catalogue.select(pl.col("term").cast(pl.UInt32), "kind", pl.col("ambiguous").cast(pl.Boolean))
    table = pl.concat(parts).fill_nan(None).join(known, on="term", how="left", maintain_order="left")
    held = (pl.col("documents") >= LEAST_DOCUMENTS) & ~pl.col("ambiguous")
    usual = (
        table.filter(held)
        .group_by("corpus", "kind")
        .agg(usual=pl.when(pl.len() >= LEAST_COMPARED).then(pl.col("near_person").median()))
    )
    part = pl.when("ambiguous").then(PART).otherwise(PART_OF_OTHERS)
    rarely = pl.when(pl.col("documents") >= LEAST_DOCUMENTS).then(pl.col("high") < part * pl.col("usual"))
    return (
        table.join(usual, on=["corpus", "kind"], how="left", maintain_order="left")
        .with_columns(rarely_of_people=rarely)
        .drop("kind", "ambiguous")
    )


CARDS = (
    MeasureInfo.of(
        Card(
            name="person_share",
            summary="Percentage of a term's occurrences that are near another word for people, or are plurals "
            "naming people.",
            construct="Whether occurrences of the term are about people.",
            harm="None by itself. The measure shows which frequencies are not about people.",
            groups="Terms. Each is compared with the unambiguous terms of its kind in the same corpus.",
            ideal="None, as for term_share.",
            direction="A low value means that the word is often used in other senses.",
            null="The median of the unambiguous terms of its kind.",
            critique="A term near a word for people need not be about people: a white wall next to a man counts. "
            "Rare senses about people, and texts without pronouns, may look as if they were not about people. "
            "Occupations and the pronouns I, we and you do not count as words for people here. First names count "
            "only if they are among the terms. Read the contexts in which a term occurs.",
            citation="Our own",
            source="Extends Esiobu et al. 2023, section 3.3.1, which names white and pan as doubtful",
            details="A term is flagged as rarely about people if its whole 95% CI is below half the median of this "
            "percentage over the unambiguous terms of its kind. For terms that are not on evenhand's list of words "
            "with other senses, the threshold is a fifth of that median. Only terms in 30 or more documents count, "
            "and five such unambiguous terms are needed. CIs are computed as for term_share, with correlated hits. "
            "In simulations with three hits per document and shares of 2, 10 and 50%, 95% CIs covered the true "
            "value in 93-99% from 20 documents on, and in 90-98% with 5 documents.",
        ),
        unit="percent of hits",
    ),
)
