"""Means of skewed numbers: against a search for the limits, and in data of known truth."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, nct, skew, t as student

from evenhand.schema import UsageError
from evenhand.stats.contrasts import skewed_mean, smallest_mean, smallest_mean_of_sample


def p_of(values: np.ndarray, null: float) -> float:
    """The rule written out: the larger p of Student's t and Hall's transformation of it, freedom over 1.5."""
    n = len(values)
    distance = (values.mean() - null) / (values.std(ddof=1) / np.sqrt(n))
    tilt = np.sign(distance) * skew(values, bias=False) / np.sqrt(n)
    corrected = abs(distance) + tilt * distance**2 / 3 + tilt**2 * abs(distance) ** 3 / 27 + tilt / 6
    return min(1.0, 2 * student.sf(min(abs(distance), corrected), (n - 1) / 1.5))


@pytest.mark.parametrize(("n", "seed"), [(3, 0), (5, 1), (12, 2), (40, 3), (300, 4)])
def test_p_is_the_rule_and_the_limits_are_where_it_is_five_percent(n, seed):
    values = np.random.default_rng(seed).exponential(size=n) - 0.7
    found = skewed_mean(values)
    assert found.p == pytest.approx(p_of(values, 0.0), rel=1e-9)
    assert (found.estimate, found.n) == (pytest.approx(values.mean()), n)
    for limit, far in ((found.low, -300.0), (found.high, 300.0)):
        searched = brentq(lambda null: p_of(values, null) - 0.05, found.estimate + np.sign(far) * 1e-6, far)
        assert limit == pytest.approx(searched, rel=1e-6)
    assert (found.p <= 0.05) == (not found.low <= 0 <= found.high)


@pytest.mark.parametrize(("n", "mean"), [(8, 0.4), (40, -0.2), (200, 0.05), (40, 4.0)])
def test_with_a_tail_p_is_no_smaller_than_the_chance_of_having_drawn_none_of_it(n, mean):
    values = np.random.default_rng(n).normal(size=n)
    values = mean + 0.01 * (values - values.mean())
    found, plain = skewed_mean(values, tail=3.0), skewed_mean(values)
    none_drawn = binom.pmf(0, n, min(1.0, abs(mean) / 3))
    assert plain.p < none_drawn or mean == 4.0
    assert found.p == pytest.approx(max(plain.p, none_drawn))
    for limit, side in ((found.low, -1), (found.high, 1)):
        least = brentq(lambda away: binom.pmf(0, n, away / 3) - 0.05, 0.0, 3.0)
        assert limit == pytest.approx(values.mean() + side * least)
    assert (found.p <= 0.05) == (not found.low <= 0 <= found.high)


def test_a_tail_changes_nothing_where_the_numbers_scatter_as_widely():
    values = np.random.default_rng(3).normal(0.1, 1.0, 250)
    assert skewed_mean(values, tail=3.0) == skewed_mean(values)
    assert smallest_mean(1.0, 250, level=0.01, tail=3.0) == smallest_mean(1.0, 250, level=0.01)


@pytest.mark.parametrize(
    ("n", "share", "off", "spread"), [(20, 0.1, 1.5, 0.3), (30, 0.05, 2.0, 0.2), (100, 0.02, 2.0, 0.1)]
)
def test_rare_numbers_far_off_make_no_mean_differ_from_0(n, share, off, spread):
    rng = np.random.default_rng(10)
    drawn = [rng.normal(-share * off, spread, n) + off * (rng.random(n) < share) for _ in range(1000)]
    found = [skewed_mean(one, tail=3.0) for one in drawn]
    assert np.mean([one.p <= 0.01 for one in found]) <= 0.012
    assert np.mean([one.low <= 0 <= one.high for one in found]) >= 0.95
    assert np.mean([skewed_mean(one).p <= 0.01 for one in drawn]) > 0.02  # what the tail is there for


def test_mirrored_and_scaled_numbers_give_mirrored_and_scaled_answers():
    values = np.random.default_rng(5).gamma(0.5, size=30)
    one, other = skewed_mean(values), skewed_mean(-3 * values[::-1])
    assert (other.low, other.high) == (pytest.approx(-3 * one.high), pytest.approx(-3 * one.low))
    assert other.p == pytest.approx(one.p)


@pytest.mark.parametrize(
    ("shape", "n"), [("exponential", 20), ("lognormal", 100), ("heavy", 40), ("normal", 9)]
)
def test_a_hundredth_is_called_at_a_hundredth_where_nothing_is(shape, n):
    rng = np.random.default_rng(6)
    draw = {
        "exponential": lambda: rng.exponential(size=n) - 1,
        "lognormal": lambda: np.exp(rng.normal(size=n)) - np.exp(0.5),
        "heavy": lambda: rng.standard_t(3, size=n),
        "normal": lambda: rng.normal(size=n),
    }[shape]
    found = [skewed_mean(draw()) for _ in range(1500)]
    assert np.mean([one.p <= 0.01 for one in found]) <= 0.01 + 3 * np.sqrt(0.01 * 0.99 / 1500)
    covered = np.mean([one.low <= 0 <= one.high for one in found])
    assert 0.93 <= covered <= 0.99


def test_equal_numbers_are_as_good_as_their_signs():
    few, many, none = (skewed_mean([value] * n, tail=0.3) for value, n in ((0.3, 4), (0.3, 9), (0.0, 9)))
    hidden = [0.3 * (1 - 0.05 ** (1 / n)) for n in (4, 9)]
    assert (few.p, few.low) == (0.125, 0.0) and few.high == pytest.approx(0.3 + hidden[0])
    assert many.p == 2.0**-8 and (many.low, many.high) == pytest.approx((0.3 - hidden[1], 0.3 + hidden[1]))
    assert none.p == 1.0 and (none.low, none.high) == pytest.approx((-hidden[1], hidden[1]))


@pytest.mark.parametrize("value", [0.3, 0.0])
def test_equal_numbers_without_a_tail_have_no_interval(value):
    found = skewed_mean([value] * 9)
    assert found.estimate == value and np.isnan([found.low, found.high, found.p]).all()
    assert smallest_mean_of_sample([value] * 9, level=0.05) == np.inf


def test_of_fewer_than_three_nothing_is_known():
    assert np.isnan(skewed_mean([1.0, 2.0]).p) and skewed_mean([1.0, 2.0]).estimate == 1.5
    assert np.isnan(skewed_mean([]).estimate)
    assert smallest_mean(1.0, 2, level=0.05) == np.inf


@pytest.mark.parametrize("n", [400, 401, 5000])
def test_the_smallest_mean_of_many_is_that_of_the_noncentral_t(n):
    stated, freedom = float(smallest_mean(2.0, n, level=0.01)), (n - 1) / 1.5
    chance = nct.sf(student.isf(0.005, freedom), freedom, stated / 2 * np.sqrt(n))
    assert chance == pytest.approx(0.8, abs=0.02 if n == 400 else 1e-4)


@pytest.mark.parametrize(
    ("n", "tail"), [(3, None), (5, None), (12, None), (40, None), (12, 9.0), (500, 90.0)]
)
def test_the_smallest_mean_is_found_in_four_of_five_new_data_sets(n, tail):
    stated = float(smallest_mean(2.0, n, level=0.01, tail=tail))
    rng = np.random.default_rng(7)
    found = np.mean([skewed_mean(rng.normal(stated, 2, n), tail=tail).p <= 0.01 for _ in range(500)])
    assert 0.72 <= found <= (1.0 if n < 30 else 0.92)  # few: as of skewed numbers


@pytest.mark.parametrize("n", [12, 20])
def test_the_smallest_mean_of_few_is_found_though_they_are_skewed(n):
    stated = float(smallest_mean(1.0, n, level=0.01, tail=6.0))
    rng = np.random.default_rng(12)
    drawn = [rng.exponential(size=n) - 1 - stated for _ in range(400)]  # on the side of the short tail
    assert 0.7 <= np.mean([skewed_mean(one, tail=6.0).p <= 0.01 for one in drawn]) <= 0.9


@pytest.mark.parametrize(("n", "sign"), [(80, 1), (80, -1), (150, -1)])
def test_beside_skewed_numbers_the_smallest_mean_is_found_on_the_side_where_it_is_harder(n, sign):
    rng = np.random.default_rng(8)
    stated = np.median(
        [smallest_mean_of_sample(sign * rng.exponential(size=n), level=0.01) for _ in range(40)]
    )
    drawn = [sign * (rng.exponential(size=n) - 1) for _ in range(400)]
    harder, easier = (
        np.mean([skewed_mean(one + side * stated).p <= 0.01 for one in drawn]) for side in (-sign, sign)
    )
    assert 0.7 <= harder <= 0.9 and easier > harder


def test_the_smallest_mean_beside_normal_numbers_is_about_that_of_normal_ones():
    values = np.random.default_rng(9).normal(size=200)
    plain = float(smallest_mean(values.std(ddof=1), 200, level=0.01))
    assert plain <= smallest_mean_of_sample(values, level=0.01) <= 1.15 * plain
    assert smallest_mean_of_sample(values[::-1], level=0.01) == smallest_mean_of_sample(values, level=0.01)
    assert smallest_mean_of_sample([1.0, 2.0], level=0.05) == np.inf
    assert smallest_mean_of_sample([0.3] * 7, level=0.01) == np.inf
    assert smallest_mean_of_sample([0.3] * 8, level=0.01, tail=3.0) == pytest.approx(3 * (1 - 0.01**0.125))


def test_what_is_no_number_is_refused():
    with pytest.raises(UsageError, match="not finite"):
        skewed_mean([1.0, float("nan"), 2.0])
    with pytest.raises(UsageError, match="level must be between 0 and 1, got 1"):
        skewed_mean([1.0, 2.0, 3.0], level=1.0)
    with pytest.raises(UsageError, match="tail must be above 0"):
        skewed_mean([1.0, 2.0, 3.0], tail=0.0)
