"""The signed-rank test against scipy, enumeration of all signs, and simulated error rates."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as nps
from scipy.stats import wilcoxon

from evenhand.schema import UsageError
from evenhand.stats import rank_tests, signed_rank


@pytest.mark.parametrize("n", [1, 2, 5, 9, 32, 50, 60])
def test_exact_branch_equals_scipy(n):
    rows = np.random.default_rng(n).normal(0.2, 1, size=(200, n))
    statistic, p = signed_rank(rows)
    expected = wilcoxon(rows, axis=1, method="exact")
    np.testing.assert_array_equal(statistic, expected.statistic)
    np.testing.assert_allclose(p, expected.pvalue, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n", [61, 100, 400])
def test_normal_branch_equals_scipy(n):
    rows = np.random.default_rng(n).normal(0.1, 1, size=(100, n))
    statistic, p = signed_rank(rows)
    expected = wilcoxon(rows, axis=1, method="asymptotic")
    np.testing.assert_array_equal(statistic, expected.statistic)
    np.testing.assert_allclose(p, expected.pvalue, rtol=1e-12)


def test_ties_zeros_and_missing_equal_scipy():
    generator = np.random.default_rng(4)
    rows = np.round(generator.normal(0.3, 2, size=(1500, 32)))
    rows[generator.random(rows.shape) < 0.15] = np.nan
    statistic, p = signed_rank(rows)
    expected = wilcoxon(rows, axis=1, method="asymptotic", nan_policy="omit")
    np.testing.assert_allclose(statistic, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(p, expected.pvalue, rtol=1e-12)


def test_missing_pairs_leave_the_exact_test_of_the_rest():
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(200, 20))
    gaps = generator.random(rows.shape) < 0.4
    statistic, p = signed_rank(np.where(gaps, np.nan, rows))
    for place in range(200):
        kept = rows[place][~gaps[place]]
        expected = wilcoxon(kept, method="exact")
        assert statistic[place] == expected.statistic
        assert p[place] == pytest.approx(expected.pvalue, rel=1e-12)


def test_exact_p_counts_sign_patterns():
    values = np.array([0.3, -1.2, 2.5, 0.7, -0.1, 1.9])
    ranks = np.abs(values).argsort().argsort() + 1
    sums = [
        sum(r for r, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product([0, 1], repeat=6)
    ]
    observed = ranks[values > 0].sum()
    tail = min(np.mean(np.array(sums) >= observed), np.mean(np.array(sums) <= observed))
    assert signed_rank(values)[1][0] == pytest.approx(min(1.0, 2 * tail), abs=1e-15)


@settings(max_examples=60)
@given(
    nps.arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 12)),
        elements=st.integers(-6, 6).map(lambda value: value / 2),
    )
)
def test_symmetry_and_order_do_not_matter(rows):
    statistic, p = signed_rank(rows)
    for other in (-rows, rows[:, ::-1]):
        other_statistic, other_p = signed_rank(other)
        np.testing.assert_allclose(other_statistic, statistic, rtol=1e-12)
        np.testing.assert_allclose(other_p, p, rtol=1e-12)
    assert ((p >= 0) & (p <= 1)).all()
    assert signed_rank(rows, margin=0.25)[1].min() >= 0
    # a wider null is never easier to reject than a narrower one, apart from the normal approximation
    untied = rows + np.arange(rows.shape[1]) * 1e-3 + 1e-4
    assert (signed_rank(untied, margin=0.3)[1] >= signed_rank(untied, margin=0.1)[1] - 1e-12).all()


def test_margin_is_two_one_sided_tests():
    rows = np.random.default_rng(6).normal(0.4, 1, size=(100, 25))
    _, p = signed_rank(rows, margin=0.2)
    up = wilcoxon(rows - 0.2, axis=1, method="exact", alternative="greater").pvalue
    down = wilcoxon(rows + 0.2, axis=1, method="exact", alternative="less").pvalue
    np.testing.assert_allclose(p, np.minimum(1, 2 * np.minimum(up, down)), rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3])
def test_margin_holds_its_level_inside_the_null(shift):
    rows = np.random.default_rng(7).normal(shift, 1, size=(20_000, 32))
    _, p = signed_rank(rows, margin=0.3)
    assert (p <= 0.05).mean() <= 0.055
    if shift == 0.3:  # at the edge of the null only the near side can reject
        assert abs((p <= 0.05).mean() - 0.025) < 0.005


def test_margin_finds_what_lies_beyond_it():
    rows = np.random.default_rng(8).normal(1.2, 1, size=(500, 32))
    assert (signed_rank(rows, margin=0.3)[1] <= 0.05).mean() > 0.95
    assert (signed_rank(-rows, margin=0.3)[1] <= 0.05).mean() > 0.95


def test_level_is_exact_without_margin():
    _, p = signed_rank(np.random.default_rng(9).laplace(size=(20_000, 20)))
    reachable = p[p <= 0.05].max()
    assert abs((p <= 0.05).mean() - reachable) < 0.005


def test_rows_without_information():
    statistic, p = signed_rank([[0.0, 0.0, -0.0], [np.nan] * 3, [np.nan, 0.0, 0.0], [np.nan, 2.0, np.nan]])
    np.testing.assert_array_equal(statistic, [0, np.nan, 0, 0])
    np.testing.assert_array_equal(p, [1, np.nan, 1, 1])
    empty_statistic, empty_p = signed_rank(np.empty((0, 5)))
    assert empty_statistic.shape == empty_p.shape == (0,)
    assert np.isnan(signed_rank(np.empty((2, 0)))[1]).all()


def test_blocks_of_rows_give_the_same(monkeypatch):
    rows = np.round(np.random.default_rng(10).normal(size=(300, 16)), 1)
    whole = signed_rank(rows, margin=0.05)
    monkeypatch.setattr(rank_tests, "_CHUNK", 16 * 7)
    pieces = signed_rank(rows, margin=0.05)
    np.testing.assert_array_equal(whole, pieces)


def test_wrong_input_is_refused():
    with pytest.raises(UsageError, match="margin"):
        signed_rank([1.0], margin=-1)
    with pytest.raises(UsageError, match="margin"):
        signed_rank([1.0], margin=float("nan"))
    with pytest.raises(UsageError, match="infinite"):
        signed_rank([1.0, float("inf")])
    with pytest.raises(UsageError, match="dimensions"):
        signed_rank(np.zeros((2, 2, 2)))


@pytest.mark.slow
def test_700_000_rows_in_bounded_memory():
    import tracemalloc

    rows = np.random.default_rng(0).normal(size=(700_000, 32))
    tracemalloc.start()
    signed_rank(rows, margin=0.05)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300e6
