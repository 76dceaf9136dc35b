"""Whether a descriptor stands beside her or beside him: pronouns near it, held against all of the corpus."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from evenhand.measures.columns import require_columns, typed
from evenhand.measures.frequencies.folds import (
    Folded,
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
"""Pairs beside each group, of those beside either, if the term leaned to none; with fewer no interval is told."""
LEAST_PAIRS = 200
"""Beside either; with fewer a term is not tested, because small p come too often (see the card)."""
LEAST_DOCUMENTS = 8
"""Documents with pairs beside the rarer group, by how unequally pairs fall into folds, if the term leaned to none; with
fewer a term is not tested: that all of a handful say "he" happens by chance."""
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
    """Whether the pronouns near each term are more often of one group than pronouns of the corpus are.

    totals, terms, pairs: as `associations`; pairs of hits in windows are taken. first, second: terms of the two groups
    (she, her, ...; he, him, ...). of: the terms to look at. Pairs with the pronouns of a group are added up.

    Returns LEANS, a row a corpus and term that stands near either: the pairs with each group, those expected with the
    first if the term leaned to none, `estimate` = log odds of the first against the second group among them less those
    among all pronouns of the two groups (nats; 0.5 added to pairs), positive where the term goes with the first, with
    95 % t limits over folds, p of 0 and q over all terms of a corpus; `leaning` is SHE or HE (the first, the second
    group) where q <= ALPHA, "" where it is larger; `documents`, from how many equal documents the pairs may come, by
    how unequally they fall into folds. t has as many degrees of freedom as folds over which they are dealt evenly, less
    one. Limits are null where fewer than LEAST_EXPECTED pairs beside each group are expected; p, q and leaning, too,
    where there are fewer than LEAST_PAIRS, or fewer than LEAST_DOCUMENTS beside each group are expected.

    Windows, not documents: the rarer pronoun stands in longer documents, in which every term is likelier, so that most
    terms would seem to lean to it. It describes the corpus: that a text about nuns says "she" is no verdict on it.
    Raises UsageError for a group without terms. Source: a difference of log odds as Bordia & Bowman 2019 take of
    gendered words near others.

    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1, 2], "documents": 500, "words": 9000})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1, 2] * 3, "term": [0, 0, 0, 1, 1, 1, 2, 2, 2],
    ...     "hits_alone": [2000] * 3 + [4000] * 3 + [900] * 3})
    >>> both = pl.DataFrame({"corpus": "a", "fold": [0, 1, 2] * 2, "first": [0, 0, 0, 1, 1, 1], "second": 2,
    ...     "windows": [54, 55, 53, 27, 28, 27]})
    >>> pronoun_leans(totals, found, both, first=[0], second=[1], of=[2]).select(
    ...     "with_first", "expected_first", pl.col("estimate").round(2), "leaning").row(0)
    (162, 81.33333333333333, 1.37, 'with she')
    """
    require_columns(totals, ["corpus", "fold", "documents"], "pronoun_leans", of_any_kind=True)
    if not len(first) or not len(second):
        raise UsageError(
            f"pronoun_leans got groups of {len(first)} and {len(second)} terms.", "Each has at least one."
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
    """Log odds of the first against the second near a term, less those everywhere.

    >>> float(log_odds_ratio(np.array(39.5), np.array(19.5), np.array(100), np.array(200)).round(4))
    1.3863
    """
    return np.asarray(np.log((near_first + 0.5) / (near_second + 0.5)) - np.log(first / second))


def _near_group(corpus: Folded, pairs: pl.DataFrame, group: list[int], wanted: Codes) -> Floats:
    """Pairs of each wanted term with the terms of a group, (wanted, folds)."""
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
            summary="Whether the pronouns near a term are more often she's, or he's, than the corpus's pronouns are.",
            construct="With which gender a corpus speaks of a group, a trait or an occupation.",
            harm="Representational, if a model learns who is what: nurses are women, engineers men.",
            groups="She- and he-pronouns at most a window of words from the term; terms of one corpus.",
            ideal="0",
            direction="Above 0: with she. Below 0: with he. Neither is worse by itself.",
            null="0: she:he near the term as everywhere in the corpus.",
            critique="Describes texts, not their writers: a term that means women leans, as it should. A pronoun that "
            "is near need not be of the same person. Nothing is said of other pronouns.",
            citation="Bordia & Bowman 2019, Identifying and Reducing Gender Bias in Word-Level Language Models",
            source="A difference of log odds, as Bordia & Bowman 2019, equation 1, hold words against he and she",
            details="log(n_she + .5) - log(n_he + .5) of pairs of hits in windows, less the same of all pronouns; "
            "grouped jackknife over 20 folds of documents, t with as many degrees of freedom as folds over which pairs "
            "are evenly dealt (Kish), less one; Benjamini-Hochberg over the terms of a corpus. Not tested: fewer than "
            "200 pairs, or fewer than 8 expected documents with the rarer pronoun, of as many equal ones as the folds "
            "tell. Simulated 100 times each without any leaning, 300 terms a corpus, pairs in 12 to 400 documents "
            "(sizes geometric, most documents of one gender), she 35 or 15 in 100: 0-6 % of corpora had any term "
            "named, intervals held 0 in 95-97 %; of terms in 12 and 20 documents 0-1 % were tested, in 40 51 %, in 60 "
            "90 %, in 100 all (with she at 15 in 100: 64 %). Of documents instead of windows it is "
            "not told: the rarer pronoun stands in longer documents, so that nearly every term seems to lean to it.",
        ),
        unit="nats (log odds ratio)",
        ideal=0.0,
    ),
)
