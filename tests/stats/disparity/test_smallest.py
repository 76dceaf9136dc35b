"""The smallest change solves its own equation, and is infinite where no room is left."""

from math import inf, sqrt

import pytest
from scipy import stats

from evenhand.stats.disparity.smallest import smallest_change


def test_numbers_that_are_no_shares_have_a_closed_form():
    expected = (2.5 + stats.norm.ppf(0.8)) * sqrt(0.5 * 4 / 20 + 0.01)
    assert smallest_change(2.5, (0.5, 0.9), 0.01, 20.0, 2.0, None) == pytest.approx(expected)


def test_a_share_moves_where_there_is_room_and_no_further():
    up = smallest_change(2.5, (0.6, 0.6), 0.001, 50.0, 0.4, (0.1, 0.1))
    down = smallest_change(2.5, (0.6, 0.6), 0.001, 50.0, 0.4, (0.9, 0.9))
    assert 0 < up < 0.9 and up == pytest.approx(down)
    rate = (50 * (0.1 + up) + 0.5) / 51
    before = (50 * 0.1 + 0.5) / 51
    error = sqrt(0.6 * (before * (1 - before) + rate * (1 - rate)) / 50 + 0.001)
    assert up == pytest.approx((2.5 + stats.norm.ppf(0.8)) * error)
    assert smallest_change(9.0, (1.0, 1.0), 0.1, 3.0, 0.5, (0.4, 0.4)) == inf
