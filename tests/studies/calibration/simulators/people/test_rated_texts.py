"""Drawn ratings have the shares they are said to have; prompts pair models, and persons where they should."""

import numpy as np
import polars as pl
import pytest

from evenhand.schema import VOTES
from evenhand.studies.calibration.simulators.people import RatedTexts


@pytest.mark.parametrize("both", [True, False])
def test_shares_and_who_rates_what(both: bool) -> None:
    texts = RatedTexts(
        2000, shares=(0.1, 0.4), person_sd=1, item_sd=0.5, prompt_sd=0.5, taste_sd=0.5, both=both
    )
    frame = texts.frame(np.random.default_rng(0))
    found = dict(frame.group_by("model").agg(pl.col("value").mean()).rows())
    assert (found["base"], found["tuned"]) == pytest.approx((0.1, 0.4), abs=0.02)
    models = frame.group_by("person").agg(pl.col("model").n_unique())["model"]
    assert (models.mean() > 1.9) if both else (models.max() == 1)
    assert frame.group_by("item").len()["len"].max() <= 4 and set(frame.columns) <= set(VOTES)
    assert frame.group_by("context").agg(pl.col("item").n_unique())["item"].max() == 2
