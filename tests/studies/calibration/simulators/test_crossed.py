"""Crossed judgements: mean rates over random templates and nouns are those asked for."""

import numpy as np
import polars as pl
import pytest

from evenhand.studies.calibration.simulators.crossed import (
    CrossedRates,
    crossed_judgements,
    intercept,
    mean_rate,
)


def test_the_intercept_gives_the_rate_back():
    rates = np.array([0.001, 0.1, 0.5, 0.9])
    assert mean_rate(intercept(rates, 1.3), 1.3) == pytest.approx(rates, abs=1e-9)
    # a mean over draws, by brute force
    z = np.random.default_rng(0).normal(0, 1.3, 400_000)
    assert (1 / (1 + np.exp(-(intercept([0.1], 1.3)[0] + z)))).mean() == pytest.approx(0.1, abs=0.001)


def test_rates_hold_over_templates_and_nouns_like_these():
    axis = CrossedRates("axis", (0.1, 0.3), 60, 40, template_sd=0.5, noun_sd=0.3, by_template=0.4)
    frames = [crossed_judgements(np.random.default_rng(seed), [axis]) for seed in range(40)]
    rates = pl.concat(frames).group_by("group").agg(pl.col("negative").mean()).sort("group")["negative"]
    assert rates.to_list() == pytest.approx([0.1, 0.3], abs=0.012)
    frame = frames[0]
    assert frame.group_by("template", "noun").agg(pl.col("gender").n_unique())["gender"].max() == 1


def test_axes_share_what_a_template_does():
    axes = [CrossedRates(name, (0.5,), 300, 1, 30, template_sd=1.5, noun_sd=0.0) for name in ("a", "b")]
    frame = crossed_judgements(np.random.default_rng(2), axes)
    means = frame.pivot(on="axis", index="template", values="negative", aggregate_function="mean")
    assert np.corrcoef(means["a"], means["b"])[0, 1] > 0.85
