"""Compute how many documents contain a term and how often it occurs per million words, for terms and groups."""

import numpy as np
import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.frequencies.folds import (
    clustered_shares,
    counted_by_fold,
    folded,
    jackknifed,
    of_corpus,
    rows_at,
)
from evenhand.measures.info import ROBBIE, MeasureInfo
from evenhand.schema import Card, UsageError, checked
from evenhand.stats import Floats

MOST_TERMS = 10_000_000
TERM_FREQUENCIES = (
    typed(pl.String, "corpus")
    | typed(pl.UInt32, "term")
    | typed(pl.Int64, "documents")
    | typed(pl.Float64, "share share_low share_high effective")
    | typed(pl.Int64, "hits")
    | typed(pl.Float64, "per_million per_million_low per_million_high")
    | typed(pl.Int64, "sentences documents_exact hits_exact documents_alone hits_alone")
)


@checked
def term_frequencies(totals: pl.DataFrame, terms: pl.DataFrame, *, n_terms: int) -> pl.DataFrame:
    """Return the share of documents and the hits per million words of every term in every corpus.

    Use it to describe how often a corpus mentions terms such as descriptors. For groups of terms, use `group_shares`.

    Parameters
    ----------
    totals : polars.DataFrame
        One row per corpus and fold (part of its documents, drawn at random), with the numbers of ``documents`` and
        ``words``.
    terms : polars.DataFrame
        One row per corpus, fold and term that was found.
        - ``documents``, ``hits`` (occurrences), ``sentences``.
        - ``documents_exact``, ``hits_exact``: in the list's spelling.
        - ``documents_alone``, ``hits_alone``: outside longer terms.
    n_terms : int
        Number of terms that were searched; terms are 0 ... n_terms-1.

    Returns
    -------
    polars.DataFrame
        One row per corpus and term, including terms that were never found, with the sums of the counts.
        - ``share``: percentage of documents, with an exact 95% CI for ``effective`` documents.
        - ``effective``: number of independent documents that would vary as much as the folds do.
        - ``per_million``: hits per million words, with a 95% jackknife interval over folds. The interval is null if all
          hits are in one fold.

    Raises
    ------
    DataError
        A column is missing, a corpus has no documents or a fold twice, or there are counts in a fold without
        documents.
    UsageError
        A term is not below `n_terms`.

    Notes
    -----
    Intervals need three folds.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), section B.4.2.

    Examples
    --------
    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": [50, 50], "words": [900, 1100]})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1], "term": [1, 1], "documents": [2, 3], "hits": [4, 6],
    ...     **dict.fromkeys(("sentences", "documents_exact", "hits_exact", "documents_alone", "hits_alone"), 1)})
    >>> term_frequencies(totals, found, n_terms=2).select("term", "documents", "share", "per_million").rows()
    [(0, 0, 0.0, 0.0), (1, 5, 5.0, 5000.0)]
    """
    if not 1 <= n_terms <= MOST_TERMS:
        raise UsageError(f"term_frequencies: n_terms must be from 1 to {MOST_TERMS:,}, got {n_terms}.")
    counted = ["sentences", "documents_exact", "hits_exact", "documents_alone", "hits_alone"]
    terms = counted_by_fold(terms, "term_frequencies", ["term", "documents", "hits", *counted])
    parts = []
    for corpus in folded(totals, "term_frequencies", "words"):
        mine = of_corpus(terms, corpus)
        rows = mine["term"].to_numpy().astype(np.int64)
        if len(rows) and rows.max() >= n_terms:
            raise UsageError(
                f"term_frequencies: the counts contain term number {rows.max()}, but n_terms={n_terms} allows 0 "
                f"to {n_terms - 1}.",
                "As n_terms, give the number of terms in the table that the corpus was counted with.",
            )
        sums = {name: corpus.sums(mine, rows, n_terms, name) for name in ("documents", "hits")}
        shares = clustered_shares(sums["documents"], corpus.total("documents"))
        rates = rates_per_million(sums["hits"], corpus.total("words"))
        parts.append(
            pl.DataFrame(
                {
                    "corpus": [corpus.name] * n_terms,
                    "term": np.arange(n_terms),
                    **{name: part.sum(axis=1) for name, part in sums.items()},
                    "share": 100 * shares.estimate,
                    "share_low": 100 * shares.low,
                    "share_high": 100 * shares.high,
                    "effective": shares.effective,
                    **dict(zip(("per_million", "per_million_low", "per_million_high"), rates, strict=True)),
                    **{name: corpus.sums(mine, rows, n_terms, name).sum(axis=1) for name in counted},
                }
            )
        )
    return (
        pl.concat(parts)
        .select(pl.col(name).cast(kind) for name, kind in TERM_FREQUENCIES.items())
        .fill_nan(None)
    )


def rates_per_million(hits: Floats, words: Floats) -> tuple[Floats, Floats, Floats]:
    """Return hits (rows, folds) per million words (folds,) with intervals, computed from logarithms so that they are
    positive.
    """
    found = jackknifed(lambda part, whole: np.log(part / whole), hits, words)
    return 1e6 * hits.sum(axis=1) / words.sum(), 1e6 * np.exp(found.low), 1e6 * np.exp(found.high)


