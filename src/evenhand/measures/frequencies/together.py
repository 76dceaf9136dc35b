"""Find terms that occur together more often than expected: PMI and odds ratios with intervals."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.frequencies.folds import (
    Folded,
    counted_by_fold,
    evenly_dealt,
    folded,
    jackknifed,
    of_corpus,
    rows_at,
    two_sided_p,
)
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, DataError, UsageError, checked
from evenhand.stats import Floats, benjamini_hochberg

LEVELS = {
    "documents": ("documents_alone", "documents"),
    "sentences": ("sentences_alone", "sentences"),
    "windows": ("hits_alone", "words"),
}
"""For each level, the column of terms that counts a term, and the column of totals."""
LEAST_EXPECTED = 5
"""Minimum expected number of joint occurrences under independence for a test.

The choice of tested pairs must not depend on how often they were found, because the table contains only found
pairs.
"""
LEAST_TOGETHER, LEAST_DOCUMENTS = 30, 15
"""Minimum numbers of joint occurrences, and of documents with them, for a CI if fewer are expected.

The number of documents follows from how unevenly the occurrences fall into folds. Chance does not produce this
many.
"""
CHUNK = 20_000
ASSOCIATIONS = (
    typed(pl.String, "corpus level")
    | typed(pl.UInt32, "first second")
    | typed(pl.Int64, "together first_alone second_alone")
    | typed(pl.Float64, "expected pmi pmi_low pmi_high positive_pmi normalised_pmi")
    | typed(pl.Float64, "log_odds log_odds_low log_odds_high p q")
)


@checked
def associations(
    totals: pl.DataFrame,
    terms: pl.DataFrame,
    pairs: pl.DataFrame,
    *,
    window: int,
    levels: Sequence[str] = tuple(LEVELS),
) -> pl.DataFrame:
    """Return how much more often two terms occur together than if they were independent.

    Use it to describe which words a corpus uses with descriptors. Rank the pairs instead of reading each p: documents
    differ in length and topic, which makes most pairs associated. For gender, use `pronoun_leans`.

    Parameters
    ----------
    totals : polars.DataFrame
        One row per corpus and fold (part of its documents, drawn at random), with the numbers of ``documents``,
        ``sentences`` and ``words``.
    terms : polars.DataFrame
        One row per corpus, fold and ``term`` (a number) that was found. Counts are outside longer terms:
        ``documents_alone``, ``sentences_alone`` and ``hits_alone`` (occurrences).
    pairs : polars.DataFrame
        One row per corpus, fold and pair of terms (``first``, ``second``) that was found together. Counts are also
        outside longer terms.
        - ``documents``, ``sentences``: those that contain both terms.
        - ``windows``: pairs of hits at most `window` words apart.
    window : int
        Maximum distance in words, as in the counts.
    levels : sequence of str
        Where terms occur together: "documents", "sentences", "windows". Default: all.

    Returns
    -------
    polars.DataFrame
        One row per corpus, level and pair.
        - ``together``: joint occurrences. ``expected``: their number under independence.
        - ``pmi``: pointwise mutual information, log2(together / expected), in bits, with 95% CI. Above 0: more often
          than expected. There are also its positive part, and PMI normalised to -1..1.
        - for documents and sentences: the log odds ratio (nats), with CI.
        - ``p``: of independence. ``q``: p adjusted across all tested pairs of a corpus and level.

    Raises
    ------
    DataError
        A column is missing, a corpus has no documents or a fold twice, or there are counts in a fold without
        documents.
    UsageError
        A level is unknown, or the window is below 1.

    Notes
    -----
    p is null if fewer than 5 joint occurrences are expected. The interval is then null too, unless the pair occurs
    together at least 30 times, in at least 15 documents (estimated from its folds). Such pairs are selected, so their
    PMI tends to be too large.

    References
    ----------
    - Church & Hanks 1990: PMI.
    - Bouma 2009: normalised PMI.

    Examples
    --------
    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": 50, "sentences": 90, "words": 900})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1] * 2, "term": [0, 0, 1, 1], "hits_alone": 20,
    ...     "documents_alone": 10, "sentences_alone": 12})
    >>> both = pl.DataFrame({"corpus": "a", "fold": [0, 1], "first": 0, "second": 1, "documents": [7, 9],
    ...     "sentences": 4, "windows": 3})
    >>> associations(totals, found, both, window=10, levels=("documents",)).select("together", "expected", "pmi").row(0)
    (16, 4.0, 2.0)
    """
    unknown = [level for level in levels if level not in LEVELS]
    if unknown or window < 1 or not levels:
        raise UsageError(
            f"associations: levels must contain at least one of {', '.join(LEVELS)}, and window must be at least "
            f"1 word, got levels={levels}, window={window}."
        )
    alone = [LEVELS[level][0] for level in levels]
    terms = counted_by_fold(terms, "associations", ["term", *alone])
    pairs = counted_by_fold(pairs, "associations", ["first", "second", *levels])
    parts = [
        _with_q(pl.concat(_level(corpus, of_corpus(terms, corpus), of_corpus(pairs, corpus), level, window)))
        for corpus in folded(totals, "associations", "sentences", "words")
        for level in levels
    ]
    return pl.concat(parts).fill_nan(None)


def places_together(words: Floats, documents: Floats, window: int) -> Floats:
    """Return the number of ordered pairs of positions at most `window` words apart, in documents of mean length.

    >>> places_together(np.array([6.0]), np.array([2.0]), 10).tolist()  # two documents of three words
    [12.0]
    """
    length = words / np.maximum(documents, 1)
    reach = np.minimum(window, np.maximum(length - 1, 0))
    return np.asarray(documents * (2 * reach * length - reach * (reach + 1)))


def expected_together(
    level: str, first: Floats, second: Floats, whole: Floats, documents: Floats, window: int
) -> Floats:
    """Return the expected number of joint occurrences of two terms if they were independent."""
    if level == "windows":
        return np.asarray(first * second / np.square(whole) * places_together(whole, documents, window))
    return np.asarray(first * second / whole)


def _level(
    corpus: Folded, terms: pl.DataFrame, pairs: pl.DataFrame, level: str, window: int
) -> Iterator[pl.DataFrame]:
    column, total = LEVELS[level]
    found = terms["term"].unique().sort().to_numpy()
    alone = corpus.sums(terms, np.searchsorted(found, terms["term"].to_numpy()), len(found), column)
    whole, documents = corpus.total(total), corpus.total("documents")
    held = pairs.filter(pl.col(level) > 0).sort("first", "second")
    for name in ("first", "second"):
        strange = held.filter(~pl.col(name).is_in(found.tolist()))
        if strange.height:
            raise DataError(
                f"associations: the table pairs contains the term {strange[name][0]} of the corpus {corpus.name} in "
                f"the column {name}, but the table terms has no count of this term.",
                "Give terms and pairs from the same count.",
            )
    keys = held.select("first", "second").unique(maintain_order=True)
    rows = rows_at(keys, held, ["first", "second"])
    yield pl.DataFrame(schema=ASSOCIATIONS)
    for start in range(0, keys.height, CHUNK):
        part = keys.slice(start, CHUNK)
        begin, end = np.searchsorted(rows, [start, start + part.height])
        together = corpus.sums(held[begin:end], rows[begin:end] - start, part.height, level)
        sides = [alone[np.searchsorted(found, part[name].to_numpy())] for name in ("first", "second")]
        yield _measure_pairs(corpus.name, level, part, together, sides, whole, documents, window)


def _measure_pairs(
    name: str,
    level: str,
    keys: pl.DataFrame,
    together: Floats,
    sides: list[Floats],
    whole: Floats,
    documents: Floats,
    window: int,
) -> pl.DataFrame:
    def pmi(n: Floats, first: Floats, second: Floats, of: Floats, texts: Floats) -> Floats:
        return np.log2(n / expected_together(level, first, second, of, texts, window))

    sums = (together, *sides, whole, documents)
    n, first, second = (part.sum(axis=1) for part in (together, *sides))
    expected = expected_together(level, first, second, whole.sum(), documents.sum(), window)
    places = places_together(whole.sum(), documents.sum(), window) if level == "windows" else whole.sum()
    often = (n >= LEAST_TOGETHER) & (evenly_dealt(together)[1] >= LEAST_DOCUMENTS)
    enough = (expected >= LEAST_EXPECTED) | often
    information = jackknifed(pmi, *sums)
    columns = {"pmi": information.estimate, "pmi_low": information.low, "pmi_high": information.high}
    if level != "windows":
        odds = jackknifed(_log_odds, *sums[:4])
        columns |= {"log_odds": odds.estimate, "log_odds_low": odds.low, "log_odds_high": odds.high}
    for column in ("pmi_low", "pmi_high", "log_odds_low", "log_odds_high"):
        if column in columns:
            columns[column] = np.where(enough, columns[column], np.nan)
    columns["p"] = np.where(expected >= LEAST_EXPECTED, two_sided_p(information, len(whole) - 1), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns["normalised_pmi"] = information.estimate / -np.log2(n / places)
    columns |= {"positive_pmi": np.maximum(information.estimate, 0.0), "expected": expected}
    counts = {"together": n, "first_alone": first, "second_alone": second}
    table = keys.with_columns(
        pl.lit(name).alias("corpus"),
        pl.lit(level).alias("level"),
        *(pl.Series(key, values) for key, values in (columns | counts).items()),
    )
    absent = [pl.lit(None).alias(key) for key in ASSOCIATIONS if key not in table.columns]
    return table.with_columns(absent).select(pl.col(key).cast(kind) for key, kind in ASSOCIATIONS.items())


def _log_odds(n: Floats, first: Floats, second: Floats, whole: Floats) -> Floats:
    neither = whole - first - second + n
    return np.asarray(np.log(n * neither / ((first - n) * (second - n))))


def _with_q(table: pl.DataFrame) -> pl.DataFrame:
    q = benjamini_hochberg(table["p"].fill_null(float("nan")).to_numpy())
    return table.with_columns(q=pl.Series(q, dtype=pl.Float64).fill_nan(None))


ASSOCIATED = "Which groups and traits a corpus mentions together."
LEARNED = "Representational harm: models learn to associate what texts mention together."
TOGETHER = "Pairs of terms in the same document, the same sentence, or the same window of words of a corpus."
APART = (
    "Most pairs are associated, because texts about a topic name both terms, and long documents name everything. "
    "Rank pairs; do not count the pairs below a threshold of q. Rare pairs have the largest PMI by chance: look at "
    "the lower bound of the CI. Fixed phrases have the highest values."
)
HELD = (
    "Hits (occurrences) within longer terms are left out. The CI is a grouped jackknife over 20 folds (random parts "
    "of the corpus), with Student's t (19 degrees of freedom). CIs are shown for pairs with 5 or more hits expected "
    "under independence, regardless of the observed number. In simulations, these 95% CIs covered the true value in "
    "94-98% (PMI from 2 bits below independence to 3 above). For independent pairs, they were entirely above 0 in "
    "3-4% (5 to 30 expected). If fewer hits are expected, CIs are shown for pairs with 30 or more joint occurrences "
    "in 15 or more documents. None of 15,200 independent pairs (1 to 3 expected) reached this. If the true number "
    "is 20, the CIs of the few pairs that reach 30 covered the true value in 64% (94-95% if the true number is 30 "
    "or 40). Pairs with fewer than 5 expected hits are not tested."
)
CHURCH = "Church & Hanks 1990, Word association norms, mutual information, and lexicography"


def _card(name: str, summary: str, *, citation: str, source: str, details: str) -> Card:
    """Return the card of a measure of joint occurrences, with the texts that all of them share."""
    return Card(
        name=name,
        summary=summary,
        construct=ASSOCIATED,
        harm=LEARNED,
        groups=TOGETHER,
        ideal="0",
        direction="Above 0: together more often than two independent terms.",
        null="0: the two terms are independent.",
        critique=APART,
        citation=citation,
        source=source,
        details=details,
    )


CARDS = (
    MeasureInfo.of(
        _card(
            "pmi",
            "Pointwise mutual information (PMI): how much more often than expected two terms co-occur, in bits.",
            citation=CHURCH,
            source="Church & Hanks 1990, equation 1",
            details="PMI is log2(together / expected). For windows, the expected number is n_x n_y / words^2, where "
            "n_x and n_y are the hits of the terms, times a number of pairs of places. These are the ordered pairs "
            "of places at most a window apart, in documents of the mean length. " + HELD,
        ),
        unit="bits",
        ideal=0.0,
    ),
    MeasureInfo.of(
        _card(
            "normalised_pmi",
            "PMI divided by its maximum: 1 if two terms occur only together, 0 if they are independent.",
            citation="Bouma 2009, Normalized (Pointwise) Mutual Information in Collocation Extraction",
            source="Bouma 2009, equation 7",
            details="The formula is PMI / -log2(share together). The table also has the positive PMI, which is PMI "
            "with negative values set to 0.",
        ),
        unit="-1 to 1",
        ideal=0.0,
    ),
    MeasureInfo.of(
        _card(
            "together_odds",
            "Log odds ratio of two terms occurring in the same documents, or in the same sentences.",
            citation=CHURCH,
            source="The cross-product ratio of the fourfold table of documents (or sentences)",
            details=HELD,
        ),
        unit="nats (log odds ratio)",
        ideal=0.0,
    ),
)
