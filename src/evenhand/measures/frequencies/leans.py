"""Measure whether a term occurs near "she" or "he" more often than the whole corpus would suggest."""

from collections.abc import Sequence

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
    two_sided_p,
    with_degrees,
)
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, UsageError, checked
from evenhand.stats import Codes, Floats, benjamini_hochberg

LEAST_EXPECTED = 10
"""Minimum expected number of pairs with each group, given the pairs with either; with fewer there is no interval."""
LEAST_PAIRS = 200
"""Minimum number of pairs with either group. Terms with fewer are not tested: small p are too common (see card)."""
LEAST_DOCUMENTS = 8
"""Minimum expected number of documents with pairs of the rarer group, given how unevenly pairs fall into folds.

Terms with fewer are not tested: that all of a handful of documents use "he" happens by chance.
"""
SHE, HE = "with she", "with he"
ALPHA = 0.05
LEANS = (
    typed(pl.String, "corpus")
    | typed(pl.UInt32, "term")
    | typed(pl.Int64, "with_first with_second")
    | typed(pl.Float64, "expected_first documents estimate low high p q")
    | typed(pl.String, "leaning")
)


@checked
def pronoun_leans(
    totals: pl.DataFrame,
    terms: pl.DataFrame,
    pairs: pl.DataFrame,
    *,
    first: Sequence[int],
    second: Sequence[int],
    of: Sequence[int],
) -> pl.DataFrame:
    """Test whether terms occur near the pronouns of one group (she) more often than the whole corpus suggests.

    Use it to describe a training corpus: which words for people occur near "she", and which near "he"? It does not show
    that a text is biased: a text about nuns uses "she".

    Parameters
    ----------
    totals, terms, pairs : polars.DataFrame
        Counts in the corpora, as in `associations`. Used are ``hits_alone`` of terms, and ``windows``: the number
        of times that two terms are at most a window of words apart.
    first, second : sequence of int
        Numbers of the terms of the two groups (she, her, ...; he, him, ...). Their counts are added up.
    of : sequence of int
        Numbers of the terms to test.

    Returns
    -------
    polars.DataFrame
        One row per corpus and term that occurs near either group.
        - ``with_first``, ``with_second``: number of pairs with each group. ``expected_first``: expected number with the
          first group if the term does not lean.
        - ``estimate``: log odds of the first group against the second among these pairs, minus the log odds among all
          pronouns of both groups (nats), with a 95% t interval over folds. Above 0: more often near the first group.
        - ``p``: of the hypothesis that the estimate is 0. ``q``: p adjusted across all terms of a corpus.
        - ``leaning``: "with she" (the first group) or "with he" (the second) if q <= 0.05, otherwise "".
        - ``documents``: effective number of documents that contain the pairs. It is smaller if the pairs are
          distributed unevenly over folds.

    Raises
    ------
    UsageError
        A group has no terms.
    DataError
        A column is missing, a corpus has no documents or a fold twice, or there are counts in a fold without
        documents.

    Notes
    -----
    0.5 is added to the pair counts. The degrees of freedom of Student's t are the effective number of folds that
    contain the pairs (Kish), minus 1.

    The interval is null if fewer than 10 pairs with either group are expected. p, q and leaning are null in two more
    cases: there are fewer than 200 pairs, or fewer than 8 documents with the rarer group are expected.

    Pairs are counted in windows of words, not in documents. Longer documents contain the rarer pronoun, and every term,
    more often. With documents, most terms would therefore seem to lean to that pronoun.

    References
    ----------
    - Bordia & Bowman 2019: a difference of log odds of gendered words near others.

    Examples
    --------
    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1, 2], "documents": 500, "words": 9000})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1, 2] * 3, "term": [0, 0, 0, 1, 1, 1, 2, 2, 2],
    ...     "hits_alone": [2000] * 3 + [4000] * 3 + [900] * 3})
    >>> both = pl.DataFrame({"corpus": "a", "fold": [0, 1, 2] * 2, "first": [0, 0, 0, 1, 1, 1], "second": 2,
    ...     "windows": [54, 55, 53, 27, 28, 27]})
    >>> pronoun_leans(totals, found, both, first=[0], second=[1], of=[2]).select(
    ...     "with_first", "expected_first", pl.col("estimate").round(2), "leaning").row(0)
    (162, 81.33333333333333, 1.37, 'with she')
    """
    terms = counted_by_fold(terms, "pronoun_leans", ["term", "hits_alone"])
    pairs = counted_by_fold(pairs, "pronoun_leans", ["first", "second", "windows"])
    if not len(first) or not len(second):
        raise UsageError(
            f"pronoun_leans: first and second need at least one term each, got {len(first)} and {len(second)}."
        )
    if any(abs(term) >= 2**63 for term in (*first, *second, *of)):
        raise UsageError(
            "pronoun_leans: term numbers must be less than 2**63.",
            "Give the numbers of terms in the table of terms, which start at 0.",
        )
    groups, wanted = (list(first), list(second)), np.unique(np.array(of, dtype=np.int64))
    parts = [
        _leans(corpus, of_corpus(terms, corpus), of_corpus(pairs, corpus), groups, wanted)
        for corpus in folded(totals, "pronoun_leans")
    ]
    return pl.concat(parts).fill_nan(None)


