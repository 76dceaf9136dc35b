"""Sign flips of whole clusters: a worked example, brute force, and what test and interval promise each other."""

import itertools

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats.clusters import cluster_flip, smallest_flip_p

WINS, SIZES = [7, 3, 1, 0, 5, 2, 1, 3], [8, 4, 1, 2, 6, 3, 1, 3]


def p_by_brute_force(totals, sizes, q):
    scores = np.asarray(totals, float) - q * np.asarray(sizes, float)
    signs = np.array(list(itertools.product((1, -1), repeat=len(scores))))
    return np.mean(np.abs(signs @ scores) >= abs(scores.sum()) - 1e-9)


def test_the_worked_example_to_all_its_digits():
    flip = cluster_flip(WINS, SIZES, null=0.5, bounds=(0, 1))
    assert (flip.estimate, flip.p) == (pytest.approx(22 / 28), 9 / 128)
    assert f"{flip.p:.4f}" == "0.0703" and (flip.low, flip.high) == (0.5, 1.0)
    assert (flip.clusters, flip.smallest_p) == (8, 2**-7)


@pytest.mark.parametrize("seed", range(12))
def test_test_and_interval_are_those_of_all_sign_patterns(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, size=rng.integers(2, 11))
    wins = rng.binomial(sizes, rng.uniform(0.2, 1))
    if np.ptp(wins / sizes) == 0:
        wins[0] -= 1
    flip = cluster_flip(wins, sizes, null=0.5, bounds=(0, 1))
    assert flip.p == pytest.approx(p_by_brute_force(wins, sizes, 0.5), abs=1e-12)
    grid = np.linspace(0.0005, 0.9995, 1000)
    kept = [q for q in grid if p_by_brute_force(wins, sizes, q) > 0.05]
    assert min(kept) == pytest.approx(flip.low, abs=0.0011)
    assert max(kept) == pytest.approx(flip.high, abs=0.0011)


def test_p_below_a_twentieth_if_and_only_if_the_interval_leaves_out_the_null():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(400):
        sizes = rng.integers(1, 6, size=rng.integers(1, 25))
        share = rng.choice([0.5, 0.65, 0.8, 1.0])
        flip = cluster_flip(rng.binomial(sizes, share), sizes, null=0.5, bounds=(0, 1), draws=999)
        outside = not flip.low <= 0.5 <= flip.high
        assert outside == (flip.p <= 0.05), (sizes, flip)
        assert flip.low <= flip.estimate <= flip.high
        found += outside
    assert 80 < found < 320


@pytest.mark.parametrize(("clusters", "low"), [(1, 0.025), (5, 0.478), (6, 0.541), (9, 0.664), (60, 0.940)])
def test_clusters_of_one_mind_have_the_interval_of_a_binomial_of_clusters(clusters, low):
    # Clopper and Pearson's lower limits for k of k; flips alone would give an interval from 100 to 100 %
    flip = cluster_flip([3] * clusters, [3] * clusters, null=0.5, bounds=(0, 1))
    assert (flip.estimate, flip.high) == (1.0, 1.0)
    assert flip.low == pytest.approx(low, abs=5e-4)
    mirrored = cluster_flip([0] * clusters, [3] * clusters, null=0.5, bounds=(0, 1))
    assert (mirrored.low, mirrored.high, mirrored.p) == (0.0, pytest.approx(1 - flip.low), flip.p)


def test_ties_alone_are_no_difference_and_keep_a_width():
    flip = cluster_flip([1.0] * 20, [2] * 20, null=0.5, bounds=(0, 1))
    assert (flip.estimate, flip.p) == (0.5, 1.0)
    assert flip.low < 0.5 < flip.high


def test_one_cluster_and_none():
    one = cluster_flip([9], [10], null=0.5, bounds=(0, 1))
    assert (one.p, one.smallest_p, one.low <= 0.5 <= one.high) == (1.0, 1.0, True)
    none = cluster_flip([0], [0])
    assert none.clusters == 0 and np.isnan([none.estimate, none.low, none.high, none.p]).all()


def test_order_and_sign_of_the_clusters_change_nothing():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 9, size=40)
    wins = rng.binomial(sizes, 0.6)
    order = rng.permutation(40)
    flip = cluster_flip(wins, sizes, null=0.5, bounds=(0, 1))
    assert cluster_flip(wins[order], sizes[order], null=0.5, bounds=(0, 1)) == flip
    assert cluster_flip(wins, sizes, null=0.5, bounds=(0, 1), seed=1).p == pytest.approx(flip.p, abs=0.02)


def test_the_smallest_p_is_that_of_clusters_of_one_mind():
    for clusters in (1, 2, 6, 9, 12):
        flip = cluster_flip([2] * clusters, [2] * clusters, null=0.5)
        assert flip.p == flip.smallest_p == smallest_flip_p(clusters)
    assert smallest_flip_p(13) == pytest.approx(2**-12) and smallest_flip_p(0) == 1.0


def test_changes_between_minus_one_and_one():
    flip = cluster_flip([0.0] * 30, [4] * 30, bounds=(-1, 1))
    assert (flip.estimate, flip.p) == (0.0, 1.0) and flip.low == pytest.approx(-flip.high)
    assert 0 < flip.high < 0.2
    shifted = cluster_flip([1, 2, 0, 3, 1, 1, 2, 0, 4, 1, 2, 1, 1, 2], [4] * 14, bounds=(-1, 1))
    assert shifted.p < 0.01 and 0 < shifted.low < shifted.estimate == 21 / 56


@pytest.mark.parametrize(
    ("totals", "sizes", "options", "match"),
    [
        ([1, 2], [1], {}, "shape"),
        ([1, np.nan], [1, 1], {}, "finite"),
        ([1], [-1], {}, "0 or more"),
        ([1], [1], {"level": 1.0}, "level=1.0"),
    ],
)
def test_bad_input_is_explained(totals, sizes, options, match):
    with pytest.raises(UsageError, match=match):
        cluster_flip(totals, sizes, **options)


def test_size_and_coverage_where_one_cluster_holds_a_third_of_all():
    # 600 data sets of 40 clusters, one of them as large as 20; correlation .2 within clusters
    rng = np.random.default_rng(7)
    sizes = np.array([20] + [1] * 30 + [2] * 5 + [4] * 4)
    for share, low, high in ((0.5, 0.02, 0.075), (0.6, 0.02, 0.08)):
        weight = 0.8 / 0.2
        chance = rng.beta(share * weight, (1 - share) * weight, size=(600, len(sizes)))
        wins = rng.binomial(sizes, chance)
        flips = [cluster_flip(row, sizes, null=share, bounds=(0, 1), draws=499) for row in wins]
        missed = np.mean([not flip.low <= share <= flip.high for flip in flips])
        assert low <= missed <= high, (share, missed)
