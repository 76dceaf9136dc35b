"""When a design holds, fails, or is undecided."""

import polars as pl
import pytest
from scipy.stats import binom

from evenhand.studies.calibration.holding import Coverage, Holds, Share, coverage, decide_state
from evenhand.studies.calibration.schedule import NULL_SETS

FINE = (Coverage(0.95, 0.93, 0.97, 500), Coverage())


def state(
    false=10,
    n=400,
    elsewhere=(0, 0),
    unmeasurable=0.0,
    covered=FINE,
    power=(160, 200),
    states=True,
    silenced=None,
):
    shares = (
        Share.from_counts(false, n),
        Share.from_counts(*elsewhere),
        unmeasurable,
        covered,
        Share.from_counts(*power),
        states,
        True,
    )
    return decide_state(*shares, silenced=silenced)[0]


def test_a_design_holds_only_if_the_limits_show_it():
    assert state(false=20) == Holds.HOLDS  # 5 %: Wilson 3.3 to 7.6
    assert state(false=24) == Holds.UNDECIDED  # 6 %: up to 8.8
    assert state(false=34) == Holds.FAILS  # 8.5 %: at least 6.1
    assert state(false=1, n=20) == Holds.UNDECIDED  # few data sets show nothing
    assert state(covered=(Coverage(0.94, 0.915, 0.96, 500),)) == Holds.UNDECIDED
    assert state(covered=(Coverage(0.90, 0.88, 0.92, 500),)) == Holds.FAILS
    assert state(covered=(Coverage(0.99, 0.98, 1.0, 500),)) == Holds.HOLDS
    assert state(elsewhere=(40, 400)) == Holds.FAILS
    assert state(power=(110, 200)) == Holds.FAILS and state(power=(195, 200)) == Holds.HOLDS
    assert state(states=False) == Holds.FAILS


def test_a_measure_that_is_false_in_a_tenth_of_audits_is_never_called_holding():
    """With 60 data sets the former rule called it "holds" with probability .75."""
    for n in (60, NULL_SETS):
        holding = [false for false in range(n + 1) if state(false=false, n=n) == Holds.HOLDS]
        probability = sum(binom.pmf(false, n, 0.10) for false in holding)
        assert probability < 0.02


def test_a_measure_at_its_level_is_mostly_called_holding():
    holding = [false for false in range(NULL_SETS + 1) if state(false=false, n=NULL_SETS) == Holds.HOLDS]
    assert sum(binom.pmf(false, NULL_SETS, 0.04) for false in holding) > 0.9
    failing = [false for false in range(NULL_SETS + 1) if state(false=false, n=NULL_SETS) == Holds.FAILS]
    assert sum(binom.pmf(false, NULL_SETS, 0.05) for false in failing) < 0.01


def test_where_nothing_is_measurable_only_false_verdicts_count():
    assert state(false=0, unmeasurable=1.0, states=False, power=(0, 0)) == Holds.UNMEASURABLE
    assert state(false=120, unmeasurable=0.7) == Holds.FAILS


def test_an_effect_that_leaves_its_own_row_not_measurable_counts_against_the_measure():
    """A huge excess of an intersection was "not measurable" in every data set, so that none counted as missed."""
    assert state(power=(0, 0), silenced=(Share.from_counts(40, 40), 0.05)) == Holds.FAILS
    assert state(power=(40, 49), silenced=(Share.from_counts(11, 60), 0.18)) == Holds.HOLDS


def test_intervals_of_one_data_set_are_correlated():
    sets = pl.DataFrame({"intervals": [10] * 100, "covered": [10] * 90 + [0] * 10})
    found = coverage(sets)
    expected = Share.from_counts(90, 100)  # a hundred data sets, not a thousand intervals
    assert (found.value, found.intervals) == (0.9, 1000)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.002)
    independent = coverage(pl.DataFrame({"intervals": [10] * 100, "covered": [9] * 100}))
    assert independent.low is not None and independent.low >= expected.low
    assert coverage(pl.DataFrame({"intervals": [4] * 50, "covered": [4] * 50})).low == pytest.approx(
        Share.from_counts(50, 50).low
    )
