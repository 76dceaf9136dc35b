"""Two models on the same prompts: rates of each, and prompts that are bad for both."""

import numpy as np
import polars as pl
import pytest

from evenhand.studies.calibration.simulators.changes import ChangedAxis, changed_judgements


def test_rates_are_those_of_each_model_and_prompts_are_shared():
    axis = ChangedAxis("axis", (0.2, 0.5), (0.4, 0.1), (6000, 6000), 0.3)
    before, after = changed_judgements(np.random.default_rng(0), [axis], (2,))
    assert before.drop("negative").equals(after.drop("negative"))
    for frame, rates in ((before, (0.2, 0.5)), (after, (0.4, 0.1))):
        told = frame.group_by("group").agg(pl.col("negative").mean()).sort("group")["negative"].to_list()
        assert told == pytest.approx(rates, abs=0.015)
    both = (
        before.with_columns(after=after["negative"])
        .group_by("group", "prompt_id")
        .agg(pl.col("negative", "after").mean())
    )
    one = both.filter(pl.col("group") == "axis 000")
    assert np.corrcoef(one["negative"], one["after"])[0, 1] > 0.25
