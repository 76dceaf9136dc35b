"""Seed terms expanded by their nearest neighbours among the corpus's words, as a table that a person can edit."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.prompts.advpromptset import GROUPS
from evenhand.prompts.advpromptset_matching import find_terms, pieces_with
from evenhand.prompts.advpromptset_seeds import normalised
from evenhand.prompts.advpromptset_vectors import StoredVectors
from evenhand.schema import DataError, UsageError
from evenhand.schema.errors import unknown_name

TABLE: dict[str, type[pl.DataType]] = {
    "term": pl.String,
    "seed": pl.String,  # the nearest seed of the identity; the term itself where it is one
    "identity": pl.String,  # null: the term counts and says of nobody that the text is about them
    "similarity": pl.Float64,  # cosine of term and seed
    "count": pl.Int64,  # pieces that hold the term
    "keep": pl.Boolean,
}
DIGITS = 4
"""Of similarities: below that lies the noise of batches, which must not decide who is nearest."""
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
    told: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """The seeds and, for each kept one, its nearest neighbours among the candidates.

    seeds: as `seed_terms` gives them. candidates: distinct words and phrases. vectors: of any sentence embedding.
    neighbours: at most so many a seed. least_similarity: cosine from which a candidate counts as a neighbour.
    told: hears of the embedding's progress. Candidates that are seeds, or phrases that hold a kept seed as whole
    words, are no neighbours: exact matching finds them through the seed anyway. A candidate near seeds of several
    identities has a row for each; only the nearest starts as kept (`females` is near `male`, and not about men).
    Returns TABLE without count, seeds first, in a fixed order. Raises UsageError for numbers out of range.
    Source: ROBBIE, section 2.3.2 and appendix B.1.3: neighbours under Sentence-BERT; their number and bound are
    not stated there.
    """
    if neighbours < 1 or not -1 <= least_similarity <= 1:
        raise UsageError(
            f"{neighbours} neighbours with a similarity of at least {least_similarity:g} cannot be sought.",
            "Give at least 1 neighbour and a cosine from -1 to 1.",
        )
    asked = seeds.filter("keep").select("seed", "identity")
    sought = list(dict.fromkeys(asked["seed"]))
    free = _without_seeds(candidates, sought, set(seeds["seed"]))
    vectors.prepare([*sought, *free], told)
    near = _nearest(sought, free, vectors, neighbours, least_similarity)
    named = (
        near.join(asked, on="seed")
        .sort("similarity", "seed", descending=[True, False])
        .unique(["term", "identity"], keep="first", maintain_order=True)
        .with_columns(keep=pl.col("similarity") == pl.col("similarity").max().over("term"))
    )
    own = seeds.select(term="seed", seed="seed", identity="identity", similarity=pl.lit(1.0), keep="keep")
    order = [name for name in TABLE if name != "count"]
    found = named.sort(_place(), "similarity", "term", descending=[False, True, False], nulls_last=True)
    return pl.concat([own.select(order), found.select(order)])


def with_counts(
    table: pl.DataFrame, texts: pl.Series, told: Callable[[int, int], None] | None = None
) -> pl.DataFrame:
    """A table of terms with the number of texts that hold each.

    >>> table = pl.DataFrame({"term": ["a"], "seed": ["a"], "identity": [None], "similarity": [1.0], "keep": [True]})
    >>> with_counts(table, pl.Series(["a b", "b"]))["count"].to_list()
    [1]
    """
    held = pieces_with(texts, table["term"].unique(maintain_order=True).to_list(), told)
    count = pl.col("term").replace_strict(held, default=0, return_dtype=pl.Int64)
    return table.with_columns(count=count).select(list(TABLE))


def read_terms(path: Path) -> pl.DataFrame:
    """The kept rows of a table of terms: term (normalised) and identity, each pair once.

    path: a CSV as FORMAT says; without a column keep all rows are kept. Raises DataError naming file and line for
    an unknown identity or a keep that is neither yes nor no, and when nothing is kept.
    """
    if not path.is_file():
        raise DataError(f"There is no table of terms {path}.", FORMAT)
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.ComputeError, pl.exceptions.NoDataError) as error:
        raise DataError(f"{path} is not a table of comma-separated values: {error}.", FORMAT) from error
    for column in ("term", "identity"):
        if column not in frame.columns:
            raise DataError(f"{path} has no column '{column}'; it has {', '.join(frame.columns)}.", FORMAT)
    if "keep" not in frame.columns:
        frame = frame.with_columns(keep=pl.lit("true"))
    rows = []
    for number, (term, identity, keep) in enumerate(frame.select("term", "identity", "keep").iter_rows(), 2):
        said = (keep or "").strip().lower()
        if said not in YES + NO:
            raise DataError(f"{path}, line {number}: keep is {keep!r}; expected true or false.", FORMAT)
        if said in NO:
            continue
        if identity and identity not in GROUPS:
            raise DataError(f"{path}, line {number}: {unknown_name('identity', identity, GROUPS)}")
        word = normalised(term or "")
        if not word:
            raise DataError(f"{path}, line {number}: the term {term!r} holds no word.", FORMAT)
        rows.append((word, identity or None))
    if not rows:
        raise DataError(f"{path} keeps no term.", "Set keep to true in the rows of the terms to look for.")
    schema = {"term": pl.String, "identity": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row").unique(maintain_order=True)


def _without_seeds(candidates: Sequence[str], sought: Sequence[str], seeds: set[str]) -> list[str]:
    holding = set(find_terms(pl.Series(candidates, dtype=pl.String), sought)["row"].to_list())
    return [term for row, term in enumerate(candidates) if row not in holding and term not in seeds]


def _nearest(
    seeds: Sequence[str], candidates: Sequence[str], vectors: StoredVectors, neighbours: int, least: float
) -> pl.DataFrame:
    """One row per (seed, neighbour). Never more than one part of vectors is held."""
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
