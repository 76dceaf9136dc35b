"""Compare two ways of counting documents with a term: by word tokens, and by boundaries in the text."""

import polars as pl

from evenhand.measures.columns import check_kinds, require_counts, require_texts
from evenhand.measures.info import ROBBIE, MeasureInfo
from evenhand.schema import Card, checked


@checked
def counting_differences(totals: pl.DataFrame, published: pl.DataFrame) -> pl.DataFrame:
    """Compare two ways of counting the documents that contain a term: that of the ROBBIE paper and that of evenhand.

    Use it to see how far counts depend on the method. The paper counts word tokens. evenhand searches the text between
    word boundaries, which also finds plurals and terms in hyphenated words.

    Parameters
    ----------
    totals : polars.DataFrame
        ``corpus`` and ``documents`` (their number); rows of one corpus are added up.
    published : polars.DataFrame
        One row per corpus and term, or per corpus, kind, axis and group. Numbers of documents: ``documents`` as
        the paper counts them, ``documents_here``, ``only_published`` and ``only_here`` (found in one way only).

    Returns
    -------
    polars.DataFrame
        The same rows, largest absolute difference first.
        - ``share_published``, ``share_here``: percentage of documents.
        - ``difference``: here minus published, percentage points.

    Raises
    ------
    DataError
        A column of `totals` is missing.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), section B.4 and table 24.

    Examples
    --------
    >>> totals = pl.DataFrame({"corpus": ["a"], "documents": [200]})
    >>> counted = pl.DataFrame({"corpus": ["a"], "term": [0], "documents": [10], "documents_here": [14],
    ...     "only_published": [1], "only_here": [5]})
    >>> counting_differences(totals, counted).select("share_published", "share_here", "difference").row(0)
    (5.0, 7.0, 2.0)
    """
    require_texts(totals, ["corpus"], "counting_differences")
    require_counts(totals, ["documents"], "counting_differences")
    counts = ["documents", "documents_here", "only_published", "only_here"]
    if not (published.is_empty() and {"corpus", *counts} <= set(published.columns)):
        require_texts(published, ["corpus"], "counting_differences")
        require_counts(published, counts, "counting_differences")
    # 100 times a count must fit into its type
    whole = totals.group_by("corpus").agg(of=pl.col("documents").cast(pl.Int64).sum())
    wide = published.with_columns(pl.col(name).cast(pl.Int64) for name in counts if name in published.columns)
    table = wide.join(whole, on="corpus", how="left", maintain_order="left").with_columns(
        share_published=100 * pl.col("documents") / pl.col("of"),
        share_here=100 * pl.col("documents_here") / pl.col("of"),
    )
    table = table.with_columns(difference=pl.col("share_here") - pl.col("share_published")).drop("of")
    check_kinds(table, ("term", "kind", "axis", "group"), "counting_differences")
    named = [name for name in ("corpus", "term", "kind", "axis", "group") if name in table.columns]
    return table.sort(pl.col("difference").abs(), *named, descending=[True, *[False] * len(named)])


CARDS = (
    MeasureInfo.of(
        Card(
            name="counting_difference",
            summary="A term's share of documents as evenhand counts it, minus its share as the ROBBIE paper counts "
            "it.",
            construct="How the way of counting affects a frequency.",
            harm="None by itself. The measure shows which published frequencies are too low or too high.",
            groups="The same documents, counted twice.",
            ideal="0",
            direction="Above 0: the paper's way of counting misses documents.",
            null="0: both ways of counting find the same documents.",
            critique="Neither way of counting knows what a word means. evenhand also finds plurals, and terms "
            "within hyphenated words, which are one token for the paper.",
            citation=ROBBIE,
            source="Esiobu et al. 2023, section B.4: lower case, NLTK word tokens, membership",
            details='For a term of several words, the paper only states that it "appears". Here, the tokens must '
            'follow each other in the published way: "Middle Eastern" is found, but "middle-eastern" is one other '
            "token.",
        ),
        unit="percentage points",
        ideal=0.0,
    ),
)
