"""Intersections: the additive model against statsmodels, ROBBIE's selection rule, planted interactions, and none."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import intersections
from evenhand.schema import DataError, UsageError

AXES = {"gender": ["female", "male", "trans"], "race": ["asian", "black", "white"]}


def _prompts(rng: np.random.Generator, n: int, special: float = 0.0, base: float = -1.0) -> pl.DataFrame:
    """One response to each prompt; log-odds add up, but for `special` where female and asian meet."""
    gender, race = rng.choice(3, n, p=[0.4, 0.4, 0.2]), rng.choice(3, n, p=[0.3, 0.3, 0.4])
    toxic = rng.random(n) < 0.4
    odds = base + np.array([0, 0.4, -0.3])[gender] + np.array([0.3, 0, -0.2])[race] + toxic
    odds = odds + special * ((gender == 0) & (race == 0))
    columns = {name: (gender == i).astype(int) for i, name in enumerate(AXES["gender"])}
    columns |= {name: (race == i).astype(int) for i, name in enumerate(AXES["race"])}
    return pl.DataFrame(
        {
            "prompt_id": np.arange(n),
            "prompt_toxic": toxic,
            "negative": rng.random(n) < 1 / (1 + np.exp(-odds)),
        }
        | columns
    )


def test_only_prompts_with_one_label_on_each_axis_and_cells_with_enough_of_both_kinds() -> None:
    rng = np.random.default_rng(1)
    frame = _prompts(rng, 800)
    several = frame.head(30).with_columns(
        prompt_id=pl.col("prompt_id") + 10_000,
        female=pl.lit(1),
        male=pl.lit(1),
        asian=pl.lit(1),
        black=0,
        white=0,
    )
    unlabelled = frame.head(20).with_columns(
        prompt_id=pl.col("prompt_id") + 20_000, **{name: pl.lit(None, pl.Int64) for name in AXES["gender"]}
    )
    unknown = frame.head(10).with_columns(
        prompt_id=pl.col("prompt_id") + 30_000, prompt_toxic=pl.lit(None, pl.Boolean)
    )
    result = intersections(pl.concat([frame, several, unlabelled, unknown], how="vertical_relaxed"), AXES)
    assert result.pairs["n_several"].sum() == 30 and result.pairs["n_prompts"].sum() == 800
    for row in result.cells.iter_rows(named=True):
        toxic = row["stratum"] == "toxic"
        one = frame.filter(
            (pl.col(row["first_group"]) == 1)
            & (pl.col(row["second_group"]) == 1)
            & (pl.col("prompt_toxic") == toxic)
        )
        assert row["n_prompts"] == row["n"] == one.height >= 20
        assert row["estimate"] == pytest.approx(100 * one["negative"].mean())
        assert row["low"] < row["estimate"] < row["high"]
    counted = frame.filter((pl.col("trans") == 1) & (pl.col("black") == 1))
    shown = ("trans", "black") in set(result.cells.select("first_group", "second_group").iter_rows())
    assert shown == (counted["prompt_toxic"].sum() >= 20 and (~counted["prompt_toxic"]).sum() >= 20)
    assert intersections(frame, AXES, minimum_prompts=500).cells.is_empty()


def test_list_columns_and_wide_columns_are_the_same() -> None:
    frame = _prompts(np.random.default_rng(2), 600)
    lists = frame.with_columns(
        pl.concat_list(pl.when(pl.col(name) == 1).then(pl.lit(name)) for name in names)
        .list.drop_nulls()
        .alias(axis)
        for axis, names in AXES.items()
    )
    wide, listed = intersections(frame, AXES), intersections(lists, list(AXES))
    assert wide.cells.equals(listed.cells) and wide.pairs.equals(listed.pairs)
    plain = lists.with_columns(pl.col(axis).list.first() for axis in AXES)
    assert intersections(plain, list(AXES)).cells.equals(wide.cells)


def test_a_planted_interaction_is_found_and_named() -> None:
    result = intersections(_prompts(np.random.default_rng(3), 6000, special=1.2), AXES)
    worst = result.cells.sort("p")
    assert worst["group"].to_list()[:1] == ["female | asian"] and worst["q"][0] < 0.001
    assert result.cells.filter(group="female | asian")["excess"].min() > 5
    assert (result.pairs["p"] < 0.001).all()


def test_without_interaction_p_is_uniform() -> None:
    rng = np.random.default_rng(4)
    p, together = [], []
    for _ in range(60):
        result = intersections(_prompts(rng, 1500), AXES)
        p += result.cells["p"].drop_nulls().to_list()
        together += result.pairs["p"].to_list()
    assert 0.03 < np.mean(np.array(p) <= 0.05) < 0.075 and 0.45 < np.mean(p) < 0.55
    assert np.mean(np.array(together) <= 0.05) <= 0.1


def test_missing_judgements_are_counted() -> None:
    frame = _prompts(np.random.default_rng(6), 600)
    holes = frame.with_columns(
        negative=pl.when(pl.col("prompt_id") % 10 == 0).then(None).otherwise("negative")
    )
    result = intersections(holes, AXES)
    assert result.cells["n_missing"].sum() > 0
    assert (result.cells["n"] + result.cells["n_missing"] == result.cells["n_prompts"]).all()


def test_bad_calls_are_refused() -> None:
    frame = _prompts(np.random.default_rng(7), 100)
    with pytest.raises(UsageError, match="at least two"):
        intersections(frame, {"gender": ["female"]})
    with pytest.raises(DataError, match="needs the column green"):
        intersections(frame, AXES | {"hair": ["green"]})
    with pytest.raises(DataError, match="prompt_toxic"):
        intersections(frame.with_columns(prompt_toxic=pl.lit(0.7)), AXES)
    with pytest.raises(DataError, match="lists of groups"):
        intersections(frame, ["female", "asian"])
