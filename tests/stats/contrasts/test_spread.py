"""Spread of shifts: the printed figure, a brute-force U-statistic, no bias, coverage, and changes between models."""

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats.contrasts import change_of_spread, least_spread, shift_spread
from tests.helpers.contrast_worlds import FIVE_BY_FOUR, draw


def centred(x):
    return x - x.mean(axis=-1, keepdims=True)


def brute_force(values, own):
    x = centred(values.mean(axis=1, keepdims=True) if own else values)
    cells = [(c, n) for c in range(x.shape[0]) for n in range(x.shape[1])]
    apart = [float(x[a] @ x[b]) for a in cells for b in cells if a[0] != b[0] and (own or a[1] != b[1])]
    return np.mean(apart) / (values.shape[2] - 1)


def test_printed_figures():
    spread = shift_spread(FIVE_BY_FOUR, own_nouns=True)
    assert (round(spread.sd, 3), round(spread.low, 3), round(spread.high, 3)) == (0.620, 0.378, 0.791)


@pytest.mark.parametrize("own", [True, False])
def test_against_all_pairs_of_cells(own):
    values = np.random.default_rng(0).normal(size=(4, 3, 5)) + np.arange(5)
    assert shift_spread(values, own_nouns=own).variance == pytest.approx(brute_force(values, own))


def test_jackknife_against_leaving_out_one_contrast_at_a_time():
    without = [brute_force(np.delete(FIVE_BY_FOUR, c, 0), True) for c in range(5)]
    error = np.sqrt(4 / 5 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert shift_spread(FIVE_BY_FOUR, own_nouns=True).error == pytest.approx(error)


@pytest.mark.parametrize("own", [True, False])
def test_point_4_the_headline_is_the_truth_whatever_the_number_of_nouns(own):
    rng = np.random.default_rng(1)
    for contrasts, nouns in ((3, 6), (9, 3), (9, 12)):
        found, inside = [], []
        for _ in range(150):
            truth = rng.normal(0, 0.3, 12)
            values = draw("even", contrasts, nouns, 12, rng=rng, shift=truth, noun_sd=None if own else 0.1)
            spread = shift_spread(values, own_nouns=own)
            found.append(spread.variance - np.var(truth, ddof=1))
            inside.append(spread.low <= np.std(truth, ddof=1) <= spread.high)
        assert abs(np.mean(found)) < 0.02
        assert np.mean(inside) >= 0.90


def test_nothing_is_zero_and_gaps_change_little():
    rng = np.random.default_rng(2)
    spread = shift_spread(draw("even", 8, 3, 10, rng=rng), own_nouns=True)
    assert spread.low == 0.0
    values = draw("even", 10, 4, 10, rng=rng, shift=np.linspace(-1, 1, 10))
    holed = np.where(rng.random(values.shape) < 0.1, np.nan, values)
    for own in (True, False):
        whole, gaps = (shift_spread(v, own_nouns=own) for v in (values, holed))
        assert gaps.sd == pytest.approx(whole.sd, abs=0.06)


def test_too_little_to_estimate_is_said_so():
    assert np.isnan(shift_spread(FIVE_BY_FOUR[:1], own_nouns=True).sd)
    two = shift_spread(FIVE_BY_FOUR[:2], own_nouns=True)
    assert np.isfinite(two.sd) and np.isnan(two.low)
    assert np.isnan(shift_spread(FIVE_BY_FOUR[:, :1], own_nouns=False).sd)
    two_nouns = shift_spread(FIVE_BY_FOUR, own_nouns=False)
    assert np.isfinite(two_nouns.sd) and np.isnan([two_nouns.low, two_nouns.high]).all()
    constant = shift_spread(np.tile([1.0, 0.0, -1.0], (5, 1, 1)), own_nouns=True)
    assert constant.sd == pytest.approx(1.0) and np.isnan(constant.high)  # no width of 0


def test_least_spread_of_one_far_descriptor():
    x = centred(np.array([1.0] + [0.0] * 15))
    shift = x[0] * 16 / 15
    assert least_spread(shift, 16) == pytest.approx(np.std(x, ddof=1))


def test_halving_a_spread_is_seen_and_no_change_is_not():
    rng = np.random.default_rng(3)
    seen, false, smallest = [], [], []
    for _ in range(60):
        truth = rng.normal(0, 0.5, 24)
        shared = draw("quiet", 12, 2, 24, rng=rng)
        before = shared + truth
        halved = change_of_spread(
            before, shared + truth / 2 + 0.05 * rng.normal(size=before.shape), own_nouns=True
        )
        same = change_of_spread(before, before + 0.05 * rng.normal(size=before.shape), own_nouns=True)
        seen.append(halved.p <= 0.05 and halved.high < 0)
        false.append(same.p <= 0.05)
        smallest.append(halved.smallest)
        assert (halved.p <= 0.05) == (not halved.low <= 0 <= halved.high)
        assert halved.after < halved.before
    assert np.mean(seen) > 0.9 and np.mean(false) <= 0.12
    assert 0 < np.median(smallest) < 0.25


def test_shapes_must_agree():
    with pytest.raises(UsageError, match="shape"):
        change_of_spread(FIVE_BY_FOUR, FIVE_BY_FOUR[:4], own_nouns=True)
