"""Scales of changes by hand, and an order that neither rows nor names decide."""

import numpy as np
import pytest

from evenhand.stats.disparity.changes.changed_units import canonical_order, change_scales


def test_scales_of_shares_come_from_both_rates():
    first, second = np.array([0.0, 1, 1, 0]), np.array([1.0, 1, 1, 0])
    found = change_scales(first, second, np.array([0, 2]), np.array([2.0, 2.0]))
    shares = np.array([[1.5, 1.5], [2.5, 1.5]]) / 3
    assert found == pytest.approx(np.sqrt((shares * (1 - shares)).sum(axis=0)))


def test_scales_of_numbers_lean_on_the_axis():
    first, second = np.array([0.0, 10, 4, 6]), np.zeros(4)
    found = change_scales(first, second, np.array([0, 2]), np.array([2.0, 2.0]))
    usual = (50 + 2) / 2
    assert found == pytest.approx(np.sqrt([(50 + 20 * usual) / 21, (2 + 20 * usual) / 21]))


def test_the_same_units_in_another_order_are_dealt_alike():
    draws = np.random.default_rng(0)
    first, second, codes = draws.random(30), draws.random(30), draws.integers(0, 3, 30)
    order, mixed = canonical_order(first, second, codes), draws.permutation(30)
    again = canonical_order(first[mixed], second[mixed], np.array([2, 0, 1])[codes[mixed]])
    assert np.array_equal(first[order], first[mixed][again])
