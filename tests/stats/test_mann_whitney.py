"""All pairs at once must be what scipy says one pair at a time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import mannwhitneyu

from evenhand.stats.mann_whitney import all_pairs


def _compare(groups: list[np.ndarray]) -> None:
    values = np.concatenate(groups)
    codes = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    first, second, u, p = all_pairs(values, codes, len(groups))
    assert len(first) == len(groups) * (len(groups) - 1) // 2
    for i, j, u_ij, p_ij in zip(first, second, u, p, strict=True):
        with np.errstate(all="ignore"):
            expected = mannwhitneyu(groups[i], groups[j])
        assert u_ij == expected.statistic
        assert p_ij == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize("size", [(32, 32, 32, 32), (9, 12, 40), (10, 9, 9, 31, 17)])
@pytest.mark.parametrize("decimals", [12, 1, 0])
def test_normal_branch_with_and_without_ties(size: tuple[int, ...], decimals: int) -> None:
    rng = np.random.default_rng(len(size) + decimals)
    _compare([np.round(rng.normal(k / 3, 1, n), decimals) for k, n in enumerate(size)])


@pytest.mark.parametrize("size", [(8, 8), (1, 1), (3, 30), (8, 9, 2), (5, 5, 5)])
@pytest.mark.parametrize("decimals", [12, 0])
def test_exact_branch_of_small_samples(size: tuple[int, ...], decimals: int) -> None:
    rng = np.random.default_rng(7)
    _compare([np.round(rng.normal(k, 1, n), decimals) for k, n in enumerate(size)])


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=12), min_size=2, max_size=5))
def test_any_integers(groups: list[list[int]]) -> None:
    _compare([np.array(g, dtype=float) for g in groups])


def test_all_equal_is_no_evidence() -> None:
    *_, u, p = all_pairs(np.ones(24), np.repeat([0, 1], 12), 2)
    assert u[0] == 72 and p[0] == 1.0


def test_missing_values_poison_their_group_only() -> None:
    values = np.concatenate([np.arange(30.0), [np.nan]])
    _, _, u, p = all_pairs(values, np.repeat([0, 1, 2], [10, 10, 11]), 3)
    assert np.isfinite(p[0]) and np.isnan(p[1:]).all() and np.isnan(u[1:]).all()


def test_empty_group_gives_nan() -> None:
    *_, p = all_pairs(np.arange(4.0), np.array([0, 0, 1, 1]), 3)
    assert np.isfinite(p[0]) and np.isnan(p[1:]).all()
