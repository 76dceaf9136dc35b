"""Adjusted p values against statsmodels, a direct definition, and simulated error rates."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as nps
from statsmodels.stats.multitest import multipletests

from evenhand.schema import UsageError
from evenhand.stats import benjamini_hochberg, holm, simes

some_p = nps.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1))


@settings(max_examples=15)
@given(some_p)
def test_equal_statsmodels(p):
    np.testing.assert_allclose(
        benjamini_hochberg(p), multipletests(p, method="fdr_bh")[1], rtol=1e-12, atol=1e-300
    )
    # statsmodels' Holm loses digits to its own (1 - p) for the smallest values
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12, atol=1e-15)


@settings(max_examples=50)
@given(some_p)
def test_simes_is_the_smallest_q(p):
    assert math.isclose(simes(p), float(benjamini_hochberg(p).min()), rel_tol=1e-12)


@settings(max_examples=50)
@given(some_p, st.integers(0, 5))
def test_missing_tests_do_not_count(p, missing):
    generator = np.random.default_rng(len(p))
    places = generator.permutation(len(p) + missing)
    mixed = np.concatenate([p, np.full(missing, np.nan)])[places]
    for adjust in (benjamini_hochberg, holm):
        expected = np.concatenate([adjust(p), np.full(missing, np.nan)])[places]
        np.testing.assert_array_equal(adjust(mixed), expected)
    assert simes(mixed) == simes(p)


def test_benjamini_and_hochbergs_own_example():
    # Benjamini & Hochberg 1995, section 4: 15 p values, 4 rejected at .05 where Bonferroni takes 3
    p = [.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528,
         .7590, 1.0]  # fmt: skip
    assert int((benjamini_hochberg(p) <= 0.05).sum()) == 4
    assert int((holm(p) <= 0.05).sum()) == 3


def test_families_along_the_last_axis():
    p = np.random.default_rng(0).random((3, 4, 20))
    p[0, 1, 3] = np.nan
    for adjust in (benjamini_hochberg, holm):
        whole = adjust(p)
        for place in np.ndindex(3, 4):
            np.testing.assert_array_equal(whole[place], adjust(p[place]))


def test_empty_and_all_missing_families():
    assert benjamini_hochberg([]).shape == (0,)
    assert holm(np.empty((2, 0))).shape == (2, 0)
    assert np.isnan(benjamini_hochberg([np.nan, np.nan])).all()
    assert np.isnan(holm([np.nan])).all()
    assert math.isnan(simes([np.nan]))
    assert math.isnan(simes([]))


def test_false_discovery_rate_is_held():
    generator = np.random.default_rng(1)
    from scipy.special import ndtr

    z = generator.normal(size=(2000, 50))
    z[:, :10] += 3.0  # 10 of 50 are true effects
    found = benjamini_hochberg(1 - ndtr(z)) <= 0.1
    share = found[:, 10:].sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    # theory: alpha × 40/50 = 0.08 exactly for independent continuous tests
    assert abs(share.mean() - 0.08) < 0.01
    assert found[:, :10].mean() > 0.5


def test_simes_is_uniform_under_the_global_null():
    generator = np.random.default_rng(2)
    p = np.array([simes(row) for row in generator.random((4000, 30))])
    for level in (0.05, 0.2, 0.5):
        assert abs((p <= level).mean() - level) < 0.03


@pytest.mark.parametrize("wrong", [1.5, -0.1])
def test_impossible_p_is_refused(wrong):
    for adjust in (benjamini_hochberg, holm, simes):
        with pytest.raises(UsageError, match="from 0 to 1"):
            adjust([0.2, wrong])


def test_700_000_tests_at_once():
    p = np.random.default_rng(0).random(700_000)
    q = benjamini_hochberg(p)  # a quadratic method would take hours
    order = np.argsort(p)
    assert (np.diff(q[order]) > -1e-12).all()
    assert q[order[-1]] == pytest.approx(p.max())
