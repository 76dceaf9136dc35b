"""Tails in closed form against full enumeration, deals, and designs in which nothing differs."""

from itertools import combinations

import numpy as np
import pytest

from evenhand.stats.disparity import Units, approximate, deal
from evenhand.stats.disparity.tails import SquaresTail, moments_of_squares


def test_moments_of_the_sum_of_squares_are_those_of_all_deals() -> None:
    values = np.array([0.0, 0.0, 1.0, 0.3, 2.0, 5.0, 0.1, 0.1])
    squares = []
    for first in combinations(range(8), 2):
        left = [place for place in range(8) if place not in first]
        for second in combinations(left, 3):
            third = [place for place in left if place not in second]
            parts = [values[list(part)] for part in (first, second, third)]
            squares.append(sum(len(part) * (part.mean() - values.mean()) ** 2 for part in parts))
    dealt = np.array(squares) / values.var(ddof=1)
    skewness = np.mean((dealt - dealt.mean()) ** 3) / dealt.std() ** 3
    found = moments_of_squares(values, np.array([2.0, 3.0, 3.0]))
    np.testing.assert_allclose(found, [dealt.mean(), dealt.std(), skewness], rtol=1e-9)


def test_moments_of_many_units_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    values = rng.binomial(1, 0.25, 200_000).astype(float)
    mean, deviation, skewness = moments_of_squares(values, np.full(800, 250.0))
    # so many units of so many groups are all but normal: chi-square, with 799 degrees of freedom
    assert mean == pytest.approx(799) and deviation == pytest.approx(np.sqrt(2 * 799), rel=0.01)
    assert skewness == pytest.approx(np.sqrt(8 / 799), rel=0.02)


@pytest.mark.parametrize(
    ("sizes", "rate"),
    [
        ([5] * 20 + [400] * 20, 0.01),
        ([10] * 100 + [100] * 60, 0.005),
        ([50, 79, 124, 196, 309, 486, 766, 1207, 1903, 3000], 0.001),
    ],
)
def test_rare_events_in_groups_of_unequal_sizes_are_no_finding(sizes: list[int], rate: float) -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    false = np.zeros(2)
    for _ in range(150):
        units = Units.from_arrays((rng.random(len(groups)) < rate).astype(float), groups)
        p = approximate(units).axis_p
        false += [p <= 0.05, p <= 0.05 / 13]
    # at the F tail: 12 to 16 % and 5 to 8 %; here three standard errors above 5 % and 0.4 %
    assert false[0] <= 150 * 0.05 + 3 * np.sqrt(150 * 0.05 * 0.95) and false[1] <= 3


def test_the_closed_form_goes_on_where_deals_end() -> None:
    sizes = np.array([5] * 10 + [590] * 10)
    groups, starts = np.repeat(np.arange(20), sizes), np.cumsum(sizes) - sizes
    values = np.zeros(len(groups))
    values[[starts[0], *starts[10:], *(starts[10:] + 1)]] = 1
    units = Units.from_arrays(values, groups)
    assert approximate(units).axis_p == pytest.approx(deal(units).axis_p, abs=0.06)
    assert approximate(units).axis_p > 0.1  # 0.00003 by the F tail


def test_nothing_against_all_is_found_however_many_units() -> None:
    for size in (100, 3_100):
        units = Units.from_arrays(np.repeat([0.0, 1.0], size), np.repeat([0, 1], size))
        test = approximate(units)
        assert np.isinf(test.z).all() and np.isinf(test.spread)
        assert np.all(test.p < 1e-9) and test.axis_p < 1e-9 and np.all(test.p > 0)


def test_equal_values_leave_no_tail() -> None:
    assert SquaresTail.from_units(Units.from_arrays(np.ones(8), np.repeat([0, 1], 4))).p(0.0) == 1.0
