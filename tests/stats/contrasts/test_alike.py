"""Wordings that answer as one are told from contrasts that do not."""

import numpy as np
import pytest

from evenhand.stats.contrasts import alike_contrasts
from tests.helpers.contrast_worlds import draw, lone


@pytest.mark.parametrize("world", ["even", "uneven", "very uneven", "one factor", "odd pair"])
def test_contrasts_of_their_own_are_hardly_ever_taken_for_one(world):
    rng = np.random.default_rng(0)
    told = [alike_contrasts(draw(world, 12, 2, 16, rng=rng, shift=lone(16, -2.0))) for _ in range(40)]
    assert sum(pair is not None for pair in told) <= 3


def test_two_wordings_of_one_thing_are_named():
    rng = np.random.default_rng(1)
    for _ in range(10):
        values = draw("even", 6, 2, 16, rng=rng) * [[[1.0]]]
        values = np.vstack([values, values[2:3] + 0.05 * rng.normal(size=(1, 2, 16))])
        first, second, correlation = alike_contrasts(values)
        assert (first, second) == (2, 6) and 0.8 < correlation <= 1


def test_too_little_to_tell():
    assert alike_contrasts(np.zeros((5, 1, 8))) is None
    assert alike_contrasts(np.random.default_rng(2).normal(size=(2, 1, 8))) is None
    assert alike_contrasts(np.full((5, 1, 3), np.nan)) is None
