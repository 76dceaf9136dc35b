"""Shares of hits near people: by hand, and that the flag is for words of other senses alone."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures.frequencies.senses import LEAST_COMPARED, sense_shares

FOLDS = 20


def counted(near: list[float], hits: int = 40, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Terms with so many hits a fold, and a share of them near people."""
    rng = np.random.default_rng(seed)
    rows = [
        ("a", fold, term, hits // 2, hits, int(rng.binomial(hits, share)))
        for term, share in enumerate(near)
        for fold in range(FOLDS)
    ]
    terms = pl.DataFrame(
        rows, schema=["corpus", "fold", "term", "documents", "hits", "hits_near_person"], orient="row"
    )
    return pl.DataFrame({"corpus": "a", "fold": range(FOLDS), "documents": 900}), terms


def catalogue(ambiguous: list[bool]) -> pl.DataFrame:
    return pl.DataFrame({"term": range(len(ambiguous)), "kind": "descriptor", "ambiguous": ambiguous})


def test_what_stands_elsewhere_is_flagged_and_what_means_people_is_not() -> None:
    totals, terms = counted([0.1, 0.7] + [0.6] * 6)
    table = sense_shares(totals, terms, catalogue([True, True] + [False] * 6))
    assert table["rarely_of_people"].to_list() == [True] + [False] * 7
    sums = terms.group_by("term").agg(pl.col("hits", "hits_near_person").sum()).sort("term")
    assert table["near_person"].to_list() == pytest.approx(
        (100 * sums["hits_near_person"] / sums["hits"]).to_list()
    )
    assert table["usual"].n_unique() == 1 and abs(table["usual"][0] - 60) < 3


def test_few_documents_flag_nothing() -> None:
    totals, terms = counted([0.0] + [0.6] * 6)
    few = terms.filter((pl.col("term") > 0) | (pl.col("fold") == 0)).with_columns(
        documents=pl.when(pl.col("term") == 0).then(9).otherwise("documents")
    )
    assert sense_shares(totals, few, catalogue([True] + [False] * 6))["rarely_of_people"][0] is None


def test_without_terms_to_compare_with_nothing_is_usual() -> None:
    totals, terms = counted([0.1] + [0.6] * (LEAST_COMPARED - 1))
    table = sense_shares(totals, terms, catalogue([True] + [False] * (LEAST_COMPARED - 1)))
    assert table["usual"].null_count() == table["rarely_of_people"].null_count() == table.height


def test_terms_of_which_all_mean_people_are_hardly_ever_flagged() -> None:
    totals, terms = counted([0.6] * 300, hits=4, seed=2)
    table = sense_shares(totals, terms, catalogue([True] * 290 + [False] * 10))
    assert not table["rarely_of_people"].any()


def test_hits_of_few_documents_that_are_all_elsewhere_count_as_few() -> None:
    totals, terms = counted([0.0] + [0.6] * 6)
    row = sense_shares(totals, terms.with_columns(documents=2), catalogue([True] + [False] * 6)).row(
        0, named=True
    )
    assert row["hits"] == 800 and row["high"] == pytest.approx(100 * (1 - 0.025 ** (1 / 40)))


def test_what_is_not_known_to_be_ambiguous_needs_a_clearer_sign() -> None:
    totals, terms = counted([0.2, 0.05, 0.2] + [0.6] * 6)
    table = sense_shares(totals, terms, catalogue([False, False, True] + [False] * 6))
    assert table["rarely_of_people"].to_list()[:3] == [False, True, True]
