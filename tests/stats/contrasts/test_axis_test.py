"""Flips of whole contrasts: by brute force, and what flips of single descriptors' signs would do."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import t as student

from evenhand.stats import simes
from evenhand.stats.contrasts import moderated_shifts
from evenhand.stats.contrasts.axis_test import (
    SKEWED_FREEDOM,
    Flips,
    flip_contrasts,
    flips_reach,
    skewed_p,
    skewed_reach,
)
from tests.helpers.contrast_worlds import draw

LEVEL = 0.05 / 13


def by_brute_force(y, margin, noise):
    """Every pattern counts by the smaller of its two ranks, and the observed one by how many do as well."""
    z = y - np.clip(y.mean(axis=0), -margin, margin)
    own = (z**2).mean(axis=0)
    scale = own + noise + max(0.0, own.mean() - noise.mean())
    sums = [(np.array(s)[:, None] * z).sum(axis=0) for s in product([1, -1], repeat=len(y))]
    squares = np.array([(t**2).sum() for t in sums])
    largest = np.array([(t**2 / scale).max() for t in sums])
    smaller = [
        min(np.mean(squares >= a - 1e-9), np.mean(largest >= b - 1e-9))
        for a, b in zip(squares, largest, strict=True)
    ]
    return np.mean(np.array(smaller) <= smaller[0] + 1e-9)


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_against_all_patterns(margin):
    y = np.random.default_rng(0).normal(0.3, [1, 1, 2, 3], size=(6, 4))
    for noise in (np.zeros(4), np.array([0.1, 0.3, 0.2, 0.5])):
        expected = by_brute_force(y, margin, noise)
        assert flip_contrasts(y, noise=noise, margin=margin) == pytest.approx(expected)


def test_drawn_patterns_are_near_all_of_them_and_repeat_with_their_seed():
    y = np.random.default_rng(1).normal(0.15, 1, size=(14, 5))
    drawn = [flip_contrasts(y, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == pytest.approx(drawn[2], abs=0.04)


def test_flips_are_tried_only_where_they_can_reach_the_level():
    assert not flips_reach(10, LEVEL) and flips_reach(11, LEVEL)
    y = np.ones((14, 2)) * [1, -1] + np.random.default_rng(3).normal(0, 0.1, (14, 2))
    strict = 0.05 / 200
    assert Flips(14, 0, strict).p(y, 0.0) <= strict / 2, "patterns enough are drawn for stricter levels"


def test_a_lone_shift_and_many_mild_ones_are_both_seen_by_the_same_flips():
    rng = np.random.default_rng(4)
    lone, many = np.zeros(32), rng.normal(0, 0.3, 32)
    lone[0] = 1.0
    for shift in (lone, many):
        found = [flip_contrasts(rng.normal(shift, 0.35, (12, 32))) <= LEVEL for _ in range(20)]
        assert np.mean(found) > 0.8


def draw_skewed(rng, contrasts, nouns, size):
    """Interactions that are exponential, of the given sizes: symmetric tests see shifts in them."""
    own = size * (rng.exponential(size=(contrasts, 1, len(size))) - 1)
    return own + 0.02 * rng.normal(size=(contrasts, nouns, len(size)))


def test_skewed_interactions_do_not_make_more_pairs_worse():
    # Simes' over descriptors is false in .03 to .04 of axes here: four audits of ten
    rng = np.random.default_rng(5)
    found, simple = [], []
    for _ in range(60):
        values = draw_skewed(rng, 16, 2, np.full(32, 0.3))
        result = moderated_shifts(values, own_nouns=True, level=LEVEL)
        found.append(result.axis_p <= LEVEL)
        simple.append(simes(result.p) <= 0.05)
    assert np.mean(found) <= 0.0046 + 2 * np.sqrt(0.0046 / 60)
    assert np.mean(simple) > 0.08


@pytest.mark.parametrize("descriptors", [2, 3])
def test_two_or_three_descriptors_need_pairs_enough_for_flips(descriptors):
    rng = np.random.default_rng(6)
    size = np.array([1.0, 0.1, 0.1])[:descriptors]
    few = [moderated_shifts(draw_skewed(rng, 8, 3, size), own_nouns=True, level=LEVEL) for _ in range(60)]
    assert np.mean(["cannot distinguish from chance" in (f.obstacle or "") for f in few]) > 0.95
    assert "At least 11 pairs" in few[0].obstacle
    found = [
        moderated_shifts(draw_skewed(rng, 12, 2, size), own_nouns=True, level=LEVEL).axis_p <= LEVEL
        for _ in range(200)
    ]
    assert np.mean(found) <= 0.0046 + 2 * np.sqrt(0.0046 / 200), "by flips alone .017, by t .022"


def test_skewness_corrected_t_is_never_below_t_and_respects_the_margin():
    rng = np.random.default_rng(7)
    rows = -rng.exponential(size=(12, 5)) + 1
    mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(12)
    p = skewed_p(mean, error, np.full(5, 11.0), rows, 0.0)
    assert (p >= 2 * student.sf(np.abs(mean) / error, 11) - 1e-12).all()
    assert (skewed_p(mean, error, np.full(5, 11.0), rows, 5.0) == 1).all()
    far = [
        float(skewed_p(np.array([-d]), np.array([0.1]), np.array([11.0]), rows[:, :1], 0.0)[0])
        for d in (0.3, 3, 30, 300)
    ]
    assert sorted(far, reverse=True) == far and far[-1] < 1e-6, "farther is never less sure"
    exact = skewed_p(np.array([0.0, 1.0]), np.zeros(2), np.full(2, 4.0), np.tile([0.0, 1.0], (5, 1)), 0.1)
    assert exact.tolist() == [1.0, 0.0]
    # without skewness only the degrees of freedom are fewer
    even = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    assert skewed_p(np.array([3.0]), np.array([0.7]), np.array([4.0]), even, 0.0) == pytest.approx(
        2 * student.sf(3 / 0.7, 4 / SKEWED_FREEDOM)
    )


def test_many_mild_shifts_are_found_by_flips():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(30):
        values = draw("uneven", 12, 2, 32, rng=rng, shift=rng.normal(0, 0.4, 32))
        found.append(moderated_shifts(values, own_nouns=True, level=0.05 / 13).axis_p <= 0.05 / 13)
    assert np.mean(found) > 0.85


def test_the_reach_is_where_the_skewed_p_falls_to_the_level():
    rng = np.random.default_rng(4)
    rows = np.stack([rng.exponential(size=12), -rng.exponential(size=12), rng.normal(size=12)], axis=1)
    error, freedom = np.full(3, 0.3), np.full(3, 11.0)
    for side in (1, -1):
        reach = skewed_reach(freedom, rows, 0.001, side)
        for away, beyond in ((0.999, False), (1.001, True)):
            p = skewed_p(side * away * reach * error, error, freedom, rows, 0.0)
            assert ((p < 0.001) == beyond).all()
    assert skewed_reach(freedom, rows, 0.001, 1)[1] > 1.5 * skewed_reach(freedom, rows, 0.001, 1)[2]
