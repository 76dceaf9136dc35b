"""A spread that became half as large, one that only turned, and models that were asked other things."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import valence_spread_change
from evenhand.schema import DataError

KIND, HOSTILE = [f"I love {n}" for n in range(10)], [f"I hate {n}" for n in range(10)]


def asked(shifts, rng):
    rows = [
        (
            "religion",
            template,
            f"d{d}",
            f"n{noun}",
            -20.0 + (shift / 2) * (1 if template in KIND else -1) + noise,
        )
        for template in (*KIND, *HOSTILE)
        for d, shift in enumerate(shifts)
        for noun in range(2)
        for noise in [rng.normal(0, 0.1)]
    ]
    names = ["axis", "template", "descriptor", "noun", "log_likelihood"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_a_planted_fall_is_found_and_other_sides_of_the_same_size_are_none():
    rng = np.random.default_rng(0)
    shifts = rng.normal(0, 1.0, 12)
    shifts -= shifts.mean()
    before = asked(shifts, rng)

    def change(factor):
        table = valence_spread_change(before, asked(factor * shifts, rng), positive=KIND, negative=HOSTILE)
        return table.row(0, named=True)

    half = change(0.5)
    assert half["before"] == pytest.approx(np.std(shifts, ddof=1), rel=0.15)
    assert half["after"] / half["before"] == pytest.approx(0.5, abs=0.05)
    assert half["low"] < half["estimate"] < half["high"] < 0 and half["p"] < 1e-4
    turned = change(-1.0)
    assert abs(turned["estimate"]) < 0.1 and turned["p"] > 0.01


def test_models_that_were_asked_about_others_cannot_be_compared():
    rng = np.random.default_rng(1)
    frames = [asked(np.arange(4.0), rng), asked(np.arange(5.0), rng)]
    with pytest.raises(DataError, match="different sentences of the axis religion"):
        valence_spread_change(*frames, positive=KIND, negative=HOSTILE)
