"""Limits by flipping signs: the same p as the test by flips, inverted by brute force; coverage; the smallest effect."""

import numpy as np
import pytest
from scipy.stats import binom

from evenhand.stats import sign_flip_test
from evenhand.stats.contrasts import detectable_by_flips, flipped_mean


@pytest.mark.parametrize("seed", range(6))
def test_p_is_that_of_the_flips_and_limits_are_what_they_do_not_rule_out(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.7, 1.0, 8)
    found = flipped_mean(values)
    assert found.p == pytest.approx(float(sign_flip_test(values)[1][0]))
    assert (found.p <= 0.05) == (found.low > 0 or found.high < 0)
    for shift, ruled_out in ((found.low - 1e-6, True), (found.low + 1e-6, False), (found.high + 1e-6, True)):
        assert (sign_flip_test(values - shift)[1][0] <= 0.05) == ruled_out


def test_many_signs_are_flipped_at_random() -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(0.5, 1.0, 40)
    found = flipped_mean(values)
    assert found.p == pytest.approx(float(sign_flip_test(values)[1][0]), abs=0.004)
    assert found.low < values.mean() < found.high and (found.p <= 0.05) == (found.low > 0)


def test_five_pairs_can_rule_nothing_out() -> None:
    found = flipped_mean([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found.smallest_p, found.low, found.high) == (0.0625, -np.inf, np.inf)
    assert np.isnan(detectable_by_flips(found.standard_error, found.freedom + 1)) and np.isnan(
        detectable_by_flips(1.0, 9, 0.001)
    )
    assert flipped_mean(np.zeros(8)).p == 1.0


def test_limits_hold_and_the_smallest_effect_is_found() -> None:
    rng = np.random.default_rng(8)
    reach = detectable_by_flips(1 / 10**0.5, 10, 0.05)
    values = rng.normal(reach, 1.0, (250, 10))
    found = [flipped_mean(row) for row in values]
    held = sum(row.low <= reach <= row.high for row in found)
    assert binom.ppf(0.005, 250, 0.95) <= held <= binom.ppf(0.995, 250, 0.96)
    assert 0.7 <= np.mean([row.p <= 0.05 for row in found]) <= 0.9


def test_a_limit_at_zero_is_zero_despite_rounding() -> None:
    # the mean of one subset is 0, and comes out as 1e-15
    found = flipped_mean(
        [25, 25, -4.999999999999999, 5, 22.5, 27.500000000000004, -19.999999999999996, 17.5, 10, 5]
    )
    assert found.p > 0.05 and found.low == 0.0
