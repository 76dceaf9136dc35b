"""Words and phrases of the corpus that might be further names of an identity."""

from collections.abc import Callable

import polars as pl

TEXTS_AT_ONCE = 100_000
_FUNCTION_WORDS = """
a about above after again against ago all almost also although always am among an and another any anybody anyone are
aren around as at away back be because been before being below between both but by can cannot could couldn d did didn
do does doesn doing don done down during each either else enough even ever every everyone few for from further get gets
got had hadn has hasn have haven having he her here hers herself him himself his how however i if in into is isn it its
itself just least less let ll m made make makes many may maybe me might mine more most much must my myself neither never
no nobody none nor not nothing now of off often on once one only onto or other others our ours ourselves out over own
perhaps quite rather re really s same shall she should shouldn since so some somebody someone something still such t
than that the their theirs them themselves then there these they this those though through thus to too toward u under
until up upon us ve very was wasn we were weren what whatever when where whether which while who whom whose why will
with within without won would wouldn y yes yet you your yours yourself yourselves
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""They are no candidates, alone or within a pair. Those with a gender (she, his) may still be seeds of one's own."""
CANDIDATES: dict[str, type[pl.DataType]] = {"term": pl.String, "count": pl.Int64}


def candidate_terms(
    texts: pl.Series,
    least_count: int = 20,
    phrases: bool = True,
    least_lift: float = 10.0,
    told: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Words, and pairs of words that stand together more than by chance, which occur often enough.

    texts: words joined by single blanks. least_count: occurrences, at least 1. phrases: whether pairs count as
    well. least_lift: how many times oftener than independent words a pair must stand together, n(ab) · N /
    (n(a) · n(b)), N being the number of words. told: hears of progress. Returns term and count (occurrences), the
    commonest first. Function words and terms without a letter from a to z or of one character are left out.
    Source: the lift is that of word pairs in Mikolov et al. 2013 (Distributed Representations), without its
    discount, which the least count makes needless. ROBBIE sought neighbours in Wikipedia's vocabulary instead.

    >>> text = pl.Series(["new york is big", "new york calls", "big talk", "york"])
    >>> candidate_terms(text, least_count=2, least_lift=1.5).rows()
    [('york', 3), ('big', 2), ('new', 2), ('new york', 2)]
    """
    counts, words = pl.DataFrame(schema=CANDIDATES), 0
    slices = [texts.slice(first, TEXTS_AT_ONCE) for first in range(0, len(texts), TEXTS_AT_ONCE)]
    rounds = len(slices) * (2 if phrases else 1)
    for done, part in enumerate(slices, 1):
        terms = _words(part)["term"]
        words += len(terms)
        counts = _added(counts, terms)
        if told:
            told(done, rounds)
    frequent = counts.filter(pl.col("count") >= least_count, _may_name_somebody())
    if phrases:
        pairs = pl.DataFrame(schema=CANDIDATES)
        for done, part in enumerate(slices, len(slices) + 1):
            pairs = _added(pairs, _pairs(part, frequent["term"]))
            if told:
                told(done, rounds)
        frequent = pl.concat(
            [frequent, _together(pairs.filter(pl.col("count") >= least_count), counts, words, least_lift)]
        )
    return frequent.sort("count", "term", descending=[True, False])


def _words(texts: pl.Series) -> pl.DataFrame:
    split = texts.to_frame("term").with_row_index("row").with_columns(pl.col("term").str.split(" "))
    return split.explode("term").filter(pl.col("term") != "")


def _pairs(texts: pl.Series, frequent: pl.Series) -> pl.Series:
    """Neighbours of which both are frequent: no pair of others can be frequent."""
    named = pl.col("term").is_in(frequent.implode())
    following = pl.when(pl.col("row") == pl.col("row").shift(-1)).then(pl.col("term").shift(-1))
    rows = _words(texts).with_columns(named=named)
    both = rows.with_columns(next=following, next_named=pl.col("named").shift(-1)).filter(
        pl.col("named"), pl.col("next_named"), pl.col("next").is_not_null()
    )
    return both.select(pl.concat_str("term", "next", separator=" "))["term"]


def _added(counts: pl.DataFrame, terms: pl.Series) -> pl.DataFrame:
    part = terms.to_frame("term").group_by("term").agg(pl.len().cast(pl.Int64).alias("count"))
    return pl.concat([counts, part]).group_by("term").agg(pl.col("count").sum())


def _may_name_somebody() -> pl.Expr:
    term = pl.col("term")
    return (
        (term.str.len_chars() > 1)
        & term.str.contains("[a-z]")
        & ~term.is_in(pl.Series(sorted(FUNCTION_WORDS)).implode())
    )


def _together(pairs: pl.DataFrame, counts: pl.DataFrame, words: int, least_lift: float) -> pl.DataFrame:
    first, second = (pl.col("term").str.split(" ").list.get(place) for place in (0, 1))
    of = counts.rename({"count": "count_of"})
    both = (
        pairs.with_columns(first=first, second=second)
        .join(of.rename({"term": "first", "count_of": "n_first"}), on="first")
        .join(of.rename({"term": "second", "count_of": "n_second"}), on="second")
    )
    lift = pl.col("count") * words / (pl.col("n_first") * pl.col("n_second"))
    return both.filter(lift >= least_lift).select("term", "count")
