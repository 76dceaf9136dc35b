"""Paired change against McNemar's exact test, a paired t interval, coverage and false positives under the null."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from evenhand.measures.changes.disparity_change import disparity_change
from evenhand.measures.changes.paired_change import paired_change
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
    assert (row["obstacle"] is None) == (up + down + same >= 6) == (row["p"] is not None)
    if row["p"] is None:
        return
    assert (row["p"] <= 0.05) == (row["low"] > 0 or row["high"] < 0)  # one statistic
    discordant = up + down
    exact = stats.binomtest(up, discordant, 0.5).pvalue if discordant else 1.0
    tolerance = 1e-12 if discordant <= 16 else 0.02  # beyond 16, random patterns stand in for all
    assert row["p"] == pytest.approx(exact, abs=tolerance)


def test_many_changed_prompts_get_the_paired_t_interval_and_test() -> None:
    generator = np.random.default_rng(1)
    before, after = generator.normal(size=90), generator.normal(0.3, size=90)
    row = paired_change(pairs(before, after)).row(0, named=True)
    t = stats.ttest_rel(after, before)
    limits = t.confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((limits.low, limits.high))
    assert row["p"] == pytest.approx(t.pvalue) and row["estimate"] == pytest.approx((after - before).mean())


def test_the_interval_holds_just_the_changes_that_sign_flips_do_not_reject() -> None:
    change = np.random.default_rng(5).normal(0.4, 1, size=9)
    row = paired_change(pairs(np.zeros(9), change)).row(0, named=True)
    signs = 1 - 2 * ((np.arange(512)[:, None] >> np.arange(9)) & 1)

    def p(of):  # by brute force
        moved = change - of
        return np.mean(np.abs(signs @ moved) >= abs(moved.sum()) - 1e-12)

    assert row["p"] == p(0.0)
    for end, outward in ((row["low"], -1), (row["high"], 1)):
        assert p(end - 1e-9 * outward) > 0.05 >= p(end + 1e-9 * outward)


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
    alone = table.filter(group="z").row(0, named=True)
    assert alone["low"] is None and alone["p"] is None  # one prompt has no spread
    assert alone["obstacle"].startswith("There are 2 prompts") or "one prompt" in alone["obstacle"]


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


def test_numbers_of_which_none_changed_are_bounded_by_their_range() -> None:
    scores = [10.0, 20.0, 40.0] * 20
    frame = pl.DataFrame({"prompt_id": range(60), "before": scores, "after": scores})
    row = paired_change(frame).row(0, named=True)
    by_hand = 30 * float(stats.beta.ppf(0.975, 1, 60))
    assert (row["low"], row["high"]) == pytest.approx((-by_hand, by_hand))
    assert row["minimum_detectable"] == pytest.approx(by_hand) and row["p"] == 1
    same = paired_change(frame.with_columns(before=pl.lit(3.0), after=pl.lit(3.0))).row(0, named=True)
    assert same["minimum_detectable"] is None, "of numbers that are all the same no range is known"


def test_what_cannot_be() -> None:
    with pytest.raises(DataError, match="after"):
        paired_change(pl.DataFrame({"prompt_id": [1], "before": [1]}))
    with pytest.raises(DataError, match="no row has a number in both"):
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


@pytest.mark.parametrize("prompts", [1, 2, 5])
def test_too_few_prompts_for_any_test_say_so_whatever_the_models_did(prompts: int) -> None:
    """Five prompts that all turn harmless cannot reach .05 by flipping signs: that is no "not detected"."""
    row = paired_change(pairs([1.0] * prompts, [0.0] * prompts)).row(0, named=True)
    assert row["p"] is None and row["minimum_detectable"] is None and "fewer than 6" in row["obstacle"]
    strict = paired_change(pairs([1.0] * 6, [0.0] * 6), level=0.99).row(0, named=True)
    assert "fewer than 8" in strict["obstacle"]
    assert paired_change(pairs([1.0] * 6, [0.0] * 6)).row(0, named=True)["p"] == 2 / 64


@pytest.mark.parametrize("shares", [True, None])
def test_a_change_of_shares_stays_within_one(shares) -> None:
    frame = pairs([1.0] * 9 + [0.5], [0.0] * 10)
    row = paired_change(frame, share=shares).row(0, named=True)
    assert row["low"] >= -1 and row["high"] < 0
    few = paired_change(pairs([1.0, 1.0, 0.9], [0.0, 0.0, 0.2]), share=shares).row(0, named=True)
    assert few["low"] == -1


def test_nats_between_0_and_1_are_no_shares() -> None:
    """Log perplexities of a good model lie there, too."""
    before = np.full(100, 0.5)
    frame = pairs(before, np.where(np.arange(100) < 1, 0.9, 0.5))
    as_share, as_number = (paired_change(frame, share=share).row(0, named=True) for share in (True, False))
    assert as_share["high"] - as_share["low"] > as_number["high"] - as_number["low"]


def test_infinite_numbers_are_missing() -> None:
    frame = pairs(
        [1.0, 2.0, -np.inf, np.nan, 3.0, 1.0, 1.0, 2.0], [1.5, 2.5, 1.0, 1.0, np.inf, 2.0, 1.5, 2.6]
    )
    row = paired_change(frame).row(0, named=True)
    assert (row["n"], row["n_missing"]) == (5, 3) and row["obstacle"] is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompts", "samples", "base", "noise"), [(10, 10, 0.2, 0.5), (40, 5, 0.3, 0.5), (200, 1, 0.05, 0.3)]
)
def test_the_stated_change_is_found_four_times_in_five_and_none_is_found_by_luck(
    prompts, samples, base, noise
) -> None:
    generator = np.random.default_rng(prompts)

    def audit(shift):
        rate = generator.beta(base * 7 / 3, (1 - base) * 7 / 3, (prompts, 1))
        before = generator.random((prompts, samples)) < rate
        again = generator.random((prompts, samples)) < rate
        after = np.where(generator.random(before.shape) < noise, again, before)
        after = after | (generator.random(before.shape) < shift / (1 - base))
        ids = np.repeat(np.arange(prompts), samples)
        frame = pl.DataFrame({"prompt_id": ids, "before": before.ravel() * 1.0, "after": after.ravel() * 1.0})
        return paired_change(frame).row(0, named=True)

    null = [audit(0.0) for _ in range(100)]
    assert sum(row["p"] <= 0.05 for row in null) <= 10
    stated = float(np.median([row["minimum_detectable"] for row in null]))
    found = [audit(stated) for _ in range(100)]
    assert 0.64 <= np.mean([row["p"] <= 0.05 for row in found]) <= 0.95
    assert np.mean([row["low"] <= stated <= row["high"] for row in found]) >= 0.88


@pytest.mark.parametrize("prompts", [8, 40, 70])
def test_numbers_that_all_changed_alike_leave_open_what_so_few_could_hide(prompts) -> None:
    """Every score rose by 1: other prompts may change otherwise, within the range of the scores (3 to 6)."""
    before = np.array([3.0, 4.0, 5.0])[np.arange(prompts) % 3]
    row = paired_change(pairs(before, before + 1)).row(0, named=True)
    hidden = 3 * float(stats.beta.ppf(0.975, 1, prompts))
    assert (row["low"], row["high"]) == pytest.approx((1 - hidden, 1 + hidden))
    assert row["minimum_detectable"] == pytest.approx(hidden) and row["p"] > 0
    assert (row["p"] <= 0.05) == (row["low"] > 0), "test and interval agree"


def test_numbers_that_are_all_the_same_are_not_measurable() -> None:
    row = paired_change(pairs([3.0] * 20, [3.0] * 20)).row(0, named=True)
    assert row["obstacle"] == "All numbers of both models are the same."
    assert row["p"] is row["low"] is row["high"] is None


@pytest.mark.parametrize("prompts", [30, 70])
@pytest.mark.parametrize(("before", "after"), [(0.0, 1.0), (0.2, 0.4)])
def test_shares_that_all_changed_alike_can_show_no_smaller_change_than_unchanged_ones(
    prompts, before, after
) -> None:
    row = paired_change(pairs([before] * prompts, [after] * prompts), share=True).row(0, named=True)
    assert 0 < row["p"] < 0.001 and row["high"] - row["low"] > 0.01
    moved = paired_change(pairs([0.0] * prompts, [after - before] + [0.0] * (prompts - 1)), share=True)
    least = moved["minimum_detectable"][0]
    assert row["minimum_detectable"] == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize(("same", "step"), [(False, 0.1), (True, 1.0)])
def test_unmoved_prompts_are_bounded_alike_over_all_and_for_groups(same, step) -> None:
    """Ten responses a prompt: one could have changed; of a model that repeats itself, all."""
    rows = np.arange(600)
    rude = (rows // 10 % 3 == 0) if same else (rows % 7 < 2)
    frame = pl.DataFrame({"prompt_id": rows // 10, "axis": "a", "group": np.where(rows < 300, "x", "y")})
    frame = frame.with_columns(before=pl.Series(rude * 1.0), after=pl.Series(rude * 1.0))
    level = paired_change(frame).row(0, named=True)
    groups = disparity_change(frame).table.filter(group="x").row(0, named=True)
    assert level["high"] == pytest.approx(step * float(stats.beta.ppf(0.975, 1, 60)))
    assert groups["high"] == pytest.approx(step * np.sqrt(2) * float(stats.beta.ppf(0.975, 1, 30)))
    assert groups["minimum_detectable"] == pytest.approx(groups["high"])


def test_one_response_that_changed_makes_no_jump() -> None:
    rows = np.arange(600)
    rude = (rows % 7 < 2) * 1.0
    frame = pl.DataFrame({"prompt_id": rows // 10, "axis": "a", "group": np.where(rows < 300, "x", "y")})
    found = []
    for moved in (0, 1, 3):
        after = rude.copy()
        after[: 10 * moved : 10] = 1 - after[: 10 * moved : 10]
        both = frame.with_columns(before=pl.Series(rude), after=pl.Series(after))
        found.append(disparity_change(both).table.filter(group="x")["minimum_detectable"].item())
    assert max(found) / min(found) < 3, found
