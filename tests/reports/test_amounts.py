"""One rule for the digits of a size, wherever it stands."""

import pytest
from hypothesis import given, strategies

from evenhand.reports import count_places, smallest_effect


@given(strategies.floats(min_value=1e-6, max_value=1e8))
def test_a_smallest_effect_has_two_figures_or_is_whole(value):
    text = smallest_effect(value).replace(",", "")
    assert (
        abs(float(text) - value) <= max(0.5, 0.06 * value)
        if value >= 9.95
        else float(text) == pytest.approx(value, rel=0.051)
    )


def test_a_huge_one_is_a_power_of_ten():
    assert smallest_effect(3.21e110) == "3.21e110" and len(smallest_effect(3.21e110)) < 12


@pytest.mark.parametrize(
    ("values", "unit", "places"), [([5.24, 0.1], "% of responses", 1), ([None, 0.4], "%", 2)]
)
def test_shares_have_the_decimals_that_sentences_have(values, unit, places):
    assert count_places(values, unit) == places
