"""Limits of a spread cover it, and leave out 0 as a one-sided test does."""

from itertools import product

import numpy as np
import pytest

from evenhand.stats.disparity.spread_limits import largest_spread, limits_of_spread


@pytest.mark.parametrize("true", [0.0, 0.1, 0.4])
def test_coverage_over_groups(true):
    draws, noise = np.random.default_rng(1), np.full(8, 0.01)
    effect = true * np.array([-1.0, 1.0] * 4) * np.sqrt(7 / 8)
    inside = []
    for _ in range(200):
        low, high = limits_of_spread(effect + draws.normal(0, 0.1, 8), noise, 200)
        inside.append(low <= true <= high)
    assert 0.9 <= np.mean(inside) <= 1.0


def test_zero_is_left_out_in_one_of_twenty():
    draws, noise = np.random.default_rng(2), np.full(10, 1.0)
    found = [limits_of_spread(draws.normal(0, 1, 10), noise, 400)[0] > 0 for _ in range(400)]
    assert 0.02 <= np.mean(found) <= 0.09


@pytest.mark.parametrize("groups", range(2, 10))
def test_the_largest_spread_is_that_of_numbers_at_both_ends(groups):
    every = [np.std(ends, ddof=1) for ends in product([0.0, 1.0], repeat=groups)]
    assert largest_spread(groups, 1.0) == pytest.approx(max(every))
    draws = np.random.default_rng(groups).random((1000, groups))
    assert draws.std(axis=1, ddof=1).max() <= largest_spread(groups, 1.0)
