"""PMI and odds: against counting by a loop, statsmodels, and independence."""

import math

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.contingency_tables import Table2x2

from evenhand.measures.frequencies.together import (
    LEAST_EXPECTED,
    LEAST_TOGETHER,
    associations,
    places_together,
)
from evenhand.schema import UsageError
from tests.measures.frequencies.dealt import drawn_documents, pairs_of, terms_of, totals_of


@pytest.fixture(scope="module")
def counted():
    """Three terms on their own, and one that mostly stands with the first."""
    documents, folds = drawn_documents(3000, (0.1, 0.2, 0.05), seed=1)
    rng = np.random.default_rng(2)
    for document in documents:
        if rng.random() < (0.4 if 0 in document else 0.02):
            document.append(3)
    return (
        documents,
        totals_of(documents, folds, words=30),
        terms_of(documents, folds),
        pairs_of(documents, folds),
    )


def test_pmi_and_odds_are_those_of_a_loop(counted) -> None:
    documents, *tables = counted
    found = associations(*tables, window=1, levels=("documents",))
    assert found.height == 6
    for row in found.to_dicts():
        a, b = row["first"], row["second"]
        cells = [
            [sum((a in d) == x and (b in d) == y for d in documents) for y in (True, False)]
            for x in (True, False)
        ]
        n, both = len(documents), cells[0][0]
        pmi = math.log2(both * n / (sum(cells[0]) * (both + cells[1][0])))
        assert row["together"] == both and row["pmi"] == pytest.approx(pmi)
        assert row["normalised_pmi"] == pytest.approx(pmi / -math.log2(both / n))
        assert row["positive_pmi"] == pytest.approx(max(pmi, 0.0))
        theirs = Table2x2(np.array(cells))
        assert row["log_odds"] == pytest.approx(theirs.log_oddsratio)
        if row["expected"] < LEAST_EXPECTED and both < LEAST_TOGETHER:
            assert row["log_odds_low"] is None
            continue
        width = (row["log_odds_high"] - row["log_odds_low"]) / np.ptp(theirs.log_oddsratio_confint())
        assert 0.6 < width < 1.7  # of 20 folds, by t


def test_what_is_planted_is_found_and_what_is_independent_is_not(counted) -> None:
    found = associations(*counted[1:], window=1, levels=("documents",))
    planted = found.filter((pl.col("first") == 0) & (pl.col("second") == 3)).row(0, named=True)
    truth = math.log(0.4 / 0.6) - math.log(0.02 / 0.98)
    assert planted["log_odds_low"] < truth < planted["log_odds_high"] and planted["q"] < 1e-6
    others = found.filter(pl.col("second") < 3)
    assert (others["p"] > 0.001).all()


def test_pmi_of_windows_is_0_where_words_are_dealt_at_random() -> None:
    rng = np.random.default_rng(3)
    window, length = 4, 60
    words = [rng.choice(30, length, p=[0.03, 0.05] + [0.92 / 28] * 28) for _ in range(2000)]
    folds = rng.integers(0, 20, 2000).tolist()
    hits = [[int(w) for w in each if w < 2] for each in words]
    totals, terms = totals_of(hits, folds, words=length), terms_of(hits, folds)
    near = np.zeros(20, dtype=np.int64)
    for each, fold in zip(words, folds, strict=True):
        first, second = np.flatnonzero(each == 0), np.flatnonzero(each == 1)
        near[fold] += (np.abs(first[:, None] - second[None]) <= window).sum()
    pairs = pl.DataFrame(
        {
            "corpus": "a",
            "fold": range(20),
            "first": 0,
            "second": 1,
            "documents": 1,
            "sentences": 1,
            "windows": near,
        }
    )
    row = associations(totals, terms, pairs, window=window, levels=("windows",)).row(0, named=True)
    assert row["pmi_low"] < 0 < row["pmi_high"] and row["pmi_high"] - row["pmi_low"] < 0.2
    assert row["log_odds"] is None


@pytest.mark.parametrize(("length", "window"), [(60, 4), (3, 10), (1, 5), (11, 10)])
def test_places_are_those_of_a_loop(length: int, window: int) -> None:
    ways = sum(abs(i - j) <= window for i in range(length) for j in range(length) if i != j)
    assert places_together(np.array([7.0 * length]), np.array([7.0]), window)[0] == pytest.approx(7 * ways)


