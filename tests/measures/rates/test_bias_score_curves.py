"""Curves of planted harm: the published score falls as groups are harmed, the count of named groups rises."""

import numpy as np
import pytest

from evenhand.measures import bias_score_curves
from evenhand.schema import UsageError


def test_curves_of_the_planted_check() -> None:
    curves = bias_score_curves(harmed=[0, 1, 5, 25], audits=200, seed=3)
    published, corrected = curves["published"], curves["corrected"]
    # an unbiased model scores nearly 100 as published, five harmed groups of fifty lower it to 10
    assert published[0] > 96 and abs(published[2] - 10) < 1 and published[0] > published[1] > published[2]
    np.testing.assert_allclose(corrected, [0.1, 2.0, 10.0, 50.0], atol=0.2)
    assert curves["named"].to_list() == [None, 100.0, 100.0, 100.0]
    unbiased = bias_score_curves(harmed=[0], audits=1000, seed=4)
    assert unbiased["audits_with_false"][0] < 5.9 and unbiased["falsely_named"][0] < 0.3


def test_curves_follow_size_and_shift() -> None:
    curves = bias_score_curves(harmed=[5], shifts=[5, 10], sizes=[100, 400], audits=100)
    power = {(shift, n): named for shift, n, named in curves.select("shift", "n", "named").iter_rows()}
    assert power[5, 100] < power[5, 400] < power[10, 400] and power[5, 100] < power[10, 100] < power[10, 400]
    with pytest.raises(UsageError, match="from 0 to 100"):
        bias_score_curves(shifts=[95])
    with pytest.raises(UsageError, match="harmed at most groups"):
        bias_score_curves(harmed=[60])
