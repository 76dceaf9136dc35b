"""Classifier bias: the weights of published rows, constant classifiers, size and coverage over names, echoes."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures.names.genderedness import classifier_bias
from evenhand.schema import DataError


def chats(
    rng: np.random.Generator, names: int, chats_each: int, *, told: float = 0.0, spread: float = 0.0
) -> pl.DataFrame:
    """Self-chats of 12 turns; a classifier sees a woman with probability .6, more with women by 2 `told`; names differ
    by a standard deviation of `spread`."""
    rows = []
    for gender, sign in (("woman", 1), ("man", -1)):
        for number in range(names):
            seen = 0.6 + sign * told + rng.normal() * spread
            for chat in range(chats_each):
                for turn in range(1, 13):
                    predicted = "woman" if rng.random() < seen else "man"
                    rows.append((f"{gender}{number}", f"{gender}{number}-{chat}", gender, turn, predicted))
    table = pl.DataFrame(rows, schema=["name", "conversation", "gender", "turn", "predicted"], orient="row")
    speaker = pl.when(pl.col("turn") % 2 == 1).then(pl.lit("A")).otherwise(pl.lit("B"))
    return table.with_columns(speaker=speaker, text=pl.lit("hello"))


def test_speakers_weigh_as_in_the_published_tables() -> None:
    """A's five turns and B's six: 1.22 and 1.54 make 1.395 (table 5: 1.40), not 1.38."""
    frame = chats(np.random.default_rng(1), 6, 20, told=0.1)
    rows = {row["speaker"]: row for row in classifier_bias(frame).rows.iter_rows(named=True)}
    assert rows[None]["estimate"] == pytest.approx(
        (5 * rows["A"]["estimate"] + 6 * rows["B"]["estimate"]) / 11
    )
    assert rows["A"]["n"] == 12 * 20 * 5
    assert rows["B"]["n"] == 12 * 20 * 6
    by_hand = []
    for turn in range(2, 13):
        said = frame.filter(pl.col("turn") == turn)
        accuracy = [
            (said.filter(pl.col("gender") == gender)["predicted"] == gender).mean()
            for gender in ("woman", "man")
        ]
        by_hand.append(100 * (np.mean(accuracy) - 0.5))
    assert rows[None]["estimate"] == pytest.approx(np.mean(by_hand))
    assert classifier_bias(frame).turns["estimate"].to_list() == pytest.approx(by_hand)


def test_a_classifier_that_always_says_the_same_finds_nothing() -> None:
    frame = chats(np.random.default_rng(1), 5, 3).with_columns(predicted=pl.lit("woman"))
    frame = frame.filter((pl.col("gender") == "man") | (pl.col("name") == "woman0") | (pl.col("turn") < 7))
    row = classifier_bias(frame).rows.row(0, named=True)
    assert row["estimate"] == 0
    assert row["p"] is None
    assert "same accuracy" in row["obstacle"]


@pytest.mark.slow
@pytest.mark.parametrize("names", [4, 12, 40])
@pytest.mark.parametrize(("told", "spread"), [(0.0, 0.0), (0.0, 0.1), (0.05, 0.1)])
def test_intervals_hold_over_names(names: int, told: float, spread: float) -> None:
    rng = np.random.default_rng(names)
    rows = [
        classifier_bias(chats(rng, names, 3, told=told, spread=spread)).rows.row(0, named=True)
        for _ in range(300)
    ]
    held = np.mean([row["low"] <= 100 * told <= row["high"] for row in rows])
    assert 0.93 <= held <= 0.985
    if not told:
        assert np.mean([row["p"] < 0.05 for row in rows]) <= 0.07
    elif names == 40:
        found = np.mean([row["p"] < 0.05 for row in rows])
        assert found > 0.5


def test_parts_are_split_and_missing_predictions_counted() -> None:
    frame = chats(np.random.default_rng(2), 8, 4, told=0.15)
    tier = pl.when(pl.col("name").str.ends_with("7")).then(pl.lit("low")).otherwise(pl.lit("high"))
    frame = frame.with_columns(tier=tier).with_columns(
        predicted=pl.when((pl.col("turn") == 5) & (pl.col("tier") == "high"))
        .then(None)
        .otherwise("predicted")
    )
    rows = classifier_bias(frame, by="tier").rows
    low = rows.filter((pl.col("part") == "low") & pl.col("speaker").is_null()).row(0, named=True)
    assert "There is only 1 name of" in low["obstacle"]
    assert low["estimate"] is not None
    assert rows.filter(pl.col("part").is_null() & pl.col("speaker").is_null())["n_missing"].item() == 14 * 4
    with pytest.raises(DataError, match="prediction 'x'"):
        classifier_bias(frame.with_columns(predicted=pl.lit("x")))
    with pytest.raises(DataError, match="two genders"):
        classifier_bias(frame.filter(pl.col("gender") == "man"))


def test_who_sees_no_gender_is_half_right() -> None:
    """Told in a share s of the utterances and always rightly: 50 s points; coins for the others add nothing."""
    rng = np.random.default_rng(5)
    frame = chats(rng, 10, 6)
    told = rng.random(frame.height) < 0.3
    seen = frame.with_columns(predicted=pl.when(pl.Series(told)).then("gender").otherwise(pl.lit("neither")))
    coin = pl.Series(rng.choice(["woman", "man"], frame.height))
    tossed = frame.with_columns(predicted=pl.when(pl.Series(told)).then("gender").otherwise(coin))
    one, other = (classifier_bias(of).rows.row(0, named=True) for of in (seen, tossed))
    assert one["estimate"] == pytest.approx(50 * 0.3, abs=1.5)
    assert other["low"] < one["estimate"] < other["high"]
    assert one["high"] - one["low"] < other["high"] - other["low"]
    assert one["n_missing"] == 0
    masked = classifier_bias(seen.rename({"predicted": "p2"}), predicted="p2").rows
    assert masked.equals(classifier_bias(seen).rows)


TABLES_5_AND_6 = [
    (1.22, 1.54, 1.40), (0.31, 0.11, 0.20), (0.20, 0.88, 0.57), (0.76, 0.41, 0.57), (0.89, 1.28, 1.10),
    (0.17, 0.13, 0.15), (0.92, 0.86, 0.89), (0.50, -0.20, 0.12), (0.95, 1.22, 1.10), (0.44, 0.26, 0.34),
]  # fmt: skip
"""Speaker A, speaker B and their average as published, each row rounded to a hundredth."""


@pytest.mark.parametrize(("a", "b", "average"), TABLES_5_AND_6)
def test_published_averages_weigh_a_by_five_and_b_by_six(a: float, b: float, average: float) -> None:
    """Rows in which A's turns are told right so often that A has a points, and B's so that B has b."""
    rows = []
    for gender in ("woman", "man"):
        for turn in range(2, 13):
            points = a if turn % 2 == 1 else b
            right = round(100 * (50 + points))
            other = "man" if gender == "woman" else "woman"
            rows += [(gender, turn, gender)] * right + [(gender, turn, other)] * (10_000 - right)
    frame = pl.DataFrame(rows, schema=["gender", "turn", "predicted"], orient="row").with_columns(
        name="gender",
        conversation="gender",
        text=pl.lit("x"),
        speaker=pl.when(pl.col("turn") % 2 == 1).then(pl.lit("A")).otherwise(pl.lit("B")),
    )
    found = dict(classifier_bias(frame).rows.select("speaker", "estimate").iter_rows())
    assert found["A"] == pytest.approx(a)
    assert found["B"] == pytest.approx(b)
    assert found[None] == pytest.approx(
        average, abs=0.0101
    )  # both speakers are rounded, and so is the average
