"""The engine against exact enumeration, closed forms and scipy."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import f_oneway, studentized_range

from evenhand.stats import benjamini_hochberg
from evenhand.stats.disparity import (
    Design,
    GroupLimits,
    Units,
    approximate,
    burden,
    compare_units,
    deal,
    largest_means,
    leave_one_out,
    planned_effects,
    recovered_limits,
    smallest_differences,
    smallest_p,
    tukey_quantile,
)

VALUES = np.array([0.25, 0.5, 0, 0, 0.25, 0, 1, 0.75, 0.5])
Z = float(ndtri(0.975))


@pytest.fixture(scope="module")
def nine() -> Units:
    """Prompt means of three groups, four samples each."""
    return Units.from_arrays(VALUES, np.repeat([0, 1, 2], 3), samples=np.full(9, 4.0))


def test_exact_enumeration_of_1680_deals(nine: Units) -> None:
    test = deal(nine)
    np.testing.assert_allclose(test.z[0], [-1.06904, -2.67261, 3.74166], atol=5e-6)
    np.testing.assert_allclose(test.difference, [-0.16667, -0.41667, 0.58333], atol=5e-6)
    assert round(float(test.spread[0]), 5) == 14.85714 and test.count == 1680
    assert test.spread_p == test.largest_p == test.axis_p == pytest.approx(0.05)
    np.testing.assert_allclose(test.p, [0.36548, 0.05357, 0.01905], atol=5e-6)


def test_limits_and_recovered_limits(nine: Units) -> None:
    limits = GroupLimits.estimate(nine)
    np.testing.assert_allclose(limits.phi, 0.291667, atol=5e-7)
    np.testing.assert_allclose(limits.worth, 5.68421, atol=5e-6)
    low, high = limits.pooled_bounds(Z)
    np.testing.assert_allclose(low, [0.0426, 0.0057, 0.2861], atol=5e-5)
    np.testing.assert_allclose(high, [0.7139, 0.5884, 0.9574], atol=5e-5)
    low, high = recovered_limits(replace(limits, supports=None), leave_one_out(3), Z)
    np.testing.assert_allclose(low, [-0.5095, -0.6823, 0.0065], atol=5e-5)
    np.testing.assert_allclose(high, [0.3534, 0.1487, 0.8184], atol=5e-5)
    wide = GroupLimits(
        np.array([0.3]), np.array([20.0]), np.ones(1), np.array([20 / 0.44]), 0.0, np.ones(1), 190, True
    )
    np.testing.assert_allclose([float(end[0]) for end in wide.bounds_at(Z)], [0.18613, 0.44541], atol=5e-6)


def test_the_spread_of_three_groups(nine: Units) -> None:
    found = compare_units(nine)
    assert found.spread is not None and round(100 * found.spread.estimate, 1) == 32.3
    assert 0 < found.spread.low < found.spread.estimate < found.spread.high


@pytest.mark.parametrize(
    ("groups", "prompts", "samples", "level", "stated"),
    # of two groups half a step of a permutation, 1 point here, is added to the 16.45 of a normal test
    [(10, 100, 1, 0.005, 12.95), (2, 100, 1, 0.025, 17.60), (10, 20, 5, 0.005, 19.87)],
)
def test_smallest_effects_in_closed_form(
    groups: int, prompts: int, samples: int, level: float, stated: float
) -> None:
    phi = 1 / samples + (1 - 1 / samples) * 0.3
    design = Design(np.full(groups, float(prompts)), np.full(groups, 0.1), phi, samples=samples)
    found = smallest_differences(design, np.full(groups, -ndtri(level / 2)), level)
    np.testing.assert_allclose(100 * found, stated, atol=0.02)


def test_p_of_few_units_is_that_of_all_permutations() -> None:
    rng = np.random.default_rng(2)
    values, groups = rng.normal(size=7), np.array([0, 0, 0, 1, 1, 1, 1])
    test = deal(Units.from_arrays(values, groups))
    statistics = []
    for order in permutations(range(7)):
        dealt = values[list(order)]
        first, second = dealt[:3], dealt[3:]
        within = (first.var(ddof=0) * 3 + second.var(ddof=0) * 4) / 5
        statistics.append(abs(first.mean() - second.mean()) / np.sqrt(within * (1 / 3 + 1 / 4)))
    observed = statistics[0]
    assert test.p[0] == pytest.approx(np.mean(np.array(statistics) >= observed - 1e-9))
    assert test.spread[0] == pytest.approx(f_oneway(values[:3], values[3:]).statistic)


def test_the_closed_form_agrees_with_deals_and_errs_on_the_safe_side() -> None:
    rng = np.random.default_rng(3)
    x = rng.binomial(1, 0.3, 10 * 150).astype(float)
    units = Units.from_arrays(x, np.repeat(np.arange(10), 150))
    dealt, closed = deal(units, first=4999, most=4999), approximate(units)
    np.testing.assert_allclose(closed.p, dealt.p, atol=0.1)
    assert np.all(closed.p >= dealt.p - 0.01)
    assert closed.spread_p == pytest.approx(dealt.spread_p, abs=0.03)
    rare = Units.from_arrays(rng.binomial(1, 0.02, 1500).astype(float), np.repeat(np.arange(10), 150))
    assert np.all(approximate(rare).p >= deal(rare, first=4999, most=4999).p - 0.01)


def test_names_and_order_of_units_change_nothing() -> None:
    rng = np.random.default_rng(4)
    values, groups = rng.random(60), rng.permutation(np.repeat([0, 1, 2, 3], 15))
    one = deal(Units.from_arrays(values, groups))
    order = rng.permutation(60)
    other = deal(Units.from_arrays(values[order], 3 - groups[order]))
    np.testing.assert_array_equal(one.p, other.p[::-1])
    assert one.axis_p == other.axis_p


@pytest.mark.slow
def test_groups_that_scatter_unequally_are_seldom_found() -> None:
    rng = np.random.default_rng(5)
    sizes = np.array([5, 10, 20, 40, 120, 200, 300])
    correlation = np.where(sizes < 50, 0.6, 0.05)
    groups = np.repeat(np.arange(7), sizes)
    false = 0
    for _ in range(20):
        strength = 1 / correlation[groups] - 1
        x = rng.binomial(5, rng.beta(0.1 * strength, 0.9 * strength)) / 5
        found = compare_units(Units.from_arrays(x, groups, samples=np.full(len(x), 5.0)))
        false += found.axis_p <= 0.05
        assert found.differences is not None
        assert np.array_equal(found.differences.p <= 0.05, found.differences.excludes_zero)
    assert false <= 3


@pytest.mark.slow
def test_unequal_numbers_of_samples_hold_their_size() -> None:
    rng = np.random.default_rng(6)
    groups, false = np.repeat(np.arange(8), 20), 0
    for _ in range(100):
        n = np.where(rng.random(160) < 0.5, 25, 1)
        x = rng.binomial(n, rng.beta(0.25, 2.25, 160)) / n
        false += compare_units(Units.from_arrays(x, groups, samples=n.astype(float))).axis_p <= 0.05
    assert false <= 12  # 5 expected, three standard errors


@pytest.mark.slow
def test_power_at_the_planned_smallest_effect() -> None:
    rng = np.random.default_rng(7)
    planned, _ = planned_effects(np.full(6, 40), 0.1, 1, 0.05)
    rates = np.full(6, 0.1)
    rates[0] += planned[0]
    named = 0
    for _ in range(60):
        found = compare_units(
            Units.from_arrays(
                rng.binomial(1, np.repeat(rates, 40)).astype(float), np.repeat(np.arange(6), 40)
            )
        )
        assert found.differences is not None and found.smallest is not None
        named += found.axis_p <= 0.05 and found.differences.p[0] <= 0.05 / 6
    assert 0.62 < named / 60 < 0.95


def test_quantile_of_the_range_is_that_of_scipy() -> None:
    assert tukey_quantile(5, 20) == pytest.approx(studentized_range.ppf(0.95, 5, 20), abs=2e-3)


def test_the_burden_is_nothing_where_nothing_differs() -> None:
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(10), 30)
    values = [burden(Units.from_arrays(rng.binomial(1, 0.2, 300).astype(float), groups)) for _ in range(150)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(150)


def test_the_largest_of_equal_groups_lies_above_the_mean() -> None:
    units = Units.from_arrays(
        np.random.default_rng(9).binomial(1, 0.2, 500).astype(float), np.repeat(np.arange(10), 50)
    )
    assert units.values.mean() < largest_means(units).mean() < 0.4


def test_the_smallest_p_of_few_units() -> None:
    assert smallest_p(Units.from_arrays(np.arange(6.0), np.repeat([0, 1], 3))) == pytest.approx(0.1)
    assert smallest_p(Units.from_arrays(VALUES, np.repeat([0, 1, 2], 3))) == pytest.approx(6 / 1680)


def test_no_p_is_kept_up_by_the_number_of_deals() -> None:
    rng = np.random.default_rng(1)
    sizes = np.r_[4, np.arange(100, 300)]
    groups = np.repeat(np.arange(201), sizes)
    x = (rng.random(len(groups)) < 0.1).astype(float)
    x[groups == 50] = 1  # 100 % beside 10 %, and one group too small for the closed form of the whole
    test = deal(Units.from_arrays(x, groups), most=999)
    assert test.count == 999 and test.axis_p < 1e-9
    assert benjamini_hochberg(test.p)[50] < 1e-9 and np.sum(benjamini_hochberg(test.p) <= 0.05) == 1


def test_numbers_far_apart_are_found_among_many_axes() -> None:
    rng = np.random.default_rng(2)
    units = Units.from_arrays(
        rng.normal(np.repeat([0.0, 3.0], 2_000), 1.0), np.repeat([0, 1], 2_000), shares=False
    )
    test = deal(units, most=999)
    assert 60 * test.axis_p < 1e-6 and np.all(60 * test.p < 1e-6)


def test_what_no_deal_reached_is_told_by_the_tail_of_more_deals() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=90)
    x[:30] += 0.9
    units = Units.from_arrays(x, np.repeat([0, 1, 2], 30), shares=False)
    few, many = deal(units, first=199, most=199, seed=1), deal(units, first=40_000, most=40_000)
    assert few.p[0] < 1 / 600  # below one in all deals
    assert 0.1 < few.p[0] / many.p[0] < 10 and 0.1 < few.axis_p / many.axis_p < 10
    small = deal(
        Units.from_arrays(np.r_[9.0, 8.0, 9.5, rng.normal(size=60)], np.repeat([0, 1], [3, 60]), shares=False)
    )
    assert small.p[0] >= 1 / (2 * small.count)  # three units are no matter for a closed form


@pytest.mark.slow
def test_a_small_group_that_scatters_more_is_not_named_for_it() -> None:
    """Four prompts whose samples agree beside sixty whose samples do not: no test of variances sees it."""
    rng = np.random.default_rng(10)
    groups = np.repeat([0, 1], [4, 60])
    strength = 1 / np.where(groups == 0, 0.7, 0.05) - 1
    false = 0
    for _ in range(100):
        x = rng.binomial(25, rng.beta(0.2 * strength, 0.8 * strength)) / 25
        found = compare_units(Units.from_arrays(x, groups, samples=np.full(64, 25.0)))
        assert found.differences is not None and found.limits.cautious
        false += found.axis_p <= 0.05
        assert np.array_equal(found.differences.p <= 0.05, found.differences.excludes_zero)
    assert false <= 6


def test_skewed_numbers_that_scatter_unequally_are_not_measurable() -> None:
    rng = np.random.default_rng(11)
    groups, scale = np.repeat(np.arange(10), 20), np.repeat([1.0, 3.0], 100)
    false = refused = 0
    for _ in range(60):
        x = (np.exp(rng.normal(size=200)) - np.exp(0.5)) * scale
        found = compare_units(Units.from_arrays(x, groups, shares=False))
        refused += found.obstacle is not None and "skewed" in found.obstacle
        false += found.axis_p <= 0.05
    assert refused >= 30 and false <= 6
    normal = compare_units(Units.from_arrays(rng.normal(size=200) * scale, groups, shares=False))
    assert normal.obstacle is None and normal.coins


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_numbers_that_vary_in_no_group_are_not_measurable(shift: float) -> None:
    units = Units.from_arrays(np.repeat([1.0, 1.0 + shift], 20), np.repeat([0, 1], 20), shares=False)
    found = compare_units(units)
    assert found.obstacle is not None and "the same result" in found.obstacle


def test_equal_rates_of_rare_events_do_not_prove_that_nothing_differs() -> None:
    rng = np.random.default_rng(12)
    truth, groups = np.array([0.002, 0.002, 0.01]), np.repeat(np.arange(3), 60)
    covered, spread = 0, truth.std(ddof=1)
    for _ in range(60):
        found = compare_units(Units.from_arrays(rng.binomial(1, truth[groups]).astype(float), groups)).spread
        assert found is not None
        covered += found.low <= spread <= found.high
    assert covered >= 55
    none = compare_units(Units.from_arrays(np.zeros(180), groups)).spread
    assert none is not None and none.high > 0.02


def test_two_numbers_differ_as_much_as_their_spread_says() -> None:
    x = np.random.default_rng(13).normal(np.repeat([0.0, 1.0], 20))
    found = compare_units(Units.from_arrays(x, np.repeat([0, 1], 20), shares=False))
    assert found.spread is not None and found.differences is not None
    difference = found.differences
    assert found.spread.low == pytest.approx(max(-difference.high[0], difference.low[0], 0) / np.sqrt(2))
    assert found.spread.high == pytest.approx(max(abs(difference.low[0]), difference.high[0]) / np.sqrt(2))


def test_burden_does_not_depend_on_names_or_order_and_is_not_negative() -> None:
    rng = np.random.default_rng(14)
    values, groups = np.round(rng.beta(0.3, 0.7, 120), 1), np.repeat(np.arange(8), 15)
    one = burden(Units.from_arrays(values, groups))
    order = rng.permutation(120)
    assert burden(Units.from_arrays(values[order], (groups[order] * 3) % 8)) == pytest.approx(one)
    found = [
        compare_units(Units.from_arrays(rng.random(40), np.repeat(np.arange(4), 10))).burden
        for _ in range(20)
    ]
    assert min(found) >= 0


def test_two_groups_lose_half_a_step_of_a_permutation() -> None:
    """By hand: single answers move the difference of 60 and 60 in steps of 1 / 60, those of 100 samples hardly."""
    single, many = (
        smallest_differences(
            Design(np.full(2, 60.0), np.full(2, 0.3), 1.0, samples=n), np.full(2, 1.96), 0.05
        )
        for n in (1, 10_000)
    )
    # the variance of a rate near one half hardly changes, so that all of the half step is added
    assert single - many == pytest.approx([1 / 60] * 2, rel=0.1)


@pytest.mark.slow
def test_the_smallest_difference_of_two_groups_of_single_answers_is_found_in_four_of_five() -> None:
    """Two groups of 60 single answers at 30 %: without the half step of a permutation it was found in 70 to 75 %."""
    groups, draws = np.repeat([0, 1], 60), np.random.default_rng(4)

    def compared(rates):
        return compare_units(Units.from_arrays((draws.random(120) < np.repeat(rates, 60)) * 1.0, groups))

    stated = float(np.median([compared([0.3, 0.3]).smallest[0] for _ in range(9)]))
    found = np.mean([compared([0.3 + stated, 0.3]).axis_p <= 0.05 for _ in range(200)])
    assert 0.74 <= found <= 0.9
