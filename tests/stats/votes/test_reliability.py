"""Reliability against Shrout and Fleiss' example, and against two groups of raters that were drawn."""

import numpy as np
import pytest

from evenhand.stats.votes import group_reliability, sums_of_items, weighted_correlations

# Shrout & Fleiss 1979, Table 2: six targets, four judges; ICC(1,1) is .17, ICC(1,4) .44
RATINGS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)


def test_the_published_example() -> None:
    sums = sums_of_items(np.repeat(np.arange(6), 4), RATINGS.ravel())
    found = group_reliability(*sums)
    assert found.reliability.round(2).tolist() == [0.44]
    assert found.ceiling == pytest.approx(found.reliability**0.5)


def test_two_groups_of_raters_correlate_so() -> None:
    rng = np.random.default_rng(0)
    truth = rng.beta(2, 3, 5000)
    sizes = rng.integers(2, 6, 5000)
    items = np.repeat(np.arange(5000), sizes)
    groups = [(rng.random(len(items)) < truth[items]).astype(float) for _ in range(2)]
    shares = [np.bincount(items, each) / sizes for each in groups]
    found = group_reliability(*sums_of_items(items, groups[0]))
    assert found.reliability[0] == pytest.approx(np.corrcoef(*shares)[0, 1], abs=0.03)
    assert found.ceiling[0] == pytest.approx(np.corrcoef(truth, shares[0])[0, 1], abs=0.03)


def test_weights_count_items() -> None:
    rng = np.random.default_rng(1)
    items, values = np.repeat(np.arange(30), 3), rng.random(90)
    sums = sums_of_items(items, values)
    times = rng.integers(0, 3, 30)
    copied = np.concatenate(
        [np.repeat(np.flatnonzero(items == item), 1) for item in np.repeat(np.arange(30), times)]
    )
    labels = np.repeat(np.arange(times.sum()), 3)
    assert group_reliability(*sums, times[None, :]).reliability == pytest.approx(
        group_reliability(*sums_of_items(labels, values[copied])).reliability
    )
    other = rng.random(30)
    expected = np.corrcoef(np.repeat(other, times), np.repeat(sums[1], times))[0, 1]
    assert weighted_correlations(other, sums[1], times[None, :].astype(float)) == pytest.approx([expected])


def test_single_votes_tell_nothing() -> None:
    found = group_reliability(np.ones(5), np.arange(5.0), np.zeros(5))
    assert np.isnan(found.reliability).all() and np.isnan(found.ceiling).all()
