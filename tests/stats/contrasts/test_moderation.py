"""The prior's weight at its printed values and limits."""

import numpy as np
import pytest
from scipy.special import polygamma

from evenhand.stats.contrasts.layout import mean_squares, with_reference
from evenhand.stats.contrasts.moderation import LEAST_WEIGHT, moderate, prior_weight
from tests.helpers.contrast_worlds import FIVE_BY_FOUR


@pytest.mark.parametrize(("share", "weight"), [(0.5, 2.95), (0.75, 6.89), (0.9, 33.1)])
def test_printed_weights(share, weight):
    # with endless degrees of freedom the 90 % point of F is 1 and the share of noise its ratio
    assert prior_weight(share, 1.0, 1e7, 10, 1e7) == pytest.approx(weight, rel=0.01)


def test_weight_solves_its_equation_and_keeps_its_limits():
    weight = prior_weight(0.4, 1.0, 1e7, 10, 1e7)
    assert polygamma(1, weight / 2) == pytest.approx(np.log1p(0.6**2 * np.expm1(2)), rel=1e-3)
    assert prior_weight(0.0, 1.0, 5, 4, 5) == pytest.approx(LEAST_WEIGHT, abs=1e-3)
    assert prior_weight(1.0, 0.5, 5, 4, 5) == 5, "all is noise: as much as noise is known by"
    assert prior_weight(0.0, 1.0, 5, 4, 0) == LEAST_WEIGHT
    assert prior_weight(0.0, 0.0, 5, 4, 5) == 5


def test_one_noun_draws_towards_the_mean_of_the_axis():
    squares = mean_squares(with_reference(FIVE_BY_FOUR[:, :1])[0], own_nouns=True)
    moderated = moderate(squares, own_nouns=True)
    expected = (LEAST_WEIGHT * squares.between.mean() + 4 * squares.between) / (LEAST_WEIGHT + 4)
    assert moderated.variance == pytest.approx(expected / 5)


def test_other_axes_change_nothing():
    one = moderate(mean_squares(with_reference(FIVE_BY_FOUR)[0], own_nouns=True), own_nouns=True)
    again = moderate(mean_squares(with_reference(FIVE_BY_FOUR.copy())[0], own_nouns=True), own_nouns=True)
    assert (one.variance == again.variance).all()


def test_a_difference_varies_as_two_descriptors_do_on_average():
    squares = mean_squares(with_reference(FIVE_BY_FOUR)[0], own_nouns=True)
    first, second = np.triu_indices(4, k=1)
    pairs = mean_squares(FIVE_BY_FOUR[:, :, first] - FIVE_BY_FOUR[:, :, second], own_nouns=True)
    assert pairs.between.mean() == pytest.approx(2 * 3 / 4 * squares.between.mean())
