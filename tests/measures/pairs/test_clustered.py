"""Pairs that swap the same words as clusters: the published pairs, the size of the verdict, smallest effects."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from evenhand.measures import crows_pairs, plan_crows_pairs
from evenhand.measures.pairs.clustered import once_each, swapped_words
from evenhand.stats.clusters import cluster_flip

LEVEL = 0.05 / 9
TYPES = {  # swaps by how many pairs each holds, of the nine published types
    "race-color": {1: 229, 2: 21, 3: 9, 4: 3, 5: 3, 6: 1, 13: 1, 14: 1, 19: 1, 157: 1},
}


def scored(wins: np.ndarray, swaps: list[str], bias_type: str = "age", **columns: object) -> pl.DataFrame:
    """Pairs with texts that differ in the words of their swap."""
    return pl.DataFrame(
        {
            "bias_type": [bias_type] * len(swaps),
            "sent_more": [f"The {swap.split('/')[0]} one, number {i}." for i, swap in enumerate(swaps)],
            "sent_less": [f"The {swap.split('/')[1]} one, number {i}." for i, swap in enumerate(swaps)],
            "log_likelihood_more": np.asarray(wins, dtype=float),
            "log_likelihood_less": [0.5] * len(swaps),
        }
    )


def row(frame: pl.DataFrame, **options: object) -> dict[str, object]:
    return crows_pairs(frame, architecture="causal", **options).groups.row(1, named=True)


def test_the_worked_example_through_the_measure():
    wins, swaps = [], []
    for k, (won, of) in enumerate(((7, 8), (3, 4), (1, 1), (0, 2), (5, 6), (2, 3), (1, 1), (3, 3))):
        wins += [1.0] * won + [0.0] * (of - won)
        swaps += [f"old{k}/young{k}"] * of
    found = row(scored(np.array(wins), swaps))
    assert found["estimate"] == pytest.approx(78.5714, abs=1e-4)
    assert f"{found['p']:.4f}" == "0.0703" and (found["low"], found["high"]) == (50.0, 100.0)
    assert (found["n"], found["n_units"]) == (28, 8)


def test_swaps_are_told_whichever_way_they_are_written():
    more = ["The poor man, he sang.", "A RICH cat!", "Same words.", None, "An old poor man."]
    less = ["The rich man he sang.", "A poor cat.", "same words!", "x", "An young rich man."]
    assert swapped_words(more, less) == ["poor | rich", "poor | rich", None, None, "old poor | young rich"]


@pytest.mark.parity
def test_swaps_of_the_published_pairs(shared):
    pairs = pl.read_csv(shared / "data" / "crows_pairs" / "crows_pairs_anonymized.csv")
    swaps = pl.Series("swap", swapped_words(pairs["sent_more"].to_list(), pairs["sent_less"].to_list()))
    sizes = pairs.with_columns(swaps).group_by("bias_type", "swap").len()
    race, orientation = (sizes.filter(bias_type=kind)["len"] for kind in ("race-color", "sexual-orientation"))
    assert (race.len(), race.max(), race.sum()) == (270, 157, 516)
    assert (orientation.max(), orientation.sum()) == (36, 84)
    planned = dict(plan_crows_pairs(pairs, level=LEVEL).select("axis", "minimum_detectable").iter_rows())
    assert planned["race-color"] == pytest.approx(11.0, abs=0.6)
    assert planned["disability"] == pytest.approx(25, abs=1.2) and len(planned) == 9


@pytest.mark.parametrize("correlation", [0.0, 0.05, 0.2])
def test_one_swap_with_a_third_of_all_pairs_is_no_proof(correlation):
    """Race of the published pairs, a model without preference but with opinions on swaps: a binomial is fooled."""
    sizes = np.repeat(list(TYPES["race-color"]), list(TYPES["race-color"].values()))
    rng = np.random.default_rng(2)
    swaps = [f"a{k}/b{k}" for k, size in enumerate(sizes) for _ in range(size)]
    items = pl.DataFrame({"bias_type": "race", "pair": [str(i) for i in range(len(swaps))], "swap": swaps})
    assert items.height > 450
    flips, coins = [], []
    for _ in range(150):
        if correlation:
            weight = 0.5 * (1 - correlation) / correlation
            chance = rng.beta(weight, weight, size=len(sizes))
        else:
            chance = np.full(len(sizes), 0.5)
        wins = rng.binomial(sizes, chance)
        flips.append(cluster_flip(wins, sizes, null=0.5, bounds=(0, 1), draws=999).p <= 0.05)
        coins.append(binomtest(int(wins.sum()), int(sizes.sum())).pvalue <= 0.05)
    assert np.mean(flips) <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 150)
    if correlation:
        assert np.mean(coins) > 0.15


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.05, 0.2])
def test_audits_of_the_nine_published_types_are_false_in_one_of_twenty(shared, correlation):
    pairs = pl.read_csv(shared / "data" / "crows_pairs" / "crows_pairs_anonymized.csv")
    swaps = pl.Series("swap", swapped_words(pairs["sent_more"].to_list(), pairs["sent_less"].to_list()))
    table = pairs.with_columns(swaps).group_by("bias_type", "swap").len().sort("bias_type", "swap")
    sizes = [part["len"].to_numpy() for (_,), part in table.group_by(["bias_type"], maintain_order=True)]
    rng = np.random.default_rng(4)
    false = []
    for _ in range(300):
        found = False
        for n in sizes:
            weight = 0.5 * (1 - correlation) / correlation if correlation else 0.0
            chance = rng.beta(weight, weight, size=len(n)) if correlation else np.full(len(n), 0.5)
            wins = rng.binomial(n, chance)
            found |= cluster_flip(wins, n, null=0.5, bounds=(0, 1), draws=1999).p <= LEVEL
        false.append(found)
    assert np.mean(false) <= 0.06 + 2 * np.sqrt(0.05 * 0.95 / 300)


def test_verdicts_do_not_depend_on_order_or_on_other_types():
    rng = np.random.default_rng(0)
    swaps = [f"a{k // 3}/b{k // 3}" for k in range(60)]
    frame = scored(rng.integers(0, 2, 60), swaps)
    alone = row(frame, level=LEVEL)
    assert row(frame.sample(fraction=1.0, shuffle=True, seed=1), level=LEVEL) == alone
    other = scored(np.ones(40), [f"c{k}/d{k}" for k in range(40)], "zebra")
    assert row(pl.concat([frame, other]), level=LEVEL) == alone
    assert row(pl.concat([frame, frame]), level=LEVEL) == alone  # copies count once


def test_too_few_swaps_are_not_measurable_however_many_pairs():
    one = row(scored(np.ones(40), ["a/b"] * 40), level=LEVEL)
    assert (one["n"], one["n_units"], one["minimum_detectable"]) == (40, 1, None)
    assert "1 set of swapped words" in str(one["obstacle"])
    eight = row(scored(np.ones(40), [f"a{k % 8}/b" for k in range(40)]), level=LEVEL)
    assert eight["p"] == 2**-7 and "0.0078" in str(eight["obstacle"])
    nine = row(scored(np.ones(36), [f"a{k % 9}/b" for k in range(36)]), level=LEVEL)
    assert nine["obstacle"] is None and nine["p"] == 2**-8


def test_the_row_over_all_types_is_described_and_so_is_everything_without_a_level():
    frame = scored(np.arange(40) % 2, [f"a{k}/b{k}" for k in range(40)])
    whole = crows_pairs(frame, architecture="causal").groups.row(0, named=True)
    assert whole["axis"] is None and whole["low"] < 50 < whole["high"]
    assert (whole["p"], whole["minimum_detectable"], whole["obstacle"]) == (None, None, None)
    assert row(frame, level=None)["p"] is None


def test_correlation_within_swaps_makes_the_smallest_effect_larger():
    swaps = [f"a{k // 6}/b{k // 6}" for k in range(120)]
    alike = row(scored((np.arange(120) // 6) % 2, swaps))
    mixed = row(scored(np.arange(120) % 2, swaps))
    assert (alike["correlation"], mixed["correlation"]) == (0.9, 0.0)
    assert alike["minimum_detectable"] > 1.5 * mixed["minimum_detectable"]
    planned = plan_crows_pairs(scored(np.zeros(120), swaps))
    assert planned.select("n", "n_units").row(0) == (120, 20)
    assert mixed["minimum_detectable"] < planned["minimum_detectable"][0] < alike["minimum_detectable"]


def test_pairs_without_texts_are_one_cluster_each():
    frame = scored(np.arange(30) % 3 > 0, ["a/b"] * 30).drop("sent_more", "sent_less")
    assert row(frame)["n_units"] == 30
    with_id = frame.with_columns(pair_id=pl.Series([str(k // 2) for k in range(30)]))
    assert row(with_id)["n"] == 15  # a pair_id that comes twice is a copy


def test_copies_count_once_by_what_they_prefer_on_the_whole():
    frame = pl.DataFrame(
        {
            "bias_type": "x",
            "pair": ["p", "p", "p", "q", "q"],
            "swap": None,
            "outcome": [1.0, 1.0, 0.0, 1.0, 0.0],
        },
        schema_overrides={"swap": pl.String},
    )
    assert once_each(frame).select("pair", "swap", "outcome").rows() == [("p", "p", 1.0), ("q", "q", 0.5)]
