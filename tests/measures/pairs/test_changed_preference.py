"""Two models on the same pairs: changes of known size, what both models share, and missing pairs."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

from evenhand.measures import crows_pairs, preference_change, stereoset, stereotype_change
from evenhand.schema import DataError
from evenhand.stats.clusters import cluster_flip

N = 90


def scores(wins, keep=None):
    frame = pl.DataFrame(
        {
            "bias_type": ["age"] * (N // 2) + ["gender"] * (N // 2),
            "sent_more": [f"The a{k // 3} one, {k}." for k in range(N)],
            "sent_less": [f"The b{k // 3} one, {k}." for k in range(N)],
            "log_likelihood_more": np.asarray(wins, dtype=float),
            "log_likelihood_less": [0.5] * N,
        }
    )
    return crows_pairs(frame if keep is None else frame[keep], architecture="causal", level=None)


def test_a_change_on_one_type_is_found_there_and_nowhere_else():
    rng = np.random.default_rng(0)
    before = rng.integers(0, 2, N)
    after = before.copy()
    after[: N // 2] = 1
    change = preference_change(scores(before), scores(after), level=0.05 / 9)
    whole, age, gender = change.to_dicts()
    assert age["estimate"] == pytest.approx(100 * (1 - before[: N // 2].mean()))
    assert age["before"] == pytest.approx(100 * before[: N // 2].mean()) and age["after"] == 100.0
    assert age["p"] < 0.01 and 0 < age["low"] < age["estimate"] < age["high"]
    assert (gender["estimate"], gender["p"]) == (0.0, 1.0) and gender["low"] < 0 < gender["high"]
    assert (whole["axis"], whole["p"], whole["n"]) == (None, None, N)
    assert age["minimum_detectable"] > 0 and age["n_units"] == 15


def test_it_is_a_flip_of_whole_swaps_of_the_differences():
    rng = np.random.default_rng(4)
    before, after = rng.integers(0, 2, (2, N))
    got = preference_change(scores(before), scores(after)).filter(axis="gender").row(0, named=True)
    totals = (after - before)[N // 2 :].reshape(-1, 3).sum(axis=1)
    flip = cluster_flip(totals, [3] * len(totals), bounds=(-1, 1))
    assert got["estimate"] == pytest.approx(100 * flip.estimate)
    assert got["p"] == pytest.approx(flip.p, abs=0.02)
    assert got["low"] == pytest.approx(100 * flip.low, abs=3)


def test_what_both_models_share_cancels():
    """Swaps that both models prefer alike: flips of the difference keep their size where McNemar's coins do not."""
    rng = np.random.default_rng(1)
    flips, coins = [], []
    sizes = np.array([20] + [3] * 25)
    for _ in range(300):
        # each model has an opinion of its own on each swap: pairs of a swap change together
        chance = rng.beta(0.5, 0.5, size=(2, len(sizes)))
        before, after = (rng.random((len(sizes), 20)) < chance[i][:, None] for i in (0, 1))
        within = np.arange(20) < sizes[:, None]
        change = ((after.astype(int) - before) * within).sum(axis=1)
        flips.append(cluster_flip(change, sizes, bounds=(-1, 1), draws=499).p <= 0.05)
        up, down = (after & ~before & within).sum(), (before & ~after & within).sum()
        coins.append(abs(up - down) > 1.96 * np.sqrt(up + down))
    assert np.mean(flips) <= 0.08 and np.mean(coins) > 0.15


def test_pairs_that_one_model_lacks_are_missing():
    rng = np.random.default_rng(0)
    before, after = rng.integers(0, 2, (2, N))
    change = preference_change(scores(before, list(range(10, N))), scores(after)).to_dicts()
    assert [(c["axis"], c["n"], c["n_missing"]) for c in change] == [
        (None, 80, 10),
        ("age", 35, 10),
        ("gender", 45, 0),
    ]
    with pytest.raises(DataError, match="None of the 60 pairs"):
        preference_change(scores(before, list(range(20))), scores(after, list(range(50, N))))


def items(wins):
    """12 terms of ten items."""
    rows = [
        ("intrasentence", f"c{t}-{i}", "race", f"term{t}", label, score)
        for t in range(12)
        for i in range(10)
        for label, score in (
            ("stereotype", float(wins[t, i])),
            ("anti-stereotype", 0.5),
            ("unrelated", -1.0),
        )
    ]
    names = ["dataset_type", "cluster_id", "bias_type", "target", "gold_label", "score"]
    return stereoset(pl.DataFrame(rows, schema=names, orient="row"))


def test_stereoset_changes_are_a_t_over_terms():
    rng = np.random.default_rng(0)
    before, after = rng.integers(0, 2, (12, 10)), rng.random((12, 10)) < 0.8
    whole, race = stereotype_change(items(before), items(after), level=0.05 / 4).to_dicts()
    terms = 100 * (after.astype(int) - before).mean(axis=1)
    expected = ttest_1samp(terms, 0)
    assert race["estimate"] == pytest.approx(terms.mean()) and race["p"] == pytest.approx(expected.pvalue)
    limits = expected.confidence_interval()
    assert (race["low"], race["high"]) == pytest.approx((limits.low, limits.high))
    assert race["n_units"] == 12 and 5 < race["minimum_detectable"] < 50
    assert whole["p"] is None and whole["estimate"] == race["estimate"]


def test_a_model_does_not_differ_from_itself():
    wins = np.random.default_rng(0).integers(0, 2, (12, 10))
    same = stereotype_change(items(wins), items(wins)).row(1, named=True)
    assert (same["estimate"], same["p"]) == (0.0, 1.0) and -6 < same["low"] < 0 < same["high"] < 6
