"""The table of terms that name an identity: seeds and their nearest neighbours among the words of the corpus.

`candidate_terms` counts the words and pairs of words that may be neighbours. `expand_terms` finds the neighbours of
each seed. `read_terms` reads the table after a person has edited it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.prompts.advpromptset.matching import ReportProgress, count_texts_per_term, find_terms
from evenhand.prompts.advpromptset.pieces import GROUPS
from evenhand.prompts.advpromptset.seeds import normalise_term
from evenhand.prompts.advpromptset.vectors import StoredVectors
from evenhand.schema import DataError, UsageError, is_file, missing_columns, missing_file, unknown_name

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
"""Words that are not candidates, alone or in a pair. Words with a gender (she, his) can still be your own seeds."""
CANDIDATES: dict[str, type[pl.DataType]] = {"term": pl.String, "count": pl.Int64}


def candidate_terms(
    texts: pl.Series,
    least_count: int = 20,
    phrases: bool = True,
    least_lift: float = 10.0,
    report_progress: ReportProgress | None = None,
) -> pl.DataFrame:
    """Return frequent words, and frequent pairs of words that occur together more often than by chance.

    Parameters
    ----------
    texts : polars.Series of str
        Words joined by single blanks.
    least_count : int, default 20
        Minimum number of occurrences, at least 1.
    phrases : bool, default True
        Whether pairs are included.
    least_lift : float, default 10.0
        Minimum lift of a pair, n(ab) · N / (n(a) · n(b)), where N is the number of words.
    report_progress : callable, optional
        Called with the number of finished rounds and the total number.

    Returns
    -------
    polars.DataFrame
        term and count (occurrences), the most frequent first. Function words, terms of one character, and
        terms without a letter from a to z are left out.

    Notes
    -----
    The lift is that of word pairs in Mikolov et al. 2013 (Distributed Representations). Its discount is not
    needed because of the minimum count. ROBBIE took neighbours from Wikipedia's vocabulary instead.

    Examples
    --------
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
        counts = _add_counts(counts, terms)
        if report_progress:
            report_progress(done, rounds)
    frequent = counts.filter(pl.col("count") >= least_count, _may_name_somebody())
    if phrases:
        pairs = pl.DataFrame(schema=CANDIDATES)
        for done, part in enumerate(slices, len(slices) + 1):
            pairs = _add_counts(pairs, _pairs(part, frequent["term"]))
            if report_progress:
                report_progress(done, rounds)
        frequent = pl.concat(
            [
                frequent,
                _select_collocations(pairs.filter(pl.col("count") >= least_count), counts, words, least_lift),
            ]
        )
    return frequent.sort("count", "term", descending=[True, False])


def _words(texts: pl.Series) -> pl.DataFrame:
    split = texts.to_frame("term").with_row_index("row").with_columns(pl.col("term").str.split(" "))
    return split.explode("term").filter(pl.col("term") != "")


def _pairs(texts: pl.Series, frequent: pl.Series) -> pl.Series:
    """Return adjacent words that are both frequent; a pair with an infrequent word cannot be frequent."""
    named = pl.col("term").is_in(frequent.implode())
    following = pl.when(pl.col("row") == pl.col("row").shift(-1)).then(pl.col("term").shift(-1))
    rows = _words(texts).with_columns(named=named)
    both = rows.with_columns(next=following, next_named=pl.col("named").shift(-1)).filter(
        pl.col("named"), pl.col("next_named"), pl.col("next").is_not_null()
    )
    return both.select(pl.concat_str("term", "next", separator=" "))["term"]


def _add_counts(counts: pl.DataFrame, terms: pl.Series) -> pl.DataFrame:
    part = terms.to_frame("term").group_by("term").agg(pl.len().cast(pl.Int64).alias("count"))
    return pl.concat([counts, part]).group_by("term").agg(pl.col("count").sum())


def _may_name_somebody() -> pl.Expr:
    term = pl.col("term")
    return (
        (term.str.len_chars() > 1)
        & term.str.contains("[a-z]")
        & ~term.is_in(pl.Series(sorted(FUNCTION_WORDS)).implode())
    )


