"""Which way a changed preference for one of two sentences leads, and what counts as new."""

import pytest

from evenhand.studies.gate.comparisons import _away, _new, _part
from evenhand.studies.gate.evidence import BLANK, CHANGE, FOUND, NOT_FOUND, STANDING, Evidence, Part

FAR = Part("women", True, 20.0, 10.0, 30.0, harmful="above", smallest=5.0, units=9)
STILL = Part("women", False, 0.0, -1.0, 1.0, harmful="above", smallest=5.0, units=9)


def pair(before, after, verdict, low, high):
    row = {
        "before": before,
        "after": after,
        "verdict": verdict,
        "low": low,
        "high": high,
        "estimate": after - before,
    }
    row |= {
        "measure": "crows_pairs_change",
        "direction": None,
        "null": 0.0,
        "unit": "% of pairs",
        "group": None,
    }
    return row | {"axis": "age", "minimum_detectable": None, "n_units": 40}


@pytest.mark.parametrize(
    ("before", "after", "verdict", "low", "high", "found", "shown"),
    [
        (52.0, 62.0, "higher", 4.0, 16.0, True, 4.0),  # further from 50
        (62.0, 52.0, "lower", -16.0, -4.0, False, 0.0),  # nearer to it
        (48.0, 38.0, "lower", -16.0, -4.0, True, 4.0),  # further on the other side
        (46.0, 60.0, "higher", 9.0, 19.0, True, 1.0),  # crossed: 8 of the change made up for what it was
        (40.0, 55.0, "higher", 9.0, 21.0, False, 0.0),  # crossed, and nearer than before
    ],
)
def test_worse_is_further_from_no_preference(before, after, verdict, low, high, found, shown):
    part = _part(pair(before, after, verdict, low, high), "crows-pairs", "crows_pairs", 1.0, [])
    assert (part.found, part.shown) == (found, shown)


def test_a_preference_that_is_not_known_may_lead_either_way():
    assert _away(pair(1.0, 2.0, "higher", 0.0, 1.0) | {"before": None}) == ("either", 0.0)


def group(name, before, after, estimate, reach=10.0):
    low, high = estimate - reach, estimate + reach
    row = {
        "measure": "group_difference_change",
        "axis": "gender",
        "group": name,
        "before": before,
        "after": after,
    }
    row |= {
        "estimate": estimate,
        "low": low,
        "high": high,
        "null": 0.0,
        "minimum_detectable": 5.0,
        "n_units": 9,
    }
    return row | {"verdict": "higher" if low > 0 else "lower", "direction": "worse" if low > 0 else "better"}


@pytest.mark.parametrize(
    ("mine", "other", "found", "shown"),
    [
        ((20, 50), (20, 20), True, 20.0),  # became worse
        ((20, 20), (60, 20), False, 0.0),  # the other, who was worse off, is as well off now
        ((20, 21), (60, 20), False, 0.0),  # one point of its own is chance
        ((20, 20), (60, 40), False, 0.0),  # the other is still worse off
        ((20, 20), (20, 0), True, 10.0),  # left behind: a disparity that was not there
        ((10, 40), (50, 50), True, 20.0),  # became worse, and is better off still
    ],
)
def test_who_gains_takes_nothing_from_the_others(mine, other, found, shown):
    change = (mine[1] - mine[0]) - (other[1] - other[0])
    rows = [group("women", *mine, change), group("men", *other, -change)]
    part = _part(rows[0], "regard", "regard", 1.0, rows)
    assert (part.found, part.shown) == (found, shown)


def piece(about, verdict, *parts, axis="gender"):
    return Evidence(about, "regard", axis, verdict, "told", "points", parts)


@pytest.mark.parametrize(
    ("first", "now", "change", "expected"),
    [
        (NOT_FOUND, FOUND, (FOUND, FAR), FOUND),
        (NOT_FOUND, FOUND, (NOT_FOUND, STILL), NOT_FOUND),  # the two runs alone do not show a change
        (NOT_FOUND, FOUND, (BLANK,), BLANK),
        (NOT_FOUND, FOUND, None, BLANK),
        (FOUND, FOUND, (FOUND, FAR), NOT_FOUND),
        (BLANK, FOUND, (FOUND, FAR), BLANK),
        (None, FOUND, (FOUND, FAR), BLANK),
        (NOT_FOUND, NOT_FOUND, (FOUND, FAR), NOT_FOUND),
        (NOT_FOUND, BLANK, (FOUND, FAR), BLANK),
    ],
)
def test_new_is_what_was_looked_for_before_and_what_is_shown_to_have_changed(first, now, change, expected):
    before = [] if first is None else [piece(STANDING, first)]
    changes = [] if change is None else [piece(CHANGE, change[0], *change[1:])]
    (one,) = _new(before, [piece(STANDING, now, STILL)], changes)
    assert one.verdict == expected
