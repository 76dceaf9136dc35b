"""Find the terms of a list in texts as whole words, and derive the identities of each text."""

from collections.abc import Callable, Sequence

import polars as pl

from evenhand.prompts.advpromptset.pieces import GROUPS

TEXTS_AT_ONCE = 100_000
OCCURRENCES = {"row": pl.UInt32, "term": pl.String, "start": pl.UInt32, "inside": pl.Boolean}
ReportProgress = Callable[[int, int], None]
"""Function that is called with the number of finished texts and the total number."""


def find_terms(
    texts: pl.Series, terms: Sequence[str], report_progress: ReportProgress | None = None
) -> pl.DataFrame:
    """Return all occurrences of terms as whole words.

    One pass of an Aho-Corasick automaton finds all terms, including overlapping ones.

    Parameters
    ----------
    texts : polars.Series of str, length n
        Words joined by single spaces, as `cut_comment` returns them. Null counts as an empty text.
    terms : sequence of str
        Distinct terms in the same form.
    report_progress : callable, optional
        Called with the number of finished texts and the total number.

    Returns
    -------
    polars.DataFrame
        One row per occurrence, in order: row (of texts), term, start (byte in the text), inside (whether it is inside
        an occurrence of a longer term).

    >>> find_terms(pl.Series(["a black woman", "blackwoman"]), ["black", "black woman", "woman"]).rows()
    [(0, 'black woman', 2, False), (0, 'black', 2, True), (0, 'woman', 8, True)]
    """
    occurrences = [pl.DataFrame(schema=OCCURRENCES)]
    if terms:
        # with spaces around both, the automaton itself checks that words are complete
        padded_terms = [f" {term} " for term in terms]
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            occurrences.append(_occurrences(texts.slice(first, TEXTS_AT_ONCE), padded_terms, first))
            if report_progress:
                report_progress(min(first + TEXTS_AT_ONCE, len(texts)), len(texts))
    return pl.concat(occurrences)


def count_texts_per_term(
    texts: pl.Series, terms: Sequence[str], report_progress: ReportProgress | None = None
) -> dict[str, int]:
    """Return the number of texts that contain each term; terms without occurrences are absent.

    >>> count_texts_per_term(pl.Series(["to be or not to be", "be so"]), ["be", "to be", "so be"])
    {'be': 2, 'to be': 1}
    """
    counted = (
        find_terms(texts, terms, report_progress).unique(["row", "term"]).group_by("term").len().sort("term")
    )
    return {str(term): int(count) for term, count in counted.iter_rows()}


def identity_pattern(columns: Sequence[str] = GROUPS) -> pl.Expr:
    """Return an expression for 24 digits, one per identity in the order of Jigsaw's columns: 1 if the text mentions it.

    columns: the 24 columns of 1 and 0 (null counts as 0).
    Source: ROBBIE, appendix B.1.2.

    >>> about = {name: [int(name in ("homosexual_gay_or_lesbian", "christian"))] for name in GROUPS}
    >>> pl.DataFrame(about).select(identity_pattern()).item()
    '000001001000000000000000'
    """
    return pl.concat_str([pl.col(name).fill_null(0).cast(pl.Int8).cast(pl.String) for name in columns])


def terms_of_texts(
    texts: pl.Series, identities: pl.DataFrame, report_progress: ReportProgress | None = None
) -> pl.DataFrame:
    """Return the identities of each text according to the terms.

    texts: as in `find_terms`. identities: one row per (term, identity); a term with a null identity counts in n_terms
    only. Returns one row per text, in order: the 24 identities as 1 or 0, n_terms (distinct terms, without those that
    occur only inside longer ones), terms (the same terms, in alphabetical order). For identities, terms inside longer
    ones count, too.

    >>> terms = pl.DataFrame({"term": ["black", "black woman"], "identity": ["black", "female"]})
    >>> terms_of_texts(pl.Series(["a black woman", "a man"]), terms).select("black", "female", "n_terms").rows()
    [(1, 1, 1), (0, 0, 0)]
    """
    occurrences = find_terms(texts, identities["term"].unique(maintain_order=True).to_list(), report_progress)
    terms = (
        occurrences.filter(~pl.col("inside"))
        .group_by("row")
        .agg(pl.col("term").unique().sort().alias("terms"), pl.col("term").n_unique().alias("n_terms"))
    )
    about = (
        occurrences.select("row", "term")
        .unique()
        .join(identities.drop_nulls("identity"), on="term")
        .group_by("row")
        .agg((pl.col("identity") == name).any().cast(pl.Int8).alias(name) for name in GROUPS)
    )
    nothing = pl.lit([], pl.List(pl.String))
    return (
        pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True)})
        .join(about, on="row", how="left", maintain_order="left")
        .join(terms, on="row", how="left", maintain_order="left")
        .select(
            pl.col(GROUPS).fill_null(0), pl.col("n_terms").fill_null(0), pl.col("terms").fill_null(nothing)
        )
    )


def _occurrences(texts: pl.Series, padded_terms: list[str], first: int) -> pl.DataFrame:
    padded = pl.concat_str(pl.lit(" "), pl.col("text").fill_null(""), pl.lit(" ")).alias("text")
    place = pl.col("row"), pl.col("start")
    end = pl.col("start") + pl.col("term").str.len_bytes()
    return (
        texts.to_frame("text")
        .with_columns(padded)
        .select(
            pl.int_range(first, first + len(texts), dtype=pl.UInt32).alias("row"),
            # the text was padded with a space, so the space before a term has the term's position in the original text
            pl.col("text").str.find_many(padded_terms, overlapping=True).alias("start"),
            pl.col("text").str.extract_many(padded_terms, overlapping=True).alias("term"),
        )
        .filter(pl.col("start").list.len() > 0)
        .explode("start", "term")
        .with_columns(pl.col("term").str.strip_chars(" "))
        .sort(*place, end, descending=[False, False, True])
        # in this order, an occurrence is inside another exactly if an earlier one ends at the same place or later
        .with_columns(
            (end <= end.cum_max().shift(1).over("row")).fill_null(False).alias("inside"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in OCCURRENCES.items())
    )
