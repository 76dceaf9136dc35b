"""In which share of documents a term stands, and how often among words; the same of groups, and their ratio."""

import numpy as np
import polars as pl

from evenhand.measures.columns import require_columns, typed
from evenhand.measures.frequencies.folds import clustered_shares, folded, jackknifed, of_corpus, rows_at
from evenhand.schema import UsageError, checked
from evenhand.stats import Floats

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
    """Share of documents and hits per million words of every term in every corpus, those never found included.

    totals: one row a corpus and fold, with documents and words. terms: one row a corpus, fold and term that was found,
    with documents, hits, sentences, and documents and hits in the list's spelling (`_exact`) and outside longer terms
    (`_alone`). n_terms: how many were looked for; terms are 0 ... n_terms-1. Returns TERM_FREQUENCIES: share in percent
    of documents with exact 95 % limits of as many independent documents (`effective`) as the folds' spread allows; hits
    per million words with jackknife limits, null where all hits lie in one fold.
    Raises DataError for tables that do not belong together. Source: ROBBIE (arXiv:2311.18140), section B.4.2.

    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": [50, 50], "words": [900, 1100]})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1], "term": [1, 1], "documents": [2, 3], "hits": [4, 6],
    ...     **dict.fromkeys(("sentences", "documents_exact", "hits_exact", "documents_alone", "hits_alone"), 1)})
    >>> term_frequencies(totals, found, n_terms=2).select("term", "documents", "share", "per_million").rows()
    [(0, 0, 0.0, 0.0), (1, 5, 5.0, 5000.0)]
    """
    require_columns(totals, ["corpus", "fold", "documents", "words"], "term_frequencies", of_any_kind=True)
    counted = [
        name for name in ("sentences", "documents_exact", "hits_exact", "documents_alone", "hits_alone")
    ]
    parts = []
    for corpus in folded(totals, "term_frequencies"):
        mine = of_corpus(terms, corpus)
        rows = mine["term"].to_numpy().astype(np.int64)
        if len(rows) and rows.max() >= n_terms:
            raise UsageError(
                f"term_frequencies found the term {rows.max()} among {n_terms} terms, numbered from 0.",
                "Give the number of terms of the table that was counted by.",
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
    """Hits (rows, folds) per million words (folds,) with limits, taken of the logarithm so that they stay positive."""
    found = jackknifed(lambda part, whole: np.log(part / whole), hits, words)
    return 1e6 * hits.sum(axis=1) / words.sum(), 1e6 * np.exp(found.low), 1e6 * np.exp(found.high)


@checked
def group_shares(totals: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Share of documents with any term of a group, as `term_frequencies` has it of a term.

    totals: as there. groups: one row a corpus, fold and group that was found, with kind, axis, group (null: any of the
    axis), documents, hits and sentences. Returns corpus, kind, axis, group, documents, share (percent), share_low,
    share_high, hits, per_million; groups that another corpus has and this one has not are 0.
    Source: ROBBIE (arXiv:2311.18140), section C.3.3 and table 24.

    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": [50, 50], "words": [900, 1100]})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1], "kind": "pronoun", "axis": "pronouns", "group": "she",
    ...     "documents": [20, 30], "hits": [40, 60], "sentences": [30, 40]})
    >>> group_shares(totals, found)["share"].to_list()
    [50.0]
    """
    require_columns(totals, ["corpus", "fold", "documents", "words"], "group_shares", of_any_kind=True)
    columns = ["kind", "axis", "group"]
    named = groups.with_columns(pl.col("group").fill_null(""))
    keys = named.select(columns).unique().sort(columns)
    parts = []
    for corpus in folded(totals, "group_shares"):
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
    """How many times as many documents hold one group as another, in each corpus: He:She.

    totals, groups: as `group_shares`. of, to: groups of this kind. Returns corpus, documents_of, documents_to, ratio,
    ratio_low, ratio_high (95 %, jackknife over folds of the logarithm; null where either stands in one fold
    alone). Source: ROBBIE (arXiv:2311.18140), table 24.

    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": [50, 50]})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1, 0, 1], "kind": "pronoun", "axis": "pronouns",
    ...     "group": ["she", "she", "he", "he"], "documents": [10, 15, 20, 30]})
    >>> share_ratios(totals, found, of="he", to="she")["ratio"].to_list()
    [2.0]
    """
    parts = []
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
