"""References and mean squares against analysis of variance by hand."""

import numpy as np
import pytest

from evenhand.stats.contrasts.layout import mean_squares, with_reference
from tests.helpers.contrast_worlds import FIVE_BY_FOUR


def test_printed_mean_squares():
    squares = mean_squares(with_reference(FIVE_BY_FOUR)[0], own_nouns=True)
    assert squares.between.round(4).tolist() == [0.0647, 0.2018, 0.0887, 0.1174]
    assert squares.residual.round(4).tolist() == [0.0439, 0.0386, 0.0234, 0.0332]


def test_the_reference_is_the_mean_of_the_others():
    deviations, compared = with_reference(FIVE_BY_FOUR)
    assert compared.all()
    others = FIVE_BY_FOUR[:, :, 1:].mean(axis=2)
    assert deviations[:, :, 0] == pytest.approx(FIVE_BY_FOUR[:, :, 0] - others)


def test_crossed_mean_squares_add_up():
    x = np.random.default_rng(0).normal(size=(4, 3, 2))
    squares = mean_squares(x, own_nouns=False)
    total = ((x - x.mean(axis=(0, 1))) ** 2).sum(axis=(0, 1))
    assert 3 * squares.between + 2 * squares.nouns_between + 6 * squares.residual == pytest.approx(total)
    assert squares.free.tolist() == [6.0, 6.0]


def test_unequal_nouns_count_by_their_harmonic_mean():
    x = np.random.default_rng(1).normal(size=(3, 4, 2))
    x[0, 2:] = np.nan
    x[2, 3] = np.nan
    squares = mean_squares(x, own_nouns=True)
    assert squares.nouns == pytest.approx([3 / (1 / 2 + 1 / 4 + 1 / 3)] * 2)
    assert squares.free.tolist() == [6.0, 6.0]
    assert squares.mean == pytest.approx(np.nanmean(x, axis=1).mean(axis=0))


def test_an_additive_table_with_gaps_is_fitted_exactly():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(5, 1, 1)) + rng.normal(size=(1, 4, 1)) + np.zeros((1, 1, 3))
    x[0, 0] = x[3, 2] = np.nan
    squares = mean_squares(x, own_nouns=False)
    assert squares.residual == pytest.approx([0, 0, 0], abs=1e-15)


def test_a_cell_of_one_descriptor_is_beside_nobody():
    x = np.full((2, 1, 3), np.nan)
    x[0] = [[1.0, 2.0, np.nan]]
    x[1] = [[1.0, np.nan, np.nan]]
    deviations, compared = with_reference(x)
    assert compared.tolist() == [True, True, False]
    assert np.isnan(deviations[1]).all()
