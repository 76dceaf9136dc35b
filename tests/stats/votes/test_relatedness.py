"""Covariances of votes against loops over all pairs, and against the truth they were drawn from."""

import numpy as np
import pytest

from evenhand.stats.votes.relatedness import (
    WORKING_CORRELATION,
    contrast,
    correlations,
    find_factors,
    whole_clusters,
    working_weights,
)


def votes(seed: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    return rng.random(60), [rng.integers(0, 12, 60), rng.integers(0, 20, 60)]


def test_one_way_is_the_mean_product_of_pairs() -> None:
    y, (person, _) = votes()
    y = y + np.random.default_rng(1).normal(0, 0.4, 12)[person]
    variance = float(y.var()) * 1.1
    top = bottom = 0.0
    counts = np.bincount(person)
    for i in range(60):
        for j in range(60):
            if i != j and person[i] == person[j]:
                weight = 1 / (1 + WORKING_CORRELATION * (counts[person[i]] - 1)) ** 2
                top += weight * (variance - (y[i] - y[j]) ** 2 / 2)
                bottom += weight
    found = correlations(find_factors([person]), y, variance)
    assert found[0] == pytest.approx(top / bottom / variance)
    assert correlations(find_factors([person]), y + 7.0, variance) == pytest.approx(found)


def test_the_error_of_a_contrast_is_that_of_all_pairs() -> None:
    _, labels = votes()
    rng = np.random.default_rng(2)
    weights, shares = rng.normal(size=60), np.array([0.3, 0.2])
    expected = 0.0
    for i in range(60):
        for j in range(60):
            covariance = sum(s * (way[i] == way[j]) for s, way in zip(shares, labels, strict=True))
            expected += weights[i] * weights[j] * (1.0 if i == j else covariance)
    assert contrast(find_factors(labels), weights, shares).share == pytest.approx(expected)


def test_two_ways_are_told_apart_also_where_one_lies_within_the_other() -> None:
    rng = np.random.default_rng(3)
    prompt = np.repeat(np.arange(400), 6)
    item = np.repeat(np.arange(1200), 2)
    y = rng.normal(0, 0.5, 400)[prompt] + rng.normal(0, 0.5, 1200)[item] + rng.normal(0, 0.5**0.5, 2400)
    assert correlations(find_factors([prompt, item]), y, 1.0) == pytest.approx([0.25, 0.25], abs=0.05)


def test_weights_depend_on_counts_alone_and_even_counts_weigh_the_same() -> None:
    even = working_weights(find_factors([np.repeat(np.arange(10), 4), np.tile(np.arange(20), 2)]))
    assert even == pytest.approx(np.full(40, 1 / 40))
    uneven = working_weights(find_factors([np.repeat([0, 1], [101, 1]), np.arange(102)]))
    assert uneven[:101].sum() / uneven[101] == pytest.approx(101 / 11)


def test_balanced_clusters_have_as_many_degrees_of_freedom_as_clusters() -> None:
    ways = find_factors([np.repeat(np.arange(30), 5)])
    weights = np.full(150, 1 / 150)
    assert contrast(ways, weights, np.array([0.0])).freedom == pytest.approx(30, abs=2)
    every = whole_clusters(ways, weights)
    assert (every.share, every.freedom) == pytest.approx((1 / 30, 29))


def test_no_pair_tells_nothing() -> None:
    assert correlations(find_factors([np.arange(5), np.arange(5)]), np.arange(5.0)).tolist() == [0.0, 0.0]
