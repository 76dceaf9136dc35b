"""Whether a descriptor stands beside her or beside him: the difference of its association with two pronoun groups."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from evenhand.measures.columns import require_columns, typed
from evenhand.measures.frequencies.together import LEVELS
from evenhand.measures.frequencies.folds import Folded, folded, jackknifed, of_corpus, two_sided_p
from evenhand.schema import UsageError, checked
from evenhand.stats import Floats, benjamini_hochberg

LEAST_TOGETHER = 20
"""Times beside either group, and as many expected beside each at even odds; below it no interval holds."""
SHE, HE = "with she", "with he"
ALPHA = 0.05
LEANS = (
    typed(pl.String, "corpus level")
    | typed(pl.UInt32, "term")
    | typed(pl.Int64, "with_first with_second")
    | typed(pl.Float64, "expected_first estimate low high p q")
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
    levels: tuple[str, ...] = tuple(LEVELS),
) -> pl.DataFrame:
    """How much more strongly each term goes with the pronouns of one group than with those of another.

    totals, terms, pairs: as `associations`. first, second: terms of the two groups (she, her, ...; he, him, ...). of:
    the terms to look at. levels: of LEVELS. Pairs with the pronouns of a group are added up, and so are
    these pronouns' own documents, sentences or hits; the share of the second sums in which the term stands is p.

    Returns LEANS, a row a corpus, level and term that stands with either: the pairs with each group, `estimate` =
    log(p1 / (1 - p1)) - log(p2 / (1 - p2)) in nats (of windows log p1 - log p2), positive where it goes with the first,
    with 95 % t limits over folds, p of 0 and q over all terms of a corpus and level; `leaning` is SHE or HE (the first,
    the second group) where q <= ALPHA, "" where it is larger, null where the pair counts allow no interval.
    0 is what a term has that stands with either group as often as the groups stand in the corpus, however often that
    is. It describes the corpus: that a text about nuns says "she" is no verdict on it. Raises UsageError for a group
    without terms. Source: difference of log odds; Bolukbasi et al. 2016 and Zhao et al. 2017 count so.

    >>> totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": 500, "sentences": 900, "words": 9000})
    >>> found = pl.DataFrame({"corpus": "a", "fold": [0, 1] * 3, "term": [0, 0, 1, 1, 2, 2], "hits_alone": 100,
    ...     "documents_alone": [200] * 4 + [60] * 2, "sentences_alone": 100})
    >>> both = pl.DataFrame({"corpus": "a", "fold": [0, 1] * 2, "first": [0, 0, 1, 1], "second": 2,
    ...     "documents": [40, 42, 20, 21], "sentences": 4, "windows": 3})
    >>> pronoun_leans(totals, found, both, first=[0], second=[1], of=[2], levels=("documents",))["leaning"].to_list()
    ['with she']
    """
    require_columns(
        totals, ["corpus", "fold", "documents", "sentences", "words"], "pronoun_leans", of_any_kind=True
    )
    if not len(first) or not len(second) or (unknown := [level for level in levels if level not in LEVELS]):
        raise UsageError(
            f"pronoun_leans got groups of {len(first)} and {len(second)} terms and the levels {', '.join(levels)}.",
            f"Each group has at least one term; levels are {', '.join(LEVELS)}.",
        )
    parts = [pl.DataFrame(schema=LEANS)]
    for corpus in folded(totals, "pronoun_leans"):
        alone, together = of_corpus(terms, corpus), of_corpus(pairs, corpus)
        for level in levels:
            parts.append(_level(corpus, alone, together, level, (list(first), list(second)), list(of)))
    return pl.concat(parts).fill_nan(None)


def _level(
    corpus: Folded,
    terms: pl.DataFrame,
    pairs: pl.DataFrame,
    level: str,
    groups: tuple[list[int], list[int]],
    of: list[int],
) -> pl.DataFrame:
    own = LEVELS[level][0]
    wanted = np.unique(np.array(of, dtype=np.int64))
    counts, sums = [], []
    for group in groups:
        mine = terms.filter(pl.col("term").is_in(group))
        sums.append(corpus.sums(mine, np.zeros(mine.height, dtype=np.int64), 1, own))
        counts.append(_with_group(corpus, pairs, level, group, wanted))
    first, second = (part.sum(axis=1) for part in counts)
    kept = (first + second) > 0
    wanted, counts, first, second = wanted[kept], [part[kept] for part in counts], first[kept], second[kept]
    link = np.log if level == "windows" else _log_odds

    def lean(one: Floats, other: Floats, of_one: Floats, of_other: Floats) -> Floats:
        return np.asarray(link((one + 0.5) / (of_one + 1)) - link((other + 0.5) / (of_other + 1)))

    found = jackknifed(lean, *counts, *sums)
    size = [float(part.sum()) for part in sums]
    expected = (first + second) * size[0] / max(sum(size), 1.0)
    enough = (np.minimum(expected, first + second - expected) >= LEAST_TOGETHER / 2) & (
        first + second >= LEAST_TOGETHER
    )
    p = np.where(enough, two_sided_p(found, len(corpus.folds)), np.nan)
    q = benjamini_hochberg(p)
    with np.errstate(invalid="ignore"):
        leaning = np.where(q <= ALPHA, np.where(found.estimate > 0, SHE, HE), "")
    table = {
        "corpus": [corpus.name] * len(wanted),
        "level": [level] * len(wanted),
        "term": wanted,
        "with_first": first,
        "with_second": second,
        "expected_first": expected,
        "estimate": found.estimate,
        "low": np.where(enough, found.low, np.nan),
        "high": np.where(enough, found.high, np.nan),
        "p": p,
        "q": q,
        "leaning": [
            str(word) if known else None for word, known in zip(leaning, np.isfinite(p), strict=True)
        ],
    }
    return pl.DataFrame({name: pl.Series(name, table[name]).cast(kind) for name, kind in LEANS.items()})


def _with_group(
    corpus: Folded, pairs: pl.DataFrame, level: str, group: list[int], wanted: np.ndarray
) -> Floats:
    """Pairs of each wanted term with the terms of a group, (wanted, folds)."""
    sides = [
        pairs.filter(pl.col(mine).is_in(group) & pl.col(other).is_in(wanted.tolist())).select(
            pl.col(other).cast(pl.Int64).alias("term"), "fold", level
        )
        for mine, other in (("first", "second"), ("second", "first"))
    ]
    both = pl.concat(sides)
    return corpus.sums(both, np.searchsorted(wanted, both["term"].to_numpy()), len(wanted), level)


def _log_odds(share: Floats) -> Floats:
    return np.asarray(np.log(share / (1 - share)))