def _select_collocations(
    pairs: pl.DataFrame, counts: pl.DataFrame, words: int, least_lift: float
) -> pl.DataFrame:
    first, second = (pl.col("term").str.split(" ").list.get(place) for place in (0, 1))
    of = counts.rename({"count": "count_of"})
    both = (
        pairs.with_columns(first=first, second=second)
        .join(of.rename({"term": "first", "count_of": "n_first"}), on="first")
        .join(of.rename({"term": "second", "count_of": "n_second"}), on="second")
    )
    lift = pl.col("count") * words / (pl.col("n_first") * pl.col("n_second"))
    return both.filter(lift >= least_lift).select("term", "count")


TABLE: dict[str, type[pl.DataType]] = {
    "term": pl.String,
    "seed": pl.String,  # the nearest seed of the identity; for a seed, the term itself
    "identity": pl.String,  # null: the term counts, but implies no identity
    "similarity": pl.Float64,  # cosine of term and seed
    "count": pl.Int64,  # number of pieces that contain the term
    "keep": pl.Boolean,
}
DIGITS = 4
"""Tolerance of similarities. Smaller differences are noise of batches and must not decide which is nearest."""
YES, NO = ("true", "yes", "1"), ("false", "no", "0", "")
FORMAT = (
    "Expected a CSV with the columns term, identity (one of Jigsaw's 24 or empty) and keep (true or false), as "
    "`evenhand data build advpromptset` writes it; other columns are for the reader."
)


def expand_terms(
    seeds: pl.DataFrame,
    candidates: Sequence[str],
    vectors: StoredVectors,
    neighbours: int = 10,
    least_similarity: float = 0.7,
    report_progress: ReportProgress | None = None,
) -> pl.DataFrame:
    """Return the seeds and, for each kept seed, its nearest neighbours among the candidates.

    Candidates that are seeds, or that contain a kept seed as whole words, are not neighbours, because exact matching
    finds them through the seed. A candidate near seeds of several identities has a row for each. Only the nearest is
    kept by default, because `females`, for example, is near `male`.

    Parameters
    ----------
    seeds : polars.DataFrame
        Result of `seed_terms`.
    candidates : sequence of str
        Distinct words and phrases.
    vectors : StoredVectors
        Vectors of any sentence embedding.
    neighbours : int
        Maximum number of neighbours per seed.
    least_similarity : float
        Minimum cosine similarity of a neighbour.
    report_progress : callable, optional
        Called with the number of vectors so far and the total number.

    Returns
    -------
    polars.DataFrame
        The columns TABLE without count, seeds first, in a fixed order.

    Raises
    ------
    UsageError
        A number is out of range.

    References
    ----------
    ROBBIE, section 2.3.2 and appendix B.1.3: neighbours under Sentence-BERT. It does not state their number or minimum
    similarity.
    """
    if neighbours < 1 or not -1 <= least_similarity <= 1:
        raise UsageError(
            f"Cannot search for {neighbours} neighbours with a similarity of at least {least_similarity:g}.",
            "Use at least 1 neighbour, and a cosine from -1 to 1.",
        )
    kept_seeds = seeds.filter("keep").select("seed", "identity")
    kept_words = list(dict.fromkeys(kept_seeds["seed"]))
    free = _without_seeds(candidates, kept_words, set(seeds["seed"]))
    vectors.prepare([*kept_words, *free], report_progress)
    near = _nearest(kept_words, free, vectors, neighbours, least_similarity)
    named = (
        near.join(kept_seeds, on="seed")
        .sort("similarity", "seed", descending=[True, False])
        .unique(["term", "identity"], keep="first", maintain_order=True)
        .with_columns(keep=pl.col("similarity") == pl.col("similarity").max().over("term"))
    )
    seed_rows = seeds.select(
        term="seed", seed="seed", identity="identity", similarity=pl.lit(1.0), keep="keep"
    )
    order = [name for name in TABLE if name != "count"]
    neighbour_rows = named.sort(
        _place(), "similarity", "term", descending=[False, True, False], nulls_last=True
    )
    return pl.concat([seed_rows.select(order), neighbour_rows.select(order)])