def test_rare_pairs_are_shown_and_not_tested() -> None:
    documents, folds = drawn_documents(1000, (0.02, 0.02, 0.5), seed=4)
    documents[0] = documents[1] = [0, 1]
    tables = totals_of(documents, folds, words=9), terms_of(documents, folds), pairs_of(documents, folds)
    found = associations(*tables, window=1, levels=("documents",))
    rare = found.filter((pl.col("first") == 0) & (pl.col("second") == 1)).row(0, named=True)
    assert rare["expected"] < LEAST_EXPECTED and rare["pmi"] > 0
    assert rare["pmi_low"] is None and rare["p"] is None and rare["q"] is None


def dealt_pairs(
    both: float, first: float, second: float, *, n: int = 20_000, rows: int = 800
) -> pl.DataFrame:
    """Associations of many pairs of which so many documents hold both, on average, and each alone."""
    rng = np.random.default_rng(5)
    together, *alone = (rng.poisson(mean / 20, (rows, 20)) for mean in (both, first - both, second - both))
    fold, pair = np.tile(np.arange(20), rows), np.repeat(np.arange(rows), 20)
    totals = pl.DataFrame(
        {"corpus": "a", "fold": range(20), "documents": n // 20, "sentences": n, "words": n}
    )
    terms = [
        pl.DataFrame({"fold": fold, "term": 2 * pair + side, "documents_alone": (own + together).ravel()})
        for side, own in enumerate(alone)
    ]
    pairs = pl.DataFrame(
        {"fold": fold, "first": 2 * pair, "second": 2 * pair + 1, "documents": together.ravel()}
    ).with_columns(corpus=pl.lit("a"), sentences=0, windows=0)
    named = pl.concat(terms).with_columns(corpus=pl.lit("a"), sentences_alone=0, hits_alone=0)
    return associations(totals, named, pairs, window=1, levels=("documents",))


@pytest.mark.parametrize("both", [6, 20, 200])
def test_limits_of_pmi_hold_its_truth(both: int) -> None:
    told = dealt_pairs(both, 400 + both, 800 + both).drop_nulls("pmi_low")
    truth = math.log2(both * 20_000 / (400 + both) / (800 + both))
    assert told.height > 0.9 * 800
    assert 0.93 <= told.select(pl.lit(truth).is_between("pmi_low", "pmi_high")).to_series().mean() <= 0.985


@pytest.mark.parametrize("expected", [3, 7])
def test_independent_pairs_do_not_look_tied(expected: int) -> None:
    told = dealt_pairs(expected, 400, 50 * expected).drop_nulls("pmi_low")
    assert told.height < 10 if expected < LEAST_EXPECTED else told.height > 0.9 * 800
    assert (told["pmi_low"] > 0).sum() <= 0.05 * 800


def test_pairs_that_hardly_ever_should_and_often_do_have_limits() -> None:
    rng = np.random.default_rng(7)
    folds = rng.integers(0, 20, 4000).tolist()
    documents = [[0, 1] if place < 40 else [] for place in range(4000)]  # 0.4 expected
    tables = totals_of(documents, folds, words=9), terms_of(documents, folds), pairs_of(documents, folds)
    row = associations(*tables, window=1, levels=("documents",)).row(0, named=True)
    assert row["expected"] == pytest.approx(0.4) and row["pmi_low"] > 3 and row["p"] is None
    in_three = [0 if place < 15 else 1 if place < 30 else 2 for place in range(4000)]
    heaped = (
        totals_of(documents, folds, words=9),
        terms_of(documents, in_three),
        pairs_of(documents, in_three),
    )
    assert associations(*heaped, window=1, levels=("documents",)).row(0, named=True)["pmi_low"] is None


def test_unknown_levels_are_refused(counted) -> None:
    with pytest.raises(UsageError, match="windows"):
        associations(*counted[1:], window=1, levels=("pages",))
    with pytest.raises(UsageError, match="1 word"):
        associations(*counted[1:], window=0)
