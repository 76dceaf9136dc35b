"""Flips of whole contrasts: by brute force, and what flips of single descriptors' signs would do."""

from itertools import product

import numpy as np
import pytest

from evenhand.stats.contrasts import moderated_shifts
from evenhand.stats.contrasts.axis_test import flip_contrasts, flips_help
from tests.helpers.contrast_worlds import draw


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_against_all_patterns(margin):
    y = np.random.default_rng(0).normal(0.3, 1, size=(6, 4))
    z = y - np.clip(y.mean(axis=0), -margin, margin)
    sums = [float(((np.array(s)[:, None] * z).sum(axis=0) ** 2).sum()) for s in product([1, -1], repeat=6)]
    expected = np.mean(np.array(sums) >= sums[0] - 1e-9)
    assert flip_contrasts(y, margin=margin) == pytest.approx(expected)


def test_drawn_patterns_are_near_all_of_them_and_repeat_with_their_seed():
    y = np.random.default_rng(1).normal(0.15, 1, size=(14, 5))
    drawn = [flip_contrasts(y, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == pytest.approx(drawn[2], abs=0.04)


def test_flips_are_tried_only_where_they_can_reach_the_level():
    assert not flips_help(10, 0.05 / 13, own_nouns=True)
    assert flips_help(11, 0.05 / 13, own_nouns=True)
    assert not flips_help(30, 0.05 / 13, own_nouns=False)


def test_many_mild_shifts_are_found_by_flips():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(30):
        values = draw("uneven", 12, 2, 32, rng=rng, shift=rng.normal(0, 0.4, 32))
        found.append(moderated_shifts(values, own_nouns=True, level=0.05 / 13).axis_p <= 0.05 / 13)
    assert np.mean(found) > 0.85
