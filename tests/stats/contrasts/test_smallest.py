"""The smallest shift: noncentral t, and plan and run by one routine."""

import numpy as np
import pytest
from scipy.stats import nct, t as student

from evenhand.schema import UsageError
from evenhand.stats.contrasts import moderated_shifts, planned_shift, smallest_shift
from tests.helpers.contrast_worlds import draw


def test_against_scipys_noncentral_t():
    variance, freedom = np.full(6, 0.04), np.full(6, 7.0)
    found = smallest_shift(variance, freedom, margin=0.1, level=0.01)
    critical = student.isf(0.01 / 6 / 2, 7)
    assert nct.sf(critical, 7, (found - 0.1) / 0.2) == pytest.approx(0.8, abs=1e-4)


def test_two_descriptors_are_one_test():
    def of(descriptors):
        return smallest_shift(np.full(descriptors, 0.04), np.full(descriptors, 7.0))

    assert nct.sf(student.isf(0.025, 7), 7, of(2) / 0.2) == pytest.approx(0.8, abs=1e-4)
    assert of(2) < of(3) < of(10)


@pytest.mark.parametrize("design", [(12, 2, 32), (5, 5, 16)])
def test_plan_and_run_agree_where_the_plan_is_right(design):
    rng = np.random.default_rng(0)
    options = {"own_nouns": True, "margin": 0.1, "level": 0.05 / 13}
    after = [
        moderated_shifts(draw("even", *design, rng=rng), **options).minimum_detectable for _ in range(40)
    ]
    assert planned_shift(*design, **options) == pytest.approx(np.median(after), rel=0.15)


def test_more_pairs_help_more_than_more_nouns():
    base = planned_shift(5, 9, 16, own_nouns=True)
    assert planned_shift(5, 36, 16, own_nouns=True) > 0.7 * base
    assert planned_shift(12, 4, 16, own_nouns=True) < 0.75 * base


def test_plans_that_cannot_be():
    assert np.isnan(planned_shift(2, 9, 16, own_nouns=True))
    assert np.isnan(planned_shift(5, 9, 1, own_nouns=True))
    assert np.isnan(planned_shift(6, 9, 2, own_nouns=True)), "two descriptors need pairs enough for flips"
    assert planned_shift(12, 2, 2, own_nouns=True) > 0
    with pytest.raises(UsageError, match="negative"):
        planned_shift(5, 9, 16, own_nouns=True, pair_sd=-1)
