"""Counts of a corpus, or of a part of it: tables of integers that can be added in any order."""

from dataclasses import dataclass, field

import polars as pl

from evenhand.corpus.counting.options import CountingOptions

TOTALS = {  # one row per corpus and fold
    "corpus": pl.String,
    "fold": pl.UInt8,
    "documents": pl.Int64,
    "sentences": pl.Int64,
    "windows": pl.Int64,  # number of possible positions of a window, which is the number of words
    "words": pl.Int64,
    "characters": pl.Int64,
}
TERM_COUNTS = {  # one row per corpus, fold and term that was found
    "corpus": pl.String,
    "fold": pl.UInt8,
    "term": pl.UInt32,
    "documents": pl.Int64,  # documents with at least one hit
    "hits": pl.Int64,
    "sentences": pl.Int64,  # sentences with at least one hit
    "documents_exact": pl.Int64,  # with the spelling of the list, not with an inflected surface
    "hits_exact": pl.Int64,
    "documents_alone": pl.Int64,  # documents with a hit outside longer terms
    "hits_alone": pl.Int64,
    "sentences_alone": pl.Int64,  # sentences with a hit outside longer terms
    # with a person noun, pronoun or name within NEAR words, or if the hit itself names people
    "hits_near_person": pl.Int64,
    "documents_near_person": pl.Int64,
}
GROUP_COUNTS = {  # one row per corpus, fold and group that was found; group null: any term of the axis
    "corpus": pl.String,
    "fold": pl.UInt8,
    "kind": pl.String,
    "axis": pl.String,
    "group": pl.String,
    "documents": pl.Int64,
    "hits": pl.Int64,  # a place at which two of its terms have the same spelling counts once
    "sentences": pl.Int64,
}
# One row per corpus, fold and pair of terms first < second that occurred together. Only hits outside longer terms count
# (so "American" does not occur with each "African American"); TERM_COUNTS has their frequencies in columns *_alone.
# Two terms with the same spelling are not a pair, because one word was used, not two.
PAIR_COUNTS = {
    "corpus": pl.String,
    "fold": pl.UInt8,
    "first": pl.UInt32,
    "second": pl.UInt32,
    "documents": pl.Int64,
    "sentences": pl.Int64,
    "windows": pl.Int64,  # pairs of hits at most WINDOW words apart
}
# counts by ROBBIE's method (NLTK word tokens), if requested; the number of documents is in the totals
PUBLISHED_COUNTS = {
    "corpus": pl.String,
    "term": pl.UInt32,
    "documents": pl.Int64,  # as published
    "documents_here": pl.Int64,  # the same documents, with a hit by evenhand's method
    "only_published": pl.Int64,
    "only_here": pl.Int64,
}
PUBLISHED_GROUPS = {  # the same for documents with any term of a group
    "corpus": pl.String,
    "kind": pl.String,
    "axis": pl.String,
    "group": pl.String,
    "documents": pl.Int64,
    "documents_here": pl.Int64,
    "only_published": pl.Int64,
    "only_here": pl.Int64,
}
# a few hits of each term, those with the smallest keys, so that any division of the work gives the same
CONTEXTS = {
    "corpus": pl.String,
    "term": pl.UInt32,
    "key": pl.UInt64,
    "near_person": pl.Boolean,
    "before": pl.String,
    "hit": pl.String,
    "after": pl.String,
    "address": pl.String,
    "place": pl.Int64,
}
SKIPPED = {"corpus": pl.String, "reason": pl.String, "documents": pl.Int64}
SOURCES = {  # provenance: one row per piece that was read
    "corpus": pl.String,
    "address": pl.String,
    "kind": pl.String,
    "first": pl.Int64,
    "last": pl.Int64,
    "bytes": pl.Int64,
    "documents": pl.Int64,
    "sha256": pl.String,  # of the stored file if all of it was read; otherwise the storage's version
    "damage": pl.String,  # what ended reading before the end of the file; null if nothing did
    "lost": pl.Int64,  # stored bytes after the damage; half of the size for a truncated file
}
TABLES = {
    "totals": TOTALS,
    "terms": TERM_COUNTS,
    "groups": GROUP_COUNTS,
    "pairs": PAIR_COUNTS,
    "published": PUBLISHED_COUNTS,
    "published_groups": PUBLISHED_GROUPS,
    "contexts": CONTEXTS,
    "skipped": SKIPPED,
    "sources": SOURCES,
}
"""Columns of each table of `Counts`."""


@dataclass(frozen=True)
class Counts:
    """Counts of terms in some documents, as tables of integers.

    Counts of different documents can be added with `merged`. `write_counts` and `read_counts` store them.

    Attributes
    ----------
    table_hash : str
        Hash of the table of terms. Counts of different tables are never added.
    totals : polars.DataFrame
        Documents, sentences, words and characters, by corpus and fold.
    terms, groups, pairs : polars.DataFrame
        Counts of terms, of groups of terms, and of pairs of terms that occur together.
    published, published_groups : polars.DataFrame
        The same counts as the published program makes them, if requested.
    contexts : polars.DataFrame
        A sample of the places where each term occurs.
    skipped : polars.DataFrame
        Documents that were not counted, by reason.
    sources : polars.DataFrame
        The pieces of files that were read.
    options : CountingOptions
        Options of the count. Counts with different options are never added.

    Notes
    -----
    The columns of each table are in `evenhand.corpus.counting.counts.TABLES`.
    """

    table_hash: str
    totals: pl.DataFrame
    terms: pl.DataFrame
    groups: pl.DataFrame
    pairs: pl.DataFrame
    published: pl.DataFrame
    published_groups: pl.DataFrame
    contexts: pl.DataFrame
    skipped: pl.DataFrame
    sources: pl.DataFrame
    options: CountingOptions = field(default_factory=CountingOptions)


def empty_counts(table_hash: str, options: CountingOptions | None = None) -> Counts:
    """Return empty counts, to which the counts of documents can be added.

    Examples
    --------
    >>> empty_counts("a1").terms.height
    0
    """
    tables = {name: pl.DataFrame(schema=schema) for name, schema in TABLES.items()}
    return Counts(table_hash, **tables, options=options or CountingOptions())
