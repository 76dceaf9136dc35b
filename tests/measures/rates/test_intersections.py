"""Intersections: ROBBIE's selection rule, planted interactions that alone are named, limits that agree, and none."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

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
        assert row["rate"] == pytest.approx(100 * one["negative"].mean())
        assert row["low"] < row["estimate"] < row["high"]
        assert row["rate"] - row["expected"] == pytest.approx(row["estimate"])
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


def test_a_planted_interaction_is_found_and_alone_is_named() -> None:
    result = intersections(_prompts(np.random.default_rng(3), 6000, special=1.2), AXES)
    assert set(result.cells.filter("named")["group"]) == {"female | asian"}
    assert result.pairs["group"].to_list() == ["female | asian"] * 2 and (result.pairs["p"] < 0.01).all()
    planted = result.cells.filter(group="female | asian")
    assert planted["estimate"].min() > 5 and planted["low"].min() > 0 and (planted["p"] < 0.01).all()
    # a neighbour is compared with what the others let expect, the planted cell not among them
    others = result.cells.filter(~pl.col("named"))
    assert (others["p"] > 0.05).all() and ((others["low"] < 0) & (others["high"] > 0)).all()


def test_limits_and_p_are_of_one_statistic_and_pairs_allow_for_all_tests() -> None:
    rng = np.random.default_rng(8)
    for special in (0.0, 0.6, 1.2):
        result = intersections(_prompts(rng, 2500, special=special), AXES)
        for table in (result.cells, result.pairs):
            assert ((table["p"] <= 0.05) == ((table["low"] > 0) | (table["high"] < 0))).all()
    one = intersections(_prompts(np.random.default_rng(9), 1500), AXES, n_axes=2).pairs
    two = intersections(_prompts(np.random.default_rng(9), 1500), AXES, n_axes=1).pairs
    np.testing.assert_allclose(np.minimum(1, 2 * one["p"].to_numpy()), two["p"].to_numpy())


@pytest.mark.slow
def test_without_interaction_few_tables_name_anybody() -> None:
    rng, draws = np.random.default_rng(4), 60
    false = 0
    for _ in range(draws):
        result = intersections(_prompts(rng, 900), AXES)
        false += bool((result.pairs["p"] <= 0.05).any())
    assert false <= binom.ppf(0.99, draws, 0.05)


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


def test_of_two_cells_that_alone_make_a_column_neither_is_named_and_the_pair_of_axes_is_found() -> None:
    """With two genders an excess of one cell is the deficit of the other: a coin would decide which is named."""
    two = {"gender": AXES["gender"][:2], "race": AXES["race"]}
    frame = _prompts(np.random.default_rng(11), 4000, special=2.5, base=-2.0).filter(pl.col("trans") == 0)
    result = intersections(frame.drop("trans"), two)
    benign = result.cells.filter(pl.col("stratum") == "benign")
    assert not benign["named"].any() and benign["obstacle"].is_not_null().all()
    pair = result.pairs.filter(pl.col("stratum") == "benign").row(0, named=True)
    assert pair["p"] < 0.01 and pair["obstacle"] is None
    assert set(pair["group"].split(" or ")) == {"female | asian", "male | asian"}
    female = benign.filter(pl.col("group") == "female | asian")["obstacle"][0]
    assert female.startswith("male | asian always departs by the same amount")


def test_a_huge_excess_is_found_though_its_own_rate_leaves_no_room_above_the_fit() -> None:
    """An excess that pulls its own fit up to the ceiling was called too small a sample to show any."""
    rng = np.random.default_rng(3)
    frame = _prompts(rng, 1500, special=6.0, base=-0.5)
    cells = intersections(frame, AXES).cells.filter(pl.col("group") == "female | asian")
    assert cells["obstacle"].is_null().all() and cells["named"].any()


def test_a_cell_without_any_response_is_counted_and_named() -> None:
    rng = np.random.default_rng(0)
    columns = {
        "sex": [f"s{one}" for one in rng.integers(0, 2, 800)],
        "race": [f"r{one}" for one in rng.integers(0, 2, 800)],
    }
    frame = pl.DataFrame(
        {
            "prompt_id": range(800),
            "prompt_toxic": [False, True] * 400,
            "negative": rng.random(800) < 0.2,
            **columns,
        }
    )
    gone = (pl.col("sex") == "s1") & (pl.col("race") == "r1")
    lacking = frame.with_columns(negative=pl.when(~gone).then("negative"))
    pairs = intersections(lacking, ["sex", "race"]).pairs
    assert pairs["n_missing"].sum() == lacking["negative"].null_count() > 150
    assert pairs["obstacle"].to_list() == ["All responses about s1 | r1 are missing."] * 2
