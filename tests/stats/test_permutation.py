"""Permutation nulls and sign flips against enumeration, published null floors and simulated levels."""

import itertools
import math

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats import exchange_test, group_gap, permutation_null, sign_flip_test


def mean_difference(values, labels):
    """Mean of group 1 minus mean of group 0."""
    ones = labels == 1
    return (values * ones).sum(axis=1) / ones.sum(axis=1) - (values * ~ones).sum(axis=1) / (~ones).sum(axis=1)


def test_p_approaches_full_enumeration():
    values = np.array([1.0, 4.0, 2.5, 6.0, 5.0, 7.5, 3.0])
    labels = np.array([0, 0, 0, 1, 1, 1, 0])
    observed = mean_difference(values, labels[None, :])[0]
    every = []
    for chosen in itertools.combinations(range(7), 3):
        arrangement = np.isin(np.arange(7), chosen).astype(int)
        every.append(mean_difference(values, arrangement[None, :])[0])
    exact = np.mean(np.array(every) >= observed - 1e-12)
    null = permutation_null(mean_difference, values, labels, draws=20_000, seed=0)
    assert null.observed == pytest.approx(observed)
    assert null.p == pytest.approx(exact, abs=0.005)
    assert null.mean == pytest.approx(np.mean(every), abs=0.03)
    assert null.excess == pytest.approx(observed - null.mean)


def test_agrees_with_scipy_within_blocks():
    # with blocks of two (pairs), permuting labels within blocks is flipping the signs of the differences
    from scipy.stats import permutation_test

    generator = np.random.default_rng(1)
    first, second = generator.normal(0.5, 1, size=12), generator.normal(size=12)
    expected = permutation_test(
        (first - second,), np.mean, permutation_type="samples", alternative="greater", n_resamples=np.inf
    )
    null = permutation_null(
        mean_difference,
        np.concatenate([second, first]),
        np.repeat(["plain", "toxic"], 12),
        blocks=np.tile(np.arange(12), 2),
        draws=20_000,
        seed=2,
    )
    assert null.p == pytest.approx(expected.pvalue, abs=0.006)


def test_labels_stay_in_their_block():
    blocks = np.array([2, 0, 1, 0, 2, 1, 0, 2])
    labels = np.array([0, 1, 1, 0, 1, 1, 0, 0])
    seen = []

    def record(values, arrangement):
        # values are handed over with their labels in the same (block) order
        seen.append((values.copy(), arrangement.copy()))
        return np.zeros(len(arrangement))

    permutation_null(record, np.arange(8.0), labels, blocks=blocks, draws=500, seed=3)
    values, arrangements = seen[1]
    block_of = blocks[values.astype(int)]
    for block in range(3):
        in_block = arrangements[:, block_of == block]
        np.testing.assert_array_equal(np.unique(in_block.sum(axis=1)), [labels[blocks == block].sum()])
    assert len(np.unique(arrangements, axis=0)) == 3 * 3 * 1  # C(3,1) × C(3,1) × C(2,2) arrangements


@pytest.mark.parametrize(
    ("groups", "n", "points"), [(2, 100, 3.4), (13, 25, 19.2), (13, 100, 10.0), (50, 100, 13.3)]
)
def test_gap_without_bias_is_the_published_one(groups, n, points):
    # by simulation: expected max-min gap, base rate 10 %, in percentage points
    generator = np.random.default_rng(groups + n)
    labels = np.repeat(np.arange(groups), n)
    means = [
        permutation_null(group_gap, generator.random(groups * n) < 0.1, labels, draws=60, seed=seed).mean
        for seed in range(40)
    ]
    assert 100 * np.mean(means) == pytest.approx(points, rel=0.06)


def test_planted_gap_is_found_and_none_is_not():
    generator = np.random.default_rng(5)
    labels, blocks = np.tile(np.arange(8), 50), np.repeat(np.arange(50), 8)
    difficulty = np.repeat(generator.normal(size=50) * 4, 8)
    values = difficulty + generator.normal(size=400)
    assert permutation_null(group_gap, values, labels, blocks=blocks, seed=0).p > 0.05
    planted = values + 1.0 * (labels == 3)
    within = permutation_null(group_gap, planted, labels, blocks=blocks, seed=0)
    assert within.p == 0.001
    assert within.observed > within.quantile_95 > within.mean
    # difficulty of prompts is noise to a test that does not hold it fixed
    assert permutation_null(group_gap, planted, labels, seed=0).p > 0.05