def _leans(
    corpus: Folded,
    terms: pl.DataFrame,
    pairs: pl.DataFrame,
    groups: tuple[list[int], list[int]],
    wanted: Codes,
) -> pl.DataFrame:
    own, near = [], []
    for group in groups:
        mine = terms.filter(pl.col("term").is_in(group))
        own.append(corpus.sums(mine, np.zeros(mine.height, dtype=np.int64), 1, "hits_alone"))
        near.append(_near_group(corpus, pairs, group, wanted))
    first, second = (part.sum(axis=1) for part in near)
    kept = (first + second) > 0
    wanted, near, first, second = wanted[kept], [part[kept] for part in near], first[kept], second[kept]
    found = jackknifed(log_odds_ratio, *near, *own)
    sizes = [float(part.sum()) for part in own]
    expected = (first + second) * sizes[0] / max(sum(sizes), 1.0)
    enough = np.minimum(expected, first + second - expected) >= LEAST_EXPECTED
    equal, documents = evenly_dealt(near[0] + near[1])
    rarer = min(sizes) / max(sum(sizes), 1.0)
    tested = enough & (first + second >= LEAST_PAIRS) & (documents * rarer >= LEAST_DOCUMENTS)
    p = np.where(tested, two_sided_p(found, equal - 1), np.nan)
    low, high = with_degrees(found, equal - 1)
    q = benjamini_hochberg(p)
    with np.errstate(invalid="ignore"):
        leaning = np.where(q <= ALPHA, np.where(found.estimate > 0, SHE, HE), "")
    table = {
        "corpus": [corpus.name] * len(wanted),
        "term": wanted,
        "with_first": first,
        "with_second": second,
        "expected_first": expected,
        "documents": documents,
        "estimate": found.estimate,
        "low": np.where(enough, low, np.nan),
        "high": np.where(enough, high, np.nan),
        "p": p,
        "q": q,
        "leaning": [
            str(word) if known else None for word, known in zip(leaning, np.isfinite(p), strict=True)
        ],
    }
    return pl.DataFrame(
        {name: pl.Series(name, table[name], strict=False).cast(kind) for name, kind in LEANS.items()}
    )


def log_odds_ratio(near_first: Floats, near_second: Floats, first: Floats, second: Floats) -> Floats:
    """Return the log odds of the first against the second group near a term, minus those in the whole corpus.

    >>> float(log_odds_ratio(np.array(39.5), np.array(19.5), np.array(100), np.array(200)).round(4))
    1.3863
    """
    return np.asarray(np.log((near_first + 0.5) / (near_second + 0.5)) - np.log(first / second))


def _near_group(corpus: Folded, pairs: pl.DataFrame, group: list[int], wanted: Codes) -> Floats:
    """Return the number of pairs of each wanted term with the terms of a group, shape (wanted, folds)."""
    sides = [
        pairs.filter(pl.col(mine).is_in(group) & pl.col(other).is_in(wanted.tolist())).select(
            pl.col(other).cast(pl.Int64).alias("term"), "fold", "windows"
        )
        for mine, other in (("first", "second"), ("second", "first"))
    ]
    both = pl.concat(sides)
    return corpus.sums(both, np.searchsorted(wanted, both["term"].to_numpy()), len(wanted), "windows")


CARDS = (
    MeasureInfo.of(
        Card(
            name="pronoun_lean",
            summary='Whether pronouns near a term are "she" (or "he") more often than in the whole corpus.',
            construct="The gender with which a corpus associates a group, a trait or an occupation.",
            harm="Representational harm, if a model learns such associations: nurses are women, engineers are men.",
            groups="Pronouns of women and of men at most a fixed number of words from a term. The terms are those "
            "of one corpus.",
            ideal="0",
            direction='Above 0: more often near "she". Below 0: more often near "he". Neither is worse by itself.',
            null='0: the ratio of "she" to "he" near the term is that of the whole corpus.',
            critique='The measure describes texts, not their writers. A term that means women leans to "she", as it '
            "should. A nearby pronoun need not refer to the same person. Other pronouns are not covered.",
            citation="Bordia & Bowman 2019, Identifying and Reducing Gender Bias in Word-Level Language Models",
            source='A difference of log odds, as Bordia & Bowman 2019, equation 1, compare words with "he" and "she"',
            details="The value is log(n_she + .5) - log(n_he + .5) for pairs of a term and a pronoun within the "
            "window, minus the same difference for all pronouns. The CI is a grouped jackknife over 20 folds "
            "(random parts) of the documents. It uses Student's t; the degrees of freedom are the effective number "
            "of folds with pairs (Kish) minus one. q is Benjamini-Hochberg over the terms of a corpus. Terms with "
            "fewer than 200 pairs are not tested, nor are terms with fewer than 8 expected documents with the rarer "
            "pronoun. These documents are an effective number of equal documents, estimated from the folds. Corpora "
            "without any lean were simulated 100 times each: 300 terms per corpus, pairs in 12 to 400 documents "
            '(geometric sizes, most documents of one gender), and "she" in 35% or 15%. Some term was named in 0-6% '
            "of corpora, and CIs covered the true value in 95-97%. Of terms in 12 and 20 documents, 0-1% were "
            'tested; in 40 documents 51%, in 60 90%, in 100 all (64% if "she" has 15%). There is no version for '
            "whole documents. Longer documents contain the rarer pronoun more often, so nearly every term would "
            "seem to lean to that pronoun.",
        ),
        unit="nats (log odds ratio)",
        ideal=0.0,
    ),
)
