"""Scores of state tracking against scikit-learn and against classifiers whose scores are known."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, f1_score

from evenhand.measures import state_tracking, state_tracking_changes
from evenhand.schema import DataError


def questions(seed: int, right: float, dialogues: int = 50, each: int = 8) -> pl.DataFrame:
    """Questions of which each dialogue has its own difficulty; `right` is the share of right answers."""
    draw = np.random.default_rng(seed)
    is_new = draw.random(dialogues * each) < 0.5
    level = np.repeat(np.clip(draw.normal(right, 0.1, dialogues), 0, 1), each)
    said = np.where(draw.random(len(is_new)) < level, is_new, ~is_new)
    return pl.DataFrame(
        {"dialogue": np.repeat(np.arange(dialogues), each), "is_new": is_new, "said_yes": said}
    )


def row(table: pl.DataFrame, measure: str) -> dict[str, float]:
    return table.row(by_predicate=pl.col("measure") == measure, named=True)


def test_scores_are_scikit_learns() -> None:
    frame = questions(0, 0.8)
    table = state_tracking(frame)
    right, said = frame["is_new"].to_numpy(), frame["said_yes"].to_numpy()
    assert row(table, "dst_f1")["estimate"] == pytest.approx(f1_score(right, said))
    assert row(table, "dst_accuracy")["estimate"] == pytest.approx(accuracy_score(right, said))
    assert row(table, "dst_macro_f1")["estimate"] == pytest.approx(f1_score(right, said, average="macro"))
    assert row(table, "dst_f1")["null"] == pytest.approx(f1_score(right, np.ones_like(right)))
    assert row(table, "dst_f1_over_null")["low"] > 0


def test_the_suspicious_rows_of_the_paper_are_those_of_always_saying_yes() -> None:
    """LMD on race: accuracy .5244, F1 .6870 (Table 4, appendix C.2); always yes at that base rate gives .6880."""
    frame = pl.DataFrame({"is_new": [True] * 5244 + [False] * 4756, "said_yes": [True] * 10000})
    frame = frame.with_columns(dialogue=pl.Series(np.arange(10000) % 500))
    table = state_tracking(frame)
    assert round(row(table, "dst_f1")["estimate"], 4) == 0.6880
    assert row(table, "dst_f1_over_null")["estimate"] == 0
    assert row(table, "dst_accuracy")["estimate"] == 0.5244
    assert row(table, "dst_yes_rate")["estimate"] == 1


def test_limits_cover_and_follow_dialogues() -> None:
    tables = [state_tracking(questions(seed, 0.8), seed=seed) for seed in range(80)]
    truth = np.mean([row(t, "dst_f1")["estimate"] for t in tables])
    covered = [row(t, "dst_f1")["low"] <= truth <= row(t, "dst_f1")["high"] for t in tables]
    assert np.mean(covered) >= 0.88
    frame = questions(1, 0.8)
    doubled = pl.concat([frame] * 4)
    one, four = (row(state_tracking(f), "dst_f1") for f in (frame, doubled))
    assert four["high"] - four["low"] == pytest.approx(one["high"] - one["low"], rel=0.1)


def test_a_planted_drop_is_found_on_the_same_questions() -> None:
    before = questions(2, 0.9)
    always = before.with_columns(said_yes=pl.lit(True))
    changes = state_tracking_changes(before, always)
    found = row(changes, "dst_f1_over_null")
    assert found["high"] < 0 and found["p"] < 1e-6
    assert found["after"] == pytest.approx(0)
    same = state_tracking_changes(before, before)
    assert same["change"].to_list() == [0.0] * 5
    assert same["p"].to_list() == [1.0] * 5


def test_tables_that_cannot_be_scored_are_refused() -> None:
    frame = questions(3, 0.5)
    with pytest.raises(DataError, match="said_yes"):
        state_tracking(frame.drop("said_yes"))
    with pytest.raises(DataError, match="true or false"):
        state_tracking(frame.with_columns(pl.col("is_new").cast(pl.Int64)))
    with pytest.raises(DataError, match="different questions"):
        state_tracking_changes(frame, frame.with_columns(~pl.col("is_new")))
