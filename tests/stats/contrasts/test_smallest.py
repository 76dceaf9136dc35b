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
    with pytest.raises(UsageError, match="0 or more"):
        planned_shift(5, 9, 16, own_nouns=True, pair_sd=-1)


def disagreeing(rng, scale=0.15):
    """Twelve pairs of sentences and 32 descriptors, four of which move by one cause, in two pairs hardly."""
    moved = np.where(np.arange(12) < 10, 2.5, 0.4)[rng.integers(0, 12, 12)] - 2.15
    loads = np.where(np.arange(32) < 4, 1.0, 0.1)
    return scale * moved[:, None, None] * loads + rng.normal(0, 0.02, (12, 2, 32))


def test_where_pairs_disagree_the_stated_shift_is_found_by_the_test_that_allows_for_it():
    """Before, 0.3 nats were stated here and found in one of ten data sets."""
    rng, options = np.random.default_rng(0), {"own_nouns": True, "margin": 0.1, "level": 0.05 / 13}
    found = stated = 0
    for _ in range(24):
        first = moderated_shifts(disagreeing(rng), **options)
        if first.obstacle is not None or first.axis_p <= 0.05 / 13:
            continue
        values = disagreeing(rng)
        values[:, :, 0] += first.minimum_detectable * 31 / 32
        stated += 1
        found += moderated_shifts(values, **options).axis_p <= 0.05 / 13
    assert stated >= 15 and found >= 0.6 * stated


def test_a_change_that_leaves_two_pairs_alone_is_not_measurable_and_says_so():
    rng = np.random.default_rng(1)
    change = np.where(np.arange(12) < 10, rng.normal(2.5, 0.2, 12), 0.4)
    values = rng.normal(0, 0.05, (12, 2, 32))
    values[:, :, :4] += change[:, None, None]
    found = moderated_shifts(values, own_nouns=True, margin=0.1, level=0.05 / 13)
    assert (
        "12 sentence pairs give very different results" in found.obstacle
        and "2 of them are far" in found.obstacle
    )
    assert found.minimum_detectable > np.abs(found.shift).max()
    assert (found.low[:4] > 0).all()
