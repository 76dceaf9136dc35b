"""Leaning to she or he: against a loop, a planted leaning, and corpora in which nothing leans."""

import math

import numpy as np
import polars as pl
import pytest

from evenhand.measures.frequencies.leans import HE, LEAST_PAIRS, SHE, pronoun_leans
from evenhand.schema import UsageError

FOLDS = 20
OWN = {0: 6000, 1: 4000, 2: 20_000}  # she, her; he
TOTALS = pl.DataFrame({"corpus": "a", "fold": range(FOLDS), "documents": 500})


def counted(
    shares: list[float], pairs: int, *, each: int = 3, alike: float = 4, seed: int = 1
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Terms (from 3 on) of whose pairs with pronouns a share is with she or her; so many pairs a document.

    alike: how little documents differ in that share; far below 1 most have pronouns of one group alone.
    """
    rng = np.random.default_rng(seed)
    own = [("a", fold, term, n // FOLDS) for term, n in OWN.items() for fold in range(FOLDS)]
    rows = []
    for term, share in enumerate(shares, start=3):
        for fold in range(FOLDS):
            documents = rng.poisson(pairs / each / FOLDS)
            with_she = int(rng.binomial(each, rng.beta(alike * share, alike * (1 - share), documents)).sum())
            she = int(rng.binomial(with_she, 0.6))
            for pronoun, n in ((0, she), (1, with_she - she), (2, each * documents - with_she)):
                rows.append(("a", fold, pronoun, term, n))
    terms = pl.DataFrame(own, schema=["corpus", "fold", "term", "hits_alone"], orient="row")
    return terms, pl.DataFrame(rows, schema=["corpus", "fold", "first", "second", "windows"], orient="row")


def leans(terms: pl.DataFrame, pairs: pl.DataFrame, n: int) -> pl.DataFrame:
    return pronoun_leans(TOTALS, terms, pairs, first=[0, 1], second=[2], of=range(3, 3 + n))


def test_estimates_are_those_of_a_loop() -> None:
    terms, pairs = counted([0.5, 0.2], 600)
    for row in leans(terms, pairs, 2).to_dicts():
        mine = pairs.filter(pl.col("second") == row["term"])
        she = mine.filter(pl.col("first") < 2)["windows"].sum()
        he = mine.filter(pl.col("first") == 2)["windows"].sum()
        assert (row["with_first"], row["with_second"]) == (she, he)
        assert row["expected_first"] == pytest.approx((she + he) / 3)
        assert row["estimate"] == pytest.approx(math.log((she + 0.5) / (he + 0.5)) - math.log(0.5))


def test_what_leans_is_found_either_way() -> None:
    terms, pairs = counted([0.5, 0.2, 1 / 3], 900)
    found = leans(terms, pairs, 3)
    assert found["leaning"].to_list() == [SHE, HE, ""]
    truth = math.log(1.0) - math.log(0.5)
    assert found["low"][0] < truth < found["high"][0]


def test_the_order_of_a_pair_does_not_matter() -> None:
    terms, pairs = counted([0.5, 0.2], 600)
    turned = pairs.rename({"first": "second", "second": "first"}).select(pairs.columns)
    assert leans(terms, pairs, 2).equals(leans(terms, turned, 2))


def test_few_pairs_are_not_judged() -> None:
    terms, pairs = counted([0.9, 0.9], 60)
    found = leans(terms, pairs, 2)
    assert found["leaning"].null_count() == 2 and found["q"].null_count() == 2
    assert found["low"].null_count() == 0
    assert leans(*counted([0.9], 20), 1)["low"].null_count() == 1


def test_where_nothing_leans_hardly_a_corpus_has_a_term_that_is_said_to() -> None:
    named, covered = [], []
    for seed in range(12):
        found = leans(*counted([1 / 3] * 60, 300, seed=seed), 60)
        named.append(found.filter(pl.col("leaning") != "").height > 0)
        covered.append(found.select((pl.col("low") <= 0) & (pl.col("high") >= 0)).to_series().mean())
    assert sum(named) <= 3  # of 12 at 5 %: more come once in 500
    assert 0.93 <= np.mean(covered) <= 0.97


def test_pairs_of_a_few_documents_are_not_judged() -> None:
    """Of 12 documents with 20 pairs each half a percent say "he" alone, and then nothing seems to vary."""
    terms, pairs = counted([1 / 3] * 200, 240, each=20, alike=0.3)
    found = leans(terms, pairs, 200)
    few = found.filter(pl.col("with_first") + pl.col("with_second") >= LEAST_PAIRS)
    assert few.height > 100 and few["documents"].median() < 20
    assert few["q"].drop_nulls().len() < 0.1 * few.height and not (few["leaning"] != "").any()
    assert few.select((pl.col("low") <= 0) & (pl.col("high") >= 0)).to_series().mean() > 0.94


def test_a_group_without_terms_is_refused() -> None:
    terms, pairs = counted([0.5], 60)
    with pytest.raises(UsageError, match="0 and 1"):
        pronoun_leans(TOTALS, terms, pairs, first=[], second=[2], of=[3])
