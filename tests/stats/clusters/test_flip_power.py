"""Smallest shifts: found as often as promised in new data, and the correlation they are told of."""

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats.clusters import cluster_flip, correlation_within, smallest_shift


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.4])
def test_correlation_is_recovered(correlation):
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 12, size=4000)
    weight = (1 - correlation) / correlation if correlation else np.inf
    chance = rng.beta(0.6 * weight, 0.4 * weight, size=4000) if correlation else 0.6
    plus = rng.binomial(sizes, chance)
    assert correlation_within(plus, sizes - plus) == pytest.approx(correlation, abs=0.02)


def test_correlation_by_hand_and_where_there_is_none():
    # two clusters of two: one agrees, one does not; p = 3/4, chance agreement 5/8
    assert correlation_within([2, 1], [0, 1]) == 0.0
    assert correlation_within([2, 0], [0, 2]) == 0.9  # all agree: clipped
    assert correlation_within([1, 1], [0, 0]) == 0.0  # no two in a cluster
    assert np.isnan(correlation_within([3, 3], [0, 0]))


@pytest.mark.parametrize(
    ("sizes", "correlation", "decided"),
    [([1] * 60, 0.0, 1.0), ([30] + [2] * 25, 0.1, 1.0), ([1] * 80 + [10], 0.05, 0.3), ([3] * 12, 0.2, 1.0)],
)
def test_the_stated_shift_is_found_in_four_of_five_new_data_sets(sizes, correlation, decided):
    level = 0.05 / 9
    shift = smallest_shift(sizes, level=level, correlation=correlation, decided=decided)
    rng = np.random.default_rng(3)
    share = 0.5 + 0.5 * shift / max(decided, shift)
    n = np.array(sizes)
    found = []
    for _ in range(250):
        weight = (1 - correlation) / correlation if correlation else 0.0
        chance = rng.beta(share * weight, (1 - share) * weight, size=len(n)) if weight else share
        known = rng.binomial(n, max(decided, shift))
        found.append(cluster_flip(2 * rng.binomial(known, chance) - known, n, draws=1999).p <= level)
    assert 0.7 <= np.mean(found) <= 0.9


def test_too_few_clusters_find_nothing_whatever_there_is():
    assert np.isnan(smallest_shift([50] * 8, level=0.05 / 9))
    assert smallest_shift([50] * 9, level=0.05 / 9) < 1
    assert np.isnan(smallest_shift([], level=0.05))


def test_formula_of_many_clusters_joins_the_simulation():
    for size, correlation, decided in ((2, 0.2, 1.0), (1, 0.0, 0.2)):
        near, many = (
            smallest_shift([size] * n, level=0.01, correlation=correlation, decided=decided)
            for n in (900, 1800)
        )
        assert many == pytest.approx(near / 2**0.5, rel=0.08)


def test_bad_shares_are_explained():
    with pytest.raises(UsageError, match=r"correlation=1\.5"):
        smallest_shift([1] * 20, level=0.05, correlation=1.5)
