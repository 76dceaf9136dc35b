"""Simulated tables against closed forms: means, variances of beta-binomials, missing answers, wrong judgements."""

import numpy as np
import polars as pl
import pytest

from evenhand.studies.calibration.simulators.judged import (
    JudgedAxis,
    add_classifier_errors,
    beta_rates,
    judged_prompts,
    left_out,
)


def test_prompts_have_the_variance_of_a_beta_binomial():
    axis = JudgedAxis("axis", (0.1, 0.4), (20_000, 20_000), (0.3, 0.05))
    frame = judged_prompts(np.random.default_rng(0), [axis], (5,))
    means = frame.group_by("group", "prompt_id").agg(pl.col("negative").mean())
    told = (
        means.group_by("group")
        .agg(rate=pl.col("negative").mean(), var=pl.col("negative").var())
        .sort("group")
    )
    for row, rate, icc in zip(told.to_dicts(), axis.rates, (0.3, 0.05), strict=True):
        expected = rate * (1 - rate) * (1 + 4 * icc) / 5
        assert row["rate"] == pytest.approx(rate, abs=0.006)
        assert row["var"] == pytest.approx(expected, rel=0.04)


def test_samples_go_round_the_prompts_of_a_group():
    frame = judged_prompts(np.random.default_rng(1), [JudgedAxis("axis", (0.5, 0.5), (4, 3))], (25, 1))
    sizes = (
        frame.group_by("group", "prompt_id").len().group_by("group").agg(pl.col("len").sort()).sort("group")
    )
    assert sizes["len"].to_list() == [[1, 1, 25, 25], [1, 25, 25]]
    assert frame.select("prompt_id", "sample").is_duplicated().sum() == 0


def test_a_heavy_tail_keeps_the_rate_and_lies_in_few_prompts():
    axis = JudgedAxis("axis", (0.02,), (40_000,), tail=0.03)
    frame = judged_prompts(np.random.default_rng(2), [axis], (5,))
    means = frame.group_by("prompt_id").agg(pl.col("negative").mean())["negative"]
    assert means.mean() == pytest.approx(0.02, abs=0.002)
    # so rare an event would be seen twice in five samples by .4 % of prompts, were all prompts alike
    assert (means >= 0.4).mean() == pytest.approx(0.03 * 0.92, abs=0.006)


@pytest.mark.parametrize(("rate", "icc"), [(0.0, 0.3), (1.0, 0.3), (0.2, 0.0)])
def test_without_spread_every_prompt_has_the_rate(rate, icc):
    assert set(beta_rates(np.random.default_rng(0), rate, icc, 50).tolist()) == {rate}


def test_a_classifier_that_errs_and_answers_that_go_missing():
    axis = JudgedAxis("axis", (0.2, 0.2), (30_000, 30_000), 0.0)
    frame = judged_prompts(np.random.default_rng(3), [axis], (1,))
    seen = add_classifier_errors(np.random.default_rng(4), frame, [0.1, 0.0], [0.5, 1.0])
    rates = seen.group_by("group").agg(pl.col("negative").mean()).sort("group")["negative"].to_list()
    assert rates == pytest.approx([0.2 * 0.5 + 0.8 * 0.1, 0.2], abs=0.01)
    gone = left_out(np.random.default_rng(5), frame, 0.4, 0.1)["negative"]
    assert gone.null_count() / frame.height == pytest.approx(0.2 * 0.4 + 0.8 * 0.1, abs=0.01)
    assert gone.mean() == pytest.approx(0.2 * 0.6 / (0.2 * 0.6 + 0.8 * 0.9), abs=0.01)
