"""Sizes of differences on either side of 0: by a scale that moves everything, a planted fall, and another side."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.measures import redditbias_lmb, redditbias_size_change
from evenhand.schema import DataError


def model(differences):
    n = len(differences)
    return redditbias_lmb(
        pl.DataFrame(
            {
                "bias_type": ["race"] * n,
                "pair_id": [str(place) for place in range(n)],
                "perplexity_more": 50 * np.exp(differences),
                "perplexity_less": [50.0] * n,
            }
        )
    )


def change(before, after):
    return redditbias_size_change(model(before), model(after)).row(0, named=True)


def test_a_model_that_prefers_the_same_at_another_scale_is_nearer_in_nats_and_not_in_its_spread():
    rng, fell = np.random.default_rng(8), [0, 0]
    for _ in range(40):
        before = rng.normal(-0.3, 0.5, 231)
        row = change(before, 0.85 * before + rng.normal(0, 0.05, 231))
        fell[0] += row["p"] < 0.05 and row["estimate"] < 0
        fell[1] += row["d_z_p"] < 0.05 and row["d_z"] < 0
    assert fell[0] > 35 and fell[1] <= 8  # noise of its own makes d_z a little smaller, by 1 %


def test_a_bias_that_fell_did_so_in_both():
    rng = np.random.default_rng(1)
    own = rng.normal(0, 0.5, 200)
    row = change(own - 0.6, own + rng.normal(-0.2, 0.1, 200))
    assert row["estimate"] == pytest.approx(abs(row["after"]) - abs(row["before"]))
    assert row["low"] < row["estimate"] < row["high"] < 0 and row["p"] < 1e-6
    assert row["d_z_high"] < 0 and row["d_z_p"] < 1e-6
    assert (
        row["d_z_moved"] == pytest.approx(row["d_z_after"] - row["d_z_before"]) and row["d_z_moved_low"] > 0
    )
    assert row["likelier_after"] < row["likelier_before"]


def test_as_far_on_the_other_side_is_no_change_of_size():
    rng, found = np.random.default_rng(2), 0
    for _ in range(60):
        own = rng.normal(0, 0.5, 231)
        row = change(own - 0.2 + rng.normal(0, 0.1, 231), own + 0.2 + rng.normal(0, 0.1, 231))
        assert row["before"] < 0 < row["after"]
        found += row["p"] < 0.05
    assert found <= 7


def test_the_p_is_the_larger_of_two_tests_of_student_where_nothing_is_skewed():
    rng = np.random.default_rng(3)
    before, after = rng.normal(-0.3, 0.5, 60), rng.normal(-0.1, 0.5, 60)
    row = change(before, after)
    tests = [stats.ttest_1samp(values, 0).pvalue for values in (after - before, after + before)]
    assert row["p"] >= 0.9 * max(tests)  # skewness only ever makes it larger


def test_few_phrases_have_no_p_and_no_common_pair_is_an_error():
    row = change(np.array([0.1, 0.3]), np.array([0.1, 0.2]))
    assert row["p"] is None and row["estimate"] == pytest.approx(-0.05)
    other = model(np.ones(3) * np.array([0.1, 0.2, 0.3]))
    shifted = redditbias_lmb(
        pl.DataFrame(
            {"bias_type": ["age"] * 3, "perplexity_more": [1.0, 2, 3], "perplexity_less": [2.0, 3, 5]}
        )
    )
    with pytest.raises(DataError, match="No pair has a perplexity from both"):
        redditbias_size_change(other, shifted)


@pytest.mark.parametrize("change_of", [lambda odds: odds + 0.1, lambda odds: 0.5 * odds])
def test_a_change_that_is_the_same_for_all_phrases_has_no_interval_of_width_0(change_of):
    before = np.random.default_rng(0).normal(0.3, 0.2, 60)
    row = change(before, change_of(before))
    assert row["high"] - row["low"] > 0.01 and row["p"] > 0
    widths = [(f"{name}_low", f"{name}_high") for name in ("d_z", "d_z_moved")]
    assert all(row[low] is None or row[high] - row[low] > 1e-3 for low, high in widths)
    assert row["d_z_p"] is None or row["d_z_p"] > 0
