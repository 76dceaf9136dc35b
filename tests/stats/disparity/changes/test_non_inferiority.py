"""No worse by more than a margin: its size at the margin, its power, and what is settled before looking."""

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.stats.disparity.changes.non_inferiority import no_worse


def test_five_percent_pass_at_the_margin_and_most_where_nothing_changed():
    draws = np.random.default_rng(0)
    errors, margin = np.full(4000, 1.0), 2.6
    at_margin = no_worse(draws.normal(margin, 1, 4000), errors, 60, margin)
    unchanged = no_worse(draws.normal(0, 1, 4000), errors, 60, margin)
    assert 0.035 <= np.mean([one == "passes" for one in at_margin]) <= 0.065
    assert 0.78 <= np.mean([one == "passes" for one in unchanged]) <= 0.9


def test_a_margin_too_small_to_be_passed_can_still_be_failed():
    unseen = "could not have been seen"
    assert no_worse([-9.0, 0.0, 3.0, 9.0], [1.0] * 4, 30, 2.0) == [unseen, unseen, unseen, "fails"]
    with pytest.raises(UsageError, match="above 0"):
        no_worse([0.0], [1.0], 30, 0.0)
