"""The error of a mean over persons and items crossed, against its closed form and against studies drawn anew."""

import numpy as np
import pytest

from evenhand.stats.votes import two_way_jackknife


def test_a_mean_has_the_error_of_persons_and_items_together() -> None:
    rng = np.random.default_rng(0)
    items, persons = np.repeat(np.arange(40), 12), np.tile(np.arange(12), 40)
    found = []
    for _ in range(30):
        values = rng.normal(0, 1, 12)[persons] + rng.normal(0, 1, 40)[items] + rng.normal(size=480)
        error = two_way_jackknife(lambda kept, values=values: float(values[kept].mean()), items, persons)  # type: ignore[misc]
        assert error.bias == pytest.approx(0, abs=1e-9)
        found.append(error.standard_error**2)
    assert np.mean(found) == pytest.approx(1 / 12 + 1 / 40 + 1 / 480, rel=0.2)


def test_items_alone_are_the_usual_jackknife() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=50)
    error = two_way_jackknife(lambda kept: float(values[kept].mean()), np.arange(50), np.arange(50))
    assert error.standard_error == pytest.approx(values.std(ddof=1) / 50**0.5)


def test_the_order_of_votes_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    items, persons, values = np.repeat(np.arange(100), 3), np.arange(300) % 70, rng.normal(size=300)
    mixed = rng.permutation(300)
    one = two_way_jackknife(lambda kept: float(values[kept].mean()), items, persons)
    other = two_way_jackknife(lambda kept: float(values[mixed][kept].mean()), items[mixed], persons[mixed])
    assert other.standard_error == pytest.approx(one.standard_error)


def test_what_is_mostly_unknown_has_no_error() -> None:
    items, persons = np.repeat(np.arange(10), 2), np.tile(np.arange(2), 10)
    error = two_way_jackknife(lambda kept: 1.0 if kept.all() else float("nan"), items, persons)
    assert np.isnan(error.standard_error)