@checked
def group_shares(totals: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the share of documents with any term of a group, and its hits per million words, in every corpus.

    Use it to compare how often a corpus mentions groups, such as the pronouns "she" and "he".

    Parameters
    ----------
    totals : polars.DataFrame
        One row per corpus and fold, as in `term_frequencies`.
    groups : polars.DataFrame
        One row per corpus, fold and group that was found.
        - ``kind`` (of the terms, such as "pronoun"), ``axis`` (characteristic), ``group`` (null: any group of the
          axis).
        - ``documents``, ``hits`` (occurrences of its terms), ``sentences``.

    Returns
    -------
    polars.DataFrame
        One row per corpus, kind, axis and group. A group that occurs only in another corpus is 0.
        - ``documents``, ``hits``: counts.
        - ``share``: percentage of documents. ``per_million``: hits per million words. Both have 95% CI as in
          `term_frequencies`.

    Raises
    ------
    DataError
        A column is missing, a corpus has no documents or a fold twice, or there are counts in a fold without
        documents.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), section C.3.3 and table 24.

    Examples
    --------
    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": [50, 50], "words": [900, 1100]})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1], "kind": "pronoun", "axis": "pronouns", "group": "she",
    ...     "documents": [20, 30], "hits": [40, 60], "sentences": [30, 40]})
    >>> group_shares(totals, found)["share"].to_list()
    [50.0]
    """
    columns = ["kind", "axis", "group"]
    named = counted_by_fold(
        groups, "group_shares", ["documents", "hits"], texts=["kind", "axis"], nullable=["group"]
    ).with_columns(pl.col("group").fill_null(""))
    keys = named.select(columns).unique().sort(columns)
    parts = []
    for corpus in folded(totals, "group_shares", "words"):
        mine = of_corpus(named, corpus)
        rows = rows_at(keys, mine, columns)
        sums = {name: corpus.sums(mine, rows, keys.height, name) for name in ("documents", "hits")}
        shares = clustered_shares(sums["documents"], corpus.total("documents"))
        rates = rates_per_million(sums["hits"], corpus.total("words"))
        parts.append(
            keys.select(pl.lit(corpus.name).alias("corpus"), *columns).with_columns(
                documents=pl.Series(sums["documents"].sum(axis=1)).cast(pl.Int64),
                share=pl.Series(100 * shares.estimate),
                share_low=pl.Series(100 * shares.low),
                share_high=pl.Series(100 * shares.high),
                hits=pl.Series(sums["hits"].sum(axis=1)).cast(pl.Int64),
                per_million=pl.Series(rates[0]),
                per_million_low=pl.Series(rates[1]),
                per_million_high=pl.Series(rates[2]),
            )
        )
    return pl.concat(parts).with_columns(pl.col("group").replace("", None)).fill_nan(None)


@checked
def share_ratios(
    totals: pl.DataFrame, groups: pl.DataFrame, *, of: str, to: str, kind: str = "pronoun"
) -> pl.DataFrame:
    """Return the number of documents with one group divided by those with another, by corpus (for example He:She).

    Use it to summarise how unequally a corpus mentions two groups.

    Parameters
    ----------
    totals, groups : polars.DataFrame
        Counts by corpus and fold, as in `group_shares`.
    of, to : str
        Group in the numerator and group in the denominator.
    kind : str, default "pronoun"
        Kind of the groups.

    Returns
    -------
    polars.DataFrame
        One row per corpus.
        - ``documents_of``, ``documents_to``: numbers of documents.
        - ``ratio``: above 1, more documents have `of`. Null if none has `to`.
        - ``ratio_low``, ``ratio_high``: 95% CI. Null with fewer than three folds, or if either group is in one fold
          only.

    Raises
    ------
    DataError
        A corpus has no documents or a fold twice, or there are counts in a fold without documents.

    Notes
    -----
    The CI is a jackknife of the logarithm of the ratio over folds.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), table 24.

    Examples
    --------
    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": [50, 50]})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1, 0, 1], "kind": "pronoun", "axis": "pronouns",
    ...     "group": ["she", "she", "he", "he"], "documents": [10, 15, 20, 30]})
    >>> share_ratios(totals, found, of="he", to="she")["ratio"].to_list()
    [2.0]
    """
    parts = []
    groups = counted_by_fold(groups, "share_ratios", ["documents"], texts=["kind"], nullable=["group"])
    for corpus in folded(totals, "share_ratios"):
        mine = of_corpus(groups, corpus).filter(pl.col("kind") == kind)
        sums = []
        for name in (of, to):
            part = mine.filter(pl.col("group") == name)
            sums.append(corpus.sums(part, np.zeros(part.height, dtype=np.int64), 1, "documents"))
        found = jackknifed(lambda upper, lower: np.log(upper / lower), *sums)
        first, second = (int(part.sum()) for part in sums)
        limits = (float(np.exp(limit[0])) for limit in (found.low, found.high))
        parts.append((corpus.name, first, second, first / second if second else None, *limits))
    columns = typed(pl.String, "corpus") | typed(pl.Int64, "documents_of documents_to")
    columns |= typed(pl.Float64, "ratio ratio_low ratio_high")
    return pl.DataFrame(parts, schema=columns, orient="row").fill_nan(None)


SEEN = "Which groups a corpus mentions, and how often."
UNSEEN = "Groups that are rarely mentioned may be modelled badly, as may groups that are mentioned in only one way."
WORDS = (
    "A word is not a person: walls can be white, and houses old. The measure does not show what is written about "
    "people. Hits (occurrences of a term) are found at word boundaries, ignoring case, and include plurals. Other "
    "ways of counting give other counts (see counting_difference)."
)
CARDS = (
    MeasureInfo.of(
        Card(
            name="term_share",
            summary="Percentage of a corpus's documents that contain a term.",
            construct=SEEN,
            harm=UNSEEN,
            groups="Terms of an axis, in each corpus. The sampling units are documents.",
            ideal="None: no share of texts is the right one for a group.",
            direction="Neither a high nor a low value is worse.",
            null="None. The measure is a description.",
            critique=WORDS
            + " Long documents contain more terms: compare corpora with documents of similar length, or use "
            "hits_per_million.",
            citation=ROBBIE,
            source="Esiobu et al. 2023, sections 3.3 and B.4, tables 7 and 20-22",
            details="The CI is Clopper-Pearson's for the number of independent documents that the spread between 20 "
            "folds (random parts of the corpus) implies (Korn & Graubard 1998). If a corpus was counted in full, "
            "the CI describes the source of the corpus. In simulations, 95% CIs covered the true value in 98-99% "
            "with up to 3 expected documents, in 98% with 10 and in 97% with 100-600. If a tenth of the texts occur "
            "ten times, coverage was 95-96% from 100 documents on, 93% with 30 and 77% with 10. With 10 documents, "
            "the result depends on whether a copied text contains the term: remove copies, or do not interpret the "
            "CIs of rare terms. Near copies are not detected. With a tenth of the documents in groups of ten near "
            "copies, coverage was 89-94%. With three tenths, it was 90-95% for groups of three and 76-86% for "
            "groups of ten.",
        ),
        unit="percent of documents",
    ),
    MeasureInfo.of(
        Card(
            name="hits_per_million",
            summary="How often a term occurs in a corpus, per million words.",
            construct=SEEN,
            harm=UNSEEN,
            groups="Terms of an axis, in each corpus.",
            ideal="None, as for term_share.",
            direction="Neither a high nor a low value is worse.",
            null="None. The measure is a description.",
            critique=WORDS
            + " A few documents that repeat a term can produce all hits: read term_share as well.",
            citation=ROBBIE,
            source="Extends Esiobu et al. 2023, section B.4, which counts documents only",
            details="The CI is a grouped jackknife of the logarithm over 20 folds (random parts of the corpus), "
            "with Student's t (19 degrees of freedom). There is no CI if one fold contains all hits. In simulations "
            "with 1, 3 and 10 hits per document (geometric), 95% CIs covered the true value in 95-98%, from 1 to "
            "2,000 expected documents. If hits are so unequal that single documents contain hundreds (Pareto, index "
            "1.5, at most 500), coverage was only 89-92%.",
        ),
        unit="hits per million words",
    ),
    MeasureInfo.of(
        Card(
            name="group_share",
            summary="Percentage of documents with any term of a group: she-, he- or they-pronouns, or similar "
            "descriptors.",
            construct=SEEN,
            harm=UNSEEN,
            groups="Groups of terms, in each corpus. The sampling units are documents.",
            ideal="None, as for term_share.",
            direction="Neither a high nor a low value is worse.",
            null="None. The measure is a description.",
            critique="A longer list of terms is found in more documents, so shares of lists of different lengths "
            'cannot be compared. "They" is usually plural. ' + WORDS,
            citation=ROBBIE,
            source="Esiobu et al. 2023, section C.3.3, table 24; lists of pronouns of Chowdhery et al. 2022 (PaLM)",
            details="As for term_share.",
        ),
        unit="percent of documents",
    ),
    MeasureInfo.of(
        Card(
            name="he_she_ratio",
            summary="Number of documents with he-pronouns per document with she-pronouns.",
            construct="Whether a corpus is more about men than about women.",
            harm="Men become the default person of a model.",
            groups="He- and she-pronouns in each corpus.",
            ideal="1",
            direction='Above 1: more documents with "he" than with "she".',
            null="1, if equally many documents mention men and women.",
            critique='Documents are counted, not people: a document with one "he" counts as much as a document with '
            "a hundred. If most documents contain both pronouns, the ratio is near 1, however often each pronoun "
            "occurs.",
            citation=ROBBIE,
            source="Esiobu et al. 2023, table 24",
            details="The CI is a grouped jackknife of the ratio's logarithm over 20 folds (random parts of the "
            "corpus). In simulations, 95% CIs covered the true value in 95-98% if at least 8 documents contain the "
            "rarer pronoun.",
        ),
        unit="ratio of documents",
        ideal=1.0,
    ),
)
