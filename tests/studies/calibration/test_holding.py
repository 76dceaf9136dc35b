"""What is asked of a measure, and the simulation's error that is allowed."""

import polars as pl
import pytest

from evenhand.studies.calibration.holding import Holds, Share, coverage, judged

FINE = ((0.95, 0.01, 500), (None, None, 0))


def said(
    false=10,
    n=200,
    elsewhere=(0, 0),
    unmeasurable=0.0,
    covered=FINE,
    power=(160, 200),
    states=True,
    silenced=None,
):
    shares = Share.of(false, n), Share.of(*elsewhere), unmeasurable, covered, Share.of(*power), states, True
    return judged(*shares, silenced=silenced)[0]


def test_the_demands():
    assert said() == Holds.HOLDS
    # 6 % and two standard errors of 200 data sets (1.7 points each) are allowed
    assert said(false=18) == Holds.HOLDS and said(false=19) == Holds.FAILS
    assert said(elsewhere=(30, 200)) == Holds.FAILS
    assert said(covered=((0.90, 0.01, 500),)) == Holds.FAILS
    assert said(covered=((0.99, 0.005, 500),)) == Holds.CAUTIOUS
    assert said(power=(120, 200)) == Holds.FAILS and said(power=(195, 200)) == Holds.CAUTIOUS
    assert said(states=False) == Holds.FAILS


def test_where_nothing_is_measurable_only_false_verdicts_count():
    assert said(false=0, unmeasurable=1.0, states=False, power=(0, 0)) == Holds.UNMEASURABLE
    assert said(false=60, unmeasurable=0.7) == Holds.FAILS


def test_an_effect_that_leaves_its_own_row_not_measurable_counts_against_the_measure():
    """A huge excess of an intersection was "not measurable" in every data set, so that none counted as missed."""
    assert said(power=(0, 0), silenced=(Share.of(40, 40), 0.05)) == Holds.FAILS
    assert said(power=(40, 49), silenced=(Share.of(11, 60), 0.18)) == Holds.HOLDS


def test_intervals_of_one_data_set_hang_together():
    sets = pl.DataFrame({"intervals": [10] * 100, "covered": [10] * 90 + [0] * 10})
    share, error, number = coverage(sets)
    assert (share, number) == (0.9, 1000)
    assert error == pytest.approx(
        (0.9 * 0.1 / 100) ** 0.5
    )  # of a hundred data sets, not of a thousand intervals
