"""Changes that missing responses could explain: between groups, and of the level."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import disparity_change
from evenhand.studies.compare import outcome_changes

REASON = "Missing responses could explain the change: "


def pairs(rng, lost, *, groups=3, prompts=60, samples=5, score=False, rise=0.0):
    """Pairs of responses of two equal models. lost: of (group, is it high before, is it high after), two masks."""
    parts = []
    for place in range(groups):
        shape = (prompts, samples)
        if score:
            own = rng.normal(50, 5, size=(prompts, 1))
            before, after = (own + rng.normal(0, 9, size=shape) for _ in range(2))
            after = after + rise * (place == 0)
            high = (before > 50, after > 50)
        else:
            share = rng.beta(1.2, 2.8, size=(prompts, 1))
            before = (rng.random(shape) < share).astype(float)
            after = (rng.random(shape) < np.minimum(share + rise * (place == 0), 1)).astype(float)
            high = (before == 1, after == 1)
        first, second = lost(rng, place, *high)
        prompt = np.repeat([f"{place}/{k}" for k in range(prompts)], samples)
        columns = {
            "before": np.where(first, np.nan, before).ravel(),
            "after": np.where(second, np.nan, after).ravel(),
        }
        parts.append(pl.DataFrame({"group": f"g{place}", "prompt_id": prompt} | columns))
    return pl.concat(parts).with_columns(axis=pl.lit("axis"), pair=pl.int_range(pl.len()))


def after_of_first(rng, place, before, after):
    return np.zeros_like(before), (place == 0) & after & (rng.random(after.shape) < 0.6)


def before_of_first(rng, place, before, after):
    return after_of_first(rng, place, after, before)[::-1]


def opposite(rng, place, before, after):
    """The first group lacks high responses of the second model, the second group as many of the first model."""
    lost = rng.random(before.shape) < 0.6
    return (place == 1) & before & lost, (place == 0) & after & lost


def after_of_all(rng, place, before, after):
    return np.zeros_like(before), after & (rng.random(after.shape) < 0.6)


@pytest.mark.slow
@pytest.mark.parametrize("score", [False, True], ids=["rates", "numbers"])
@pytest.mark.parametrize("lost", [after_of_first, before_of_first, opposite])
def test_groups_that_lack_more_did_not_change_measurably(lost, score) -> None:
    false = found = 0
    for seed in range(12):
        table = disparity_change(
            pairs(np.random.default_rng(seed), lost, score=score), numbers=score, seed=seed
        ).table
        obstacle = pl.col("obstacle").is_null() & (pl.col("p") <= 0.05)
        false += bool(table.filter(obstacle & pl.col("group").is_null()).height)
        found += bool(table["obstacle"].str.starts_with(REASON).any())
    assert false <= 2 and found >= 6  # found in 46 of 60 data sets without the rule


def test_the_reason_states_whose_responses_are_missing() -> None:
    changes = outcome_changes(pairs(np.random.default_rng(5), after_of_first))
    row = changes.filter(measure="disparity_change").row(0, named=True)
    assert row["verdict"] == "not measurable" and row["note"].startswith(REASON)
    assert "% of the second model's responses about g0 are missing, and 0% of those about g1. " in row["note"]


@pytest.mark.parametrize("score", [False, True], ids=["rates", "numbers"])
def test_a_model_that_lacks_more_did_not_change_its_level_measurably(score) -> None:
    false = found = 0
    for seed in range(12):
        changes = outcome_changes(pairs(np.random.default_rng(seed), after_of_all, score=score), seed=seed)
        level = changes.filter(pl.col("axis").is_null()).row(0, named=True)
        false += level["verdict"] not in ("not detected", "not measurable")
        found += (
            level["note"].startswith(REASON)
            and "% of the second model's responses are missing" in level["note"]
        )
    assert false <= 1 and found >= 8


@pytest.mark.parametrize("score", [False, True], ids=["rates", "numbers"])
def test_equal_shares_of_missing_pairs_cost_no_verdict(score) -> None:
    def every_tenth(rng, place, before, after):
        each = (np.arange(before.size) % 10).reshape(before.shape)
        return each == 3, each == 7

    frame = pairs(np.random.default_rng(3), every_tenth, score=score, rise=10.0 if score else 0.4)
    known = frame.filter(pl.col("before").is_not_nan() & pl.col("after").is_not_nan())
    got, expected = (outcome_changes(table).drop("n_missing") for table in (frame, known))
    assert got.equals(expected)
    assert got.filter(measure="disparity_change")["verdict"][0] == "changed"


def test_a_change_that_missing_responses_cannot_explain_is_found() -> None:
    def a_tenth(rng, place, before, after):
        return np.zeros_like(before), (place == 0) & after & (rng.random(after.shape) < 0.1)

    changes = outcome_changes(pairs(np.random.default_rng(3), a_tenth, rise=0.5))
    row = changes.filter(group="g0").row(0, named=True)
    assert row["n_missing"] > 15 and row["verdict"] == "higher"


def test_notes_of_changes_have_no_unit_that_is_missing_and_no_unbiased_model() -> None:
    def nothing(rng, place, before, after):
        return np.zeros_like(before), np.zeros_like(after)

    notes = outcome_changes(pairs(np.random.default_rng(3), nothing, rise=0.5))["note"].to_list()
    still = outcome_changes(pairs(np.random.default_rng(3), nothing))["note"].to_list()
    assert any("(no change: 0; 95% CI" in note for note in notes)
    assert any(note.startswith("No change detected (q = ") for note in still)
    assert not any("None" in note or "unbiased" in note for note in [*notes, *still])