def test_level_under_the_null():
    generator = np.random.default_rng(6)
    labels = np.repeat([0, 1, 2], 6)
    p = [
        permutation_null(group_gap, generator.normal(size=18), labels, draws=99, seed=seed).p
        for seed in range(1500)
    ]
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(np.array(p) <= level) - level) < 0.035


def test_missing_values_and_wrong_input():
    null = permutation_null(mean_difference, [1.0, np.nan, 2.0, 3.0], ["a", "a", "b", "b"], draws=9, seed=0)
    assert null.observed == 1.5
    assert 0.1 <= null.p <= 1
    with pytest.raises(UsageError, match="at least two groups"):
        permutation_null(mean_difference, [1.0, 2.0], ["a", "a"], seed=0)
    with pytest.raises(UsageError, match="different shapes"):
        permutation_null(mean_difference, [1.0, 2.0], ["a"], seed=0)
    with pytest.raises(UsageError, match=r"draws must be .* got 0"):
        permutation_null(mean_difference, [1.0, 2.0], ["a", "b"], draws=0, seed=0)


@pytest.mark.parametrize("n", [1, 2, 7, 11])
def test_sign_flips_enumerate_every_pattern(n):
    from scipy.stats import permutation_test

    rows = np.random.default_rng(n).normal(0.5, 1, size=(20, n))
    mean, p = sign_flip_test(rows)
    np.testing.assert_allclose(mean, rows.mean(axis=1))
    signs = np.array(list(itertools.product([-1, 1], repeat=n)))
    for row, own in zip(rows, p, strict=True):
        expected = np.mean(np.abs(signs @ row) >= abs(row.sum()) - 1e-12)
        assert own == pytest.approx(expected, abs=1e-15)
    if n == 11:
        scipys = permutation_test((rows[0],), np.mean, permutation_type="samples", n_resamples=np.inf)
        assert p[0] == pytest.approx(scipys.pvalue, abs=1e-12)


def test_random_sign_flips_approach_the_t_test():
    from scipy.stats import ttest_1samp

    rows = np.random.default_rng(8).normal(0.15, 1, size=(30, 200))
    _, p = sign_flip_test(rows, draws=9999, seed=1)
    np.testing.assert_allclose(p, ttest_1samp(rows, 0, axis=1).pvalue, atol=0.02)
    assert p.min() >= 1e-4


def test_flipping_clusters_together():
    generator = np.random.default_rng(9)
    clusters = np.repeat(np.arange(12), 20)
    rows = np.repeat(generator.normal(size=(800, 12)), 20, axis=1) + generator.normal(size=(800, 240))
    _, alone = sign_flip_test(rows, draws=499)
    _, together = sign_flip_test(rows, clusters=clusters)
    assert np.mean(alone <= 0.05) > 0.3  # pretending independence
    assert abs(np.mean(together <= 0.05) - 0.05) < 0.025
    with pytest.raises(UsageError, match="clusters has the shape"):
        sign_flip_test(rows, clusters=[1, 2])


def test_sign_flips_with_missing_pairs():
    mean, p = sign_flip_test([[1.0, np.nan, 3.0, 2.0], [np.nan] * 4, [0.0, 0.0, 0.0, np.nan]])
    assert mean[0] == 2.0
    assert p[0] == sign_flip_test([1.0, 3.0, 2.0])[1][0] == 0.25
    assert math.isnan(mean[1])
    assert math.isnan(p[1])
    assert p[2] == 1.0


def ratio(sums):
    """A number that follows from two sums."""
    return sums[..., :1] / sums[..., 1:]


def test_exchanged_answers_against_all_exchanges():
    rng = np.random.default_rng(2)
    first, second = rng.random((2, 9, 2)) + 0.2
    clusters = [0, 0, 1, 2, 3, 4, 5, 6, 7]
    apart = []
    for turned in itertools.product((False, True), repeat=8):
        other = np.array([turned[c] for c in clusters])[:, None]
        sides = np.where(other, second, first).sum(axis=0), np.where(other, first, second).sum(axis=0)
        apart.append(abs(ratio(sides[1]) - ratio(sides[0])))
    exact = np.mean(np.array(apart) >= apart[0] - 1e-12)
    found = exchange_test(first, second, clusters, ratio, draws=20_000, seed=0)
    assert found.tolist() == pytest.approx([exact], abs=0.01)
    assert exchange_test(first, first, clusters, ratio, seed=0).tolist() == [1.0]
    with pytest.raises(UsageError, match="of shapes"):
        exchange_test(first, second[:5], clusters, ratio, seed=0)
