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
        if both < LEAST_TOGETHER:
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


@pytest.mark.parametrize("expected", [6, 20, 200])
def test_limits_of_pmi_hold_its_truth(expected: int) -> None:
    rng = np.random.default_rng(5)
    rows, n = 800, 20_000
    sums = {}
    for name, mean in (("both", expected), ("first", 400), ("second", 800)):
        sums[name] = rng.poisson(mean / 20, (rows, 20))
    fold, pair = np.tile(np.arange(20), rows), np.repeat(np.arange(rows), 20)
    totals = pl.DataFrame(
        {"corpus": "a", "fold": range(20), "documents": n // 20, "sentences": n, "words": n}
    )
    alone = [
        pl.DataFrame(
            {
                "corpus": "a",
                "fold": fold,
                "term": 2 * pair + side,
                "documents_alone": (sums[name] + sums["both"]).ravel(),
            }
        )
        for side, name in enumerate(("first", "second"))
    ]
    terms = pl.concat(alone).with_columns(sentences_alone=0, hits_alone=0)
    pairs = pl.DataFrame(
        {
            "corpus": "a",
            "fold": fold,
            "first": 2 * pair,
            "second": 2 * pair + 1,
            "documents": sums["both"].ravel(),
            "sentences": 0,
            "windows": 0,
        }
    )
    found = associations(totals, terms, pairs, window=1, levels=("documents",))
    truth = math.log2(expected * n / (400 + expected) / (800 + expected))
    covered = found.select(
        ((pl.col("pmi_low") <= truth) & (truth <= pl.col("pmi_high"))).drop_nulls()
    ).to_series()
    # of pairs that are rare only those that came often are told: 10 or more of 6 expected are above the truth
    assert expected == 6 or 0.93 <= covered.mean() <= 0.98
    assert covered.len() > 0.9 * rows or expected == 6


def test_unknown_levels_are_refused(counted) -> None:
    with pytest.raises(UsageError, match="windows"):
        associations(*counted[1:], window=1, levels=("pages",))
    with pytest.raises(UsageError, match="1 word"):
        associations(*counted[1:], window=0)
