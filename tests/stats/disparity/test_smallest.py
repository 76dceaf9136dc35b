"""The smallest change solves its own equation, and is infinite where no room is left."""

from math import inf, sqrt

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.disparity.smallest import power_of_f, signal_found, smallest_change


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


def test_the_signal_that_an_f_test_finds_is_known_for_all_groups_prompts_and_axes():
    """The noncentral F of the library is no number at some far points, which stopped comparisons of (5, 5) prompts."""
    for groups in range(2, 14):
        for df in range(6, 61):
            needed = [
                signal_found(groups - 1.0, float(df), 0.037 / axes if groups > 2 else 0.05 / axes)
                for axes in (1, 2, 5, 9, 13)
            ]
            assert np.isfinite(needed).all() and (np.diff(needed) > 0).all(), (groups, df, needed)


def test_power_goes_on_where_the_library_fails():
    far = [power_of_f(signal, 1.0, 2.0, 300.0) for signal in np.geomspace(200, 1e7, 60)]
    assert np.isfinite(far).all() and (np.diff(far) > -1e-3).all() and far[-1] > 0.999
    draws = np.random.default_rng(0)
    drawn = draws.noncentral_f(1, 2, 2000, 200_000) > 2000
    assert power_of_f(2000.0, 1.0, 2.0, 2000.0) == pytest.approx(drawn.mean(), abs=0.005)