def with_counts(
    table: pl.DataFrame, texts: pl.Series, report_progress: ReportProgress | None = None
) -> pl.DataFrame:
    """Add the number of texts that contain each term to a table of terms.

    >>> table = pl.DataFrame({"term": ["a"], "seed": ["a"], "identity": [None], "similarity": [1.0], "keep": [True]})
    >>> with_counts(table, pl.Series(["a b", "b"]))["count"].to_list()
    [1]
    """
    held = count_texts_per_term(texts, table["term"].unique(maintain_order=True).to_list(), report_progress)
    count = pl.col("term").replace_strict(held, default=0, return_dtype=pl.Int64)
    return table.with_columns(count=count).select(list(TABLE))


def read_terms(path: Path) -> pl.DataFrame:
    """Read the table of terms: each pair of term (normalised) and identity once.

    `path` is a CSV file (see FORMAT). Rows with `keep` no are left out; without that column, all are kept. Raises a
    DataError with file and line for an unknown identity or an invalid keep, and if no row is kept.
    """
    if not is_file(path):
        raise missing_file(path, FORMAT, "Table of terms")
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.ComputeError, pl.exceptions.NoDataError) as error:
        raise DataError(f"{path} is not a valid CSV: {error}.", FORMAT) from error
    if lacking := missing_columns(path, ["term", "identity"], frame.columns, FORMAT):
        raise lacking
    if "keep" not in frame.columns:
        frame = frame.with_columns(keep=pl.lit("true"))
    rows = []
    for number, (term, identity, keep) in enumerate(frame.select("term", "identity", "keep").iter_rows(), 2):
        answer = (keep or "").strip().lower()
        if answer not in YES + NO:
            raise DataError(f"{path}, line {number}: keep must be true or false, got {keep!r}.", FORMAT)
        if answer in NO:
            continue
        if identity and identity not in GROUPS:
            raise DataError(f"{path}, line {number}: {unknown_name('identity', identity, GROUPS)}")
        word = normalise_term(term or "")
        if not word:
            raise DataError(f"{path}, line {number}: the term {term!r} contains no word.", FORMAT)
        rows.append((word, identity or None))
    if not rows:
        raise DataError(
            f"{path} has no term with keep = true.",
            "Set keep to true in the rows of the terms to search for.",
        )
    schema = {"term": pl.String, "identity": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row").unique(maintain_order=True)


def _without_seeds(candidates: Sequence[str], sought: Sequence[str], seeds: set[str]) -> list[str]:
    holding = set(find_terms(pl.Series(candidates, dtype=pl.String), sought)["row"].to_list())
    return [term for row, term in enumerate(candidates) if row not in holding and term not in seeds]


def _nearest(
    seeds: Sequence[str], candidates: Sequence[str], vectors: StoredVectors, neighbours: int, least: float
) -> pl.DataFrame:
    """Return one row per (seed, neighbour). At most one part of the vectors is in memory at a time."""
    towards = vectors.matrix(seeds)
    best = pl.DataFrame(schema={"term": pl.String, "seed": pl.String, "similarity": pl.Float64})
    names = np.array(seeds, dtype=object)
    for terms, rows in vectors.parts(candidates):
        cosines = np.round((rows @ towards.T).astype(np.float64), DIGITS)
        term, seed = np.nonzero(cosines >= least)
        part = {
            "term": np.array(terms, dtype=object)[term],
            "seed": names[seed],
            "similarity": cosines[term, seed],
        }
        best = (
            pl.concat([best, pl.DataFrame(part, schema=best.schema)])
            .sort("seed", "similarity", "term", descending=[False, True, False])
            .group_by("seed", maintain_order=True)
            .head(neighbours)
            .select(best.columns)
        )
    return best


def _place() -> pl.Expr:
    return pl.col("identity").replace_strict(list(GROUPS), range(len(GROUPS)), return_dtype=pl.Int64)
