"""Hypergeometric limits: printed figures, and coverage when some of an axis are drawn (point 6)."""

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats.contrasts import chance_of_drawing, differing_in_axis


@pytest.mark.parametrize(("drawn", "none", "one"), [(16, 22, 39), (32, 10, 20), (64, 4, 9)])
def test_printed_limits(drawn, none, one):
    assert differing_in_axis(138, drawn, 0, 0, tail=0.05) == (0, none)
    assert differing_in_axis(138, drawn, 1, 1) == (1, one)


def test_printed_chances():
    printed = {16: [0.12, 0.31, 0.59, 0.84], 32: [0.23, 0.55, 0.85, 0.98], 64: [0.46, 0.85, 0.99, 1.0]}
    for drawn, chances in printed.items():
        assert [round(chance_of_drawing(138, drawn, h), 2) for h in (1, 3, 7, 14)] == chances


def test_all_drawn_leaves_only_what_is_unproved():
    assert differing_in_axis(10, 10, 3, 5) == (3, 5)


def test_point_6_two_draws_of_one_axis_cover_the_same_truth():
    rng = np.random.default_rng(0)
    for hostile in (0, 1, 6, 40):
        inside = []
        for _ in range(300):
            seen = int((rng.permutation(138)[:16] < hostile).sum())
            low, high = differing_in_axis(138, 16, seen, seen)
            inside.append(low <= hostile <= high)
        assert np.mean(inside) >= 0.94


def test_numbers_that_cannot_be():
    with pytest.raises(UsageError, match=r"differing_in_axis: .* got proved"):
        differing_in_axis(10, 5, 4, 3)
    with pytest.raises(UsageError, match=r"chance_of_drawing: .* got"):
        chance_of_drawing(10, 11)
