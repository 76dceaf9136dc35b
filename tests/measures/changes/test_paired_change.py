"""Paired change against McNemar's exact test, a paired t interval, coverage and false positives under the null."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from evenhand.measures.changes.paired_change import FEW, paired_change
from evenhand.schema import DataError, UsageError


def pairs(before, after, **columns) -> pl.DataFrame:
    return pl.DataFrame({"prompt_id": np.arange(len(before)), "before": before, "after": after, **columns})


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 30))
@settings(max_examples=60)
def test_single_judgements_give_mcnemars_exact_p(up: int, down: int, same: int) -> None:
    if up + down + same < 2:
        return
    before = [0] * up + [1] * down + [1] * same
    after = [1] * up + [0] * down + [1] * same
    row = paired_change(pairs(before, after)).row(0, named=True)
    discordant = up + down
    exact = stats.binomtest(up, discordant, 0.5).pvalue if discordant else 1.0
    tolerance = 1e-12 if discordant <= 16 else 0.02  # beyond 16, random patterns stand in for all
    assert row["p"] == pytest.approx(exact, abs=tolerance)


def test_one_sample_a_prompt_is_the_paired_t_interval() -> None:
    generator = np.random.default_rng(1)
    before, after = generator.normal(size=50), generator.normal(0.3, size=50)
    row = paired_change(pairs(before, after)).row(0, named=True)
    t = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((t.low, t.high))
    assert row["estimate"] == pytest.approx((after - before).mean())


def test_many_changes_use_the_normal_limit_of_the_same_test() -> None:
    generator = np.random.default_rng(2)
    change = generator.normal(0.15, 1, size=FEW + 40)
    row = paired_change(pairs(np.zeros(len(change)), change)).row(0, named=True)
    signs = generator.choice([-1.0, 1.0], size=(20_000, len(change)))
    drawn = np.mean(np.abs(signs @ change) >= abs(change.sum()))
    assert row["p"] == pytest.approx(drawn, abs=0.015)


def test_samples_of_a_prompt_count_together() -> None:
    generator = np.random.default_rng(3)
    covered = false = 0
    audits, prompts, samples = 300, 25, 8
    for _ in range(audits):
        rate = generator.beta(0.5, 0.5, size=(prompts, 1))  # prompts differ much, models do not
        drift = generator.normal(0, 0.15, size=(prompts, 1))  # each prompt moves its own way
        before = generator.random((prompts, samples)) < rate
        after = generator.random((prompts, samples)) < np.clip(rate + drift, 0, 1)
        truth = float((np.clip(rate + drift, 0, 1) - rate).mean())
        frame = pl.DataFrame(
            {
                "prompt_id": np.repeat(np.arange(prompts), samples),
                "before": before.ravel().astype(float),
                "after": after.ravel().astype(float),
            }
        )
        row = paired_change(frame).row(0, named=True)
        covered += row["low"] <= truth <= row["high"]
        false += row["p"] < 0.05
    assert covered / audits > 0.93
    assert false / audits < 0.09


def test_rows_over_all_by_axis_and_by_group() -> None:
    frame = pairs(
        [1, 1, 0, 0, 1, 1],
        [0, 0, 0, 0, 1, None],
        axis=["a", "a", "a", "a", "b", "b"],
        group=["x", "x", "y", "y", "z", "z"],
    )
    table = paired_change(frame)
    assert table.select("axis", "group").rows() == [
        (None, None),
        ("a", None),
        ("b", None),
        ("a", "x"),
        ("a", "y"),
        ("b", "z"),
    ]
    assert table["n"].to_list() == [5, 4, 1, 2, 2, 1]
    assert table["n_missing"].to_list() == [1, 0, 1, 0, 0, 1]
    assert table.filter(group="x")["estimate"].item() == -1.0
    assert table.filter(group="z")["low"].item() is None  # one prompt has no spread


def test_a_pair_in_two_groups_counts_once_over_all() -> None:
    frame = pl.DataFrame(
        {
            "prompt_id": ["p", "p", "q"],
            "pair": ["p0", "p0", "q0"],
            "axis": ["a", "a", "a"],
            "group": ["x", "y", "y"],
            "before": [1, 1, 0],
            "after": [0, 0, 0],
        }
    )
    assert paired_change(frame)["n"].to_list() == [2, 2, 1, 2]


def test_no_change_at_all_has_an_interval_with_width() -> None:
    row = paired_change(pairs([1, 0] * 10, [1, 0] * 10)).row(0, named=True)
    assert row["estimate"] == 0 and row["p"] == 1.0
    # 20 prompts without a change: at most 1 - 0.025 ** (1 / 20) of prompts change
    assert row["high"] == pytest.approx(1 - 0.025 ** (1 / 20)) and row["low"] == -row["high"]


def test_what_cannot_be() -> None:
    with pytest.raises(DataError, match="after"):
        paired_change(pl.DataFrame({"prompt_id": [1], "before": [1]}))
    with pytest.raises(DataError, match="no pair"):
        paired_change(pairs([1.0, None], [None, 0.0]))
    with pytest.raises(UsageError, match="level"):
        paired_change(pairs([1, 0], [0, 0]), level=1.5)


def test_answers_about_nobody_count_only_over_all() -> None:
    frame = pairs([1, 1, 0, 0], [0, 0, 0, 0], axis=["a", "a", "a", None], group=["x", "x", None, None])
    table = paired_change(frame)
    assert table.select("axis", "group", "n").rows() == [(None, None, 4), ("a", None, 3), ("a", "x", 2)]


def test_many_samples_a_prompt_give_the_interval_of_prompts_that_moved() -> None:
    # 100 samples each: most pairs are equal, yet every prompt has moved, so nothing speaks for rare changes
    before = np.tile([1.0] * 30 + [0.0] * 70, 12)
    after = np.tile([1.0] * 20 + [0.0] * 80, 12)
    frame = pl.DataFrame({"prompt_id": np.repeat(np.arange(12), 100), "before": before, "after": after})
    frame = frame.with_columns(
        after=pl.when((pl.col("prompt_id") == 0) & (pl.col("before") == 1)).then(1.0).otherwise("after")
    )
    row = paired_change(frame).row(0, named=True)
    assert row["low"] < row["estimate"] < row["high"] < 0 and row["p"] < 0.01


def test_a_change_of_every_prompt_alike_still_has_an_interval_with_width() -> None:
    row = paired_change(pairs([0] * 30, [1] * 30)).row(0, named=True)
    assert row["estimate"] == row["high"] == 1.0
    assert row["low"] == pytest.approx(0.025 ** (1 / 30))
