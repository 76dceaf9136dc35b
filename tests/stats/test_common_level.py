"""Groups are named against those that do not stand out: worked examples, and tables with several harmed groups."""

import numpy as np
import pytest

from evenhand.stats import benjamini_hochberg, find_common_level, reference_contrasts
from evenhand.stats.cluster_means import t_inference
from evenhand.stats.contrasts import moderated_shifts
from evenhand.stats.disparity import Units, compare_units, compare_with_others


def comparison(estimates, variance=0.01, freedom=40):
    x = np.asarray(estimates, dtype=float)

    def compare(reference):
        contrasts = reference_contrasts(reference)
        error = np.sqrt(variance * np.square(contrasts).sum(axis=1))
        return t_inference(contrasts @ x, error, np.full(len(x), freedom))

    return x, compare


def test_four_far_descriptors_leave_the_others_where_they_are() -> None:
    x, compare = comparison([2.2, 2.1, 2.3, 2.0, 0.05, -0.1, 0.12, -0.2, 0, 0.15, -0.05, 0.08, -0.6])
    found = find_common_level(x, compare)
    assert found.exists and np.flatnonzero(~found.reference).tolist() == [0, 1, 2, 3, 12]
    assert compare(found.reference).estimate[12] == pytest.approx(-0.61, abs=0.005)
    # compared with the mean of all others, every other descriptor is named, too
    by_all = compare(np.ones(13, dtype=bool))
    assert (benjamini_hochberg(by_all.p) <= 0.05).all() and (by_all.estimate[4:] < 0).all()


def test_half_and_half_have_no_common_level() -> None:
    assert not find_common_level(*comparison([1.0, 1.1, 0.9, 0, 0.1, -0.1])).exists


def test_rows_in_another_order_give_the_same_groups() -> None:
    x, compare = comparison([2.2, 2.1, 2.3, 2.0, 0.05, -0.1, 0.12, -0.2, 0, 0.15, -0.05, 0.08, -0.6])
    order = np.random.default_rng(0).permutation(len(x))
    turned = find_common_level(*comparison(x[order]))
    assert np.array_equal(turned.reference, find_common_level(x, compare).reference[order])


def units(rng, rates, prompts=30):
    rate = np.repeat(rates, prompts)
    chance = rng.beta(rate * 7 / 3, (1 - rate) * 7 / 3)  # ICC .3
    groups = np.repeat(np.arange(len(rates)), prompts)
    return Units.from_arrays(rng.binomial(5, chance) / 5, groups, samples=np.full(len(rate), 5.0))


def named_sides(found):
    q = np.maximum(benjamini_hochberg(found.differences.p), found.axis_p)
    return np.where((q <= 0.05) & (not any(found.obstacles)), np.sign(found.differences.estimate), 0)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [3, 10])
def test_unharmed_groups_are_seldom_named_better(groups) -> None:
    rng = np.random.default_rng(groups)
    harmed = 1 if groups == 3 else 3
    rates = 0.15 + 0.3 * (np.arange(groups) < harmed)
    better, as_before, worse = [], [], []
    for _ in range(30):
        drawn = units(rng, rates)
        sides = named_sides(compare_units(drawn))
        better.append((sides[harmed:] < 0).mean())
        worse.append((sides[:harmed] > 0).mean())
        as_before.append((named_sides(compare_with_others(drawn))[harmed:] < 0).mean())
    assert np.mean(better) <= 0.05 and np.mean(worse) >= 0.85
    assert np.mean(as_before) >= 0.25  # what this replaces


def test_without_any_difference_names_are_as_rare_as_promised() -> None:
    rng = np.random.default_rng(2)
    false = [(named_sides(compare_units(units(rng, np.full(6, 0.15), 20))) != 0).any() for _ in range(60)]
    assert sum(false) <= 8  # 3 expected; more than 8 has probability 0.004


def test_interval_and_p_agree_after_the_reference_changed() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        found = compare_units(units(rng, rng.choice([0.05, 0.2, 0.5], 7), int(rng.integers(8, 30))))
        if found.differences is not None:
            assert np.array_equal(found.differences.excludes_zero, found.differences.p <= 0.05)


def test_four_of_32_descriptors_are_named_and_the_others_are_not() -> None:
    rng = np.random.default_rng(4)
    others, worst = [], []
    for _ in range(20):
        values = 0.3 * rng.normal(size=(12, 1, 32)) + 0.3 * rng.normal(size=(12, 2, 32))
        values[:, :, :4] -= 2.0
        found = moderated_shifts(values, own_nouns=True, margin=0.1, level=0.05)
        named = benjamini_hochberg(found.p) <= 0.05
        others.append(named[4:].mean())
        worst.append(named[:4].mean())
        assert found.reference is not None and not found.reference[:4].any()
    assert np.mean(others) < 0.01 and np.mean(worst) == 1.0
