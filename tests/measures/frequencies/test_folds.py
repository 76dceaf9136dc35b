"""Intervals by folds: against exact ones, a loop, and how often they hold the truth, also of rare terms and copies."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from evenhand.measures.frequencies.folds import clustered_shares, folded, jackknifed, of_corpus, two_sided_p
from evenhand.schema import DataError

FOLDS = 20


def dealt(rng: np.random.Generator, counts: np.ndarray, sizes=lambda n, rng: np.ones(n)) -> np.ndarray:
    """So many clusters a row, dealt into folds, each as large as `sizes` says."""
    rows = np.repeat(np.arange(len(counts)), counts)
    result = np.zeros((len(counts), FOLDS))
    np.add.at(result, (rows, rng.integers(0, FOLDS, len(rows))), sizes(len(rows), rng))
    return result


@pytest.mark.parametrize("hits", [0, 1, 5, 20, 40])
def test_of_folds_that_do_not_differ_limits_are_the_exact_ones(hits: int) -> None:
    totals = np.full(FOLDS, 50.0)
    successes = np.full((1, FOLDS), hits / FOLDS)
    found = clustered_shares(successes, totals)
    exact = binomtest(hits, 1000).proportion_ci(method="exact")
    assert (found.low[0], found.high[0]) == pytest.approx((exact.low, exact.high))
    assert found.effective[0] == 1000


def test_all_in_one_fold_counts_as_few() -> None:
    successes = np.zeros((1, FOLDS))
    successes[0, 3] = 10.0  # ten copies of one text
    found = clustered_shares(successes, np.full(FOLDS, 50.0))
    exact = binomtest(10, 1000).proportion_ci(method="exact")
    assert found.high[0] > 1.5 * exact.high and found.low[0] < 0.5 * exact.low


@pytest.mark.parametrize(
    ("expected", "least", "most"),
    [
        (0.2, 0.95, 1.0),
        (1, 0.95, 1.0),
        (5, 0.95, 1.0),
        (10, 0.95, 0.995),
        (100, 0.94, 0.98),
        (600, 0.94, 0.98),
    ],
)
def test_limits_of_a_share_hold_its_truth(expected: float, least: float, most: float) -> None:
    rng = np.random.default_rng(7)
    totals = rng.multinomial(2000, np.full(FOLDS, 1 / FOLDS), size=3000)
    found = clustered_shares(rng.binomial(totals, expected / 2000), totals)
    covered = ((found.low <= expected / 2000) & (expected / 2000 <= found.high)).mean()
    assert least <= covered <= most


def test_limits_of_a_share_hold_its_truth_where_copies_are_common() -> None:
    rng = np.random.default_rng(8)

    def copied(n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < 0.1, 10.0, 1.0)

    held = dealt(rng, rng.binomial(2000, 0.1, 1500), copied)
    others = dealt(rng, np.full(1500, 1800), copied)
    found = clustered_shares(held, held + others)
    covered = ((found.low <= 0.1) & (found.high >= 0.1)).mean()
    exact = [
        binomtest(int(k), int(n)).proportion_ci()
        for k, n in zip(held.sum(1)[:120], (held + others).sum(1)[:120], strict=True)
    ]
    naive = np.mean([ci.low <= 0.1 <= ci.high for ci in exact])
    assert 0.93 <= covered <= 0.98 and naive < 0.8


@pytest.mark.parametrize("expected", [3, 5, 20, 200])
def test_limits_of_a_ratio_hold_its_truth_though_documents_repeat_the_word(expected: float) -> None:
    rng = np.random.default_rng(9)
    words = dealt(rng, np.full(1500, 3000), lambda n, rng: rng.lognormal(5.5, 1, n))
    hits = dealt(rng, rng.poisson(expected, 1500), lambda n, rng: rng.geometric(1 / 3, n))
    found = jackknifed(lambda part, whole: np.log(part / whole), hits, words)
    truth = np.log(expected * 3 / (3000 * np.exp(6)))
    known = np.isfinite(found.low)
    covered = ((found.low <= truth) & (truth <= found.high))[known].mean()
    assert 0.93 <= covered <= 0.985 and known.mean() > 0.7


def test_the_jackknife_is_a_loop_over_folds() -> None:
    rng = np.random.default_rng(1)
    part, whole = rng.integers(1, 50, (3, FOLDS)), rng.integers(500, 600, FOLDS)
    found = jackknifed(lambda a, b: np.log(a / b), part, whole)
    for row in range(3):
        without = [np.log((part[row].sum() - part[row, f]) / (whole.sum() - whole[f])) for f in range(FOLDS)]
        error = np.sqrt((FOLDS - 1) / FOLDS * np.square(without - np.mean(without)).sum())
        assert found.standard_error[row] == pytest.approx(error)
        assert found.high[row] - found.estimate[row] == pytest.approx(2.093024 * error)


def test_what_lies_in_one_fold_has_no_limits_of_a_ratio() -> None:
    part = np.zeros((1, FOLDS))
    part[0, 0] = 7
    found = jackknifed(lambda a, b: np.log(a / b), part, np.full(FOLDS, 100.0))
    assert np.isnan(found.low[0]) and np.isfinite(found.estimate[0])
    assert np.isnan(two_sided_p(found, FOLDS)[0])


def test_what_no_fold_changes_is_not_certain() -> None:
    found = jackknifed(lambda a, b: np.log(a / b), np.array([[1.0, 1.0]]), np.array([[1.0, 1.0]]))
    assert found.estimate[0] == 0 and np.isnan(found.low[0])


@pytest.mark.parametrize("folds", [1, 2])
def test_few_folds_say_nothing_of_how_far_numbers_would_move(folds: int) -> None:
    part = np.arange(3.0, 3.0 + folds)[None]
    shares = clustered_shares(part, np.full(folds, 10.0))
    assert shares.estimate[0] == part.mean() / 10 and np.isnan([shares.low, shares.high]).all()
    ratios = jackknifed(lambda a: a, part)
    assert ratios.estimate[0] == part.sum() and np.isnan(ratios.low[0])


def test_tables_that_do_not_belong_together_are_refused() -> None:
    totals = pl.DataFrame({"corpus": "a", "fold": [0, 1], "documents": [5, 0]})
    (corpus,) = folded(totals, "m")
    assert corpus.folds.tolist() == [0]
    with pytest.raises(DataError, match="fold 1"):
        of_corpus(pl.DataFrame({"corpus": ["a"], "fold": [1]}), corpus)
    with pytest.raises(DataError, match="no documents"):
        folded(totals.with_columns(documents=0), "m")
    with pytest.raises(DataError, match="more than one row"):
        folded(totals.with_columns(documents=1, fold=0), "m")


@pytest.mark.parametrize(
    ("together", "size", "lowest", "highest"),
    [(0.0, 1, 0.95, 1.0), (0.1, 10, 0.86, 0.94), (0.3, 3, 0.89, 0.96), (0.3, 10, 0.73, 0.82)],
)
def test_limits_where_texts_are_nearly_alike(
    together: float, size: int, lowest: float, highest: float
) -> None:
    """What docs/explanation/frequencies.md tells of near copies: each falls into a fold by itself.

    Nothing widens for them.
    """
    documents, terms, share = 1000, 120, 0.02
    rng = np.random.default_rng(8)
    texts = round(documents * together / size)
    alike = np.concatenate([np.arange(documents - texts * size), -1 - np.repeat(np.arange(texts), size)])
    held = []
    for _ in range(12):
        fold = rng.integers(0, 20, documents)
        has = rng.random((terms, documents)) < share
        has = has[:, alike]  # each of a group has what its first has; the last columns are groups
        dealt = np.zeros((terms, 20))
        np.add.at(dealt.T, fold, has.T.astype(float))
        found = clustered_shares(dealt, np.bincount(fold, minlength=20).astype(float))
        held.append((found.low <= share) & (share <= found.high))
    assert lowest <= np.mean(held) <= highest, np.mean(held)
