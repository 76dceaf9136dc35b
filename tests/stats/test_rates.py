"""Limits of differences and ratios of rates cover."""

import numpy as np

from evenhand.stats import wilson_interval
from evenhand.stats.rates import Limited, difference_of_rates, ratio_of_rates


def test_ratio_limits_cover() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.binomial(60, 0.3, 3000), rng.binomial(80, 0.15, 3000)
    limited = []
    for hits, size in ((first, 60), (second, 80)):
        limited.append(Limited(hits / size, *wilson_interval(hits, np.full(3000, size))))
    ratio, difference = ratio_of_rates(*limited), difference_of_rates(*limited)
    assert 0.935 < np.mean((ratio.low <= 2) & (ratio.high >= 2)) < 0.975
    assert 0.935 < np.mean((difference.low <= 0.15) & (difference.high >= 0.15)) < 0.975


def test_rates_of_zero_have_the_limits_that_can_be_known() -> None:
    zero = Limited(np.array([0.0]), np.array([0.0]), np.array([0.1]))
    some = Limited(np.array([0.5]), np.array([0.4]), np.array([0.6]))
    assert [float(v[0]) for v in (ratio_of_rates(zero, some).low, ratio_of_rates(zero, some).high)] == [
        0.0,
        0.25,
    ]
    above = ratio_of_rates(some, zero)
    assert np.isinf(above.rate[0]) and above.low[0] == 4.0 and np.isinf(above.high[0])
