"""What a search varies: all combinations, draws within their ranges, and what is wrong said beforehand."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.studies.debias import DebiasConfig
from evenhand.studies.debias.space import described, plain, search_space, told


def test_a_grid_is_every_combination_once() -> None:
    space = search_space("lmd", ["weight=1,10,1.0", "batch_size=4,8", "clip=none,1", "quirks=summed"])
    found = space.settings("grid", 5, seed=0)
    expected = itertools.product((1.0, 10.0), (4, 8), (None, 1.0), (("summed",),))
    assert [tuple(one.values()) for one in found] == list(expected)
    assert described(space) == {
        "weight": [1, 10],
        "batch_size": [4, 8],
        "clip": [None, 1],
        "quirks": [["summed"]],
    }


def test_draws_are_of_the_seed_alone_and_fill_their_ranges_evenly() -> None:
    over = [
        "weight=log(0.01,100)",
        "warm_up=uniform(0.1,0.3)",
        "batch_size=uniform(2,5)",
        "dropout=true,false",
    ]
    space = search_space("lmd", over)
    found = space.settings("random", 2000, seed=3)
    assert found == space.settings("random", 2000, seed=3) != space.settings("random", 2000, seed=4)
    assert found[:7] == space.settings("random", 7, seed=3), "the first of many are those of few"
    columns: dict[str, Any] = {name: np.array([one[name] for one in found]) for name in found[0]}
    assert columns["weight"].min() >= 0.01 and columns["weight"].max() <= 100
    thirds = np.histogram(np.log10(columns["weight"]), 4, (-2, 2))[0]
    assert abs(thirds - 500).max() < 5 * math.sqrt(375), thirds
    assert columns["warm_up"].min() >= 0.1 and columns["warm_up"].max() <= 0.3
    assert abs(columns["warm_up"].mean() - 0.2) < 0.01
    assert dict(zip(*np.unique(columns["batch_size"], return_counts=True), strict=True)).keys() == {
        2,
        3,
        4,
        5,
    }
    assert all(float(f"{value:.4g}") == value for value in columns["weight"])


def test_no_setting_is_drawn_twice_and_a_small_space_is_tried_whole() -> None:
    space = search_space("lmd", ["weight=1,2,3", "epochs=1,2"])
    assert space.size == 6
    drawn = [tuple(one.values()) for one in space.settings("random", 50, seed=0)]
    assert sorted(drawn) == sorted(itertools.product((1.0, 2.0, 3.0), (1.0, 2.0)))
    whole_numbers = search_space("lmd", ["batch_size=log(2,4)"])
    assert sorted(one["batch_size"] for one in whole_numbers.settings("random", 9, seed=0)) == [2, 3, 4]


@pytest.mark.parametrize(
    ("over", "told_of"),
    [
        ([], "which settings should be varied"),
        (["weight"], "NAME=VALUES"),
        (["weigth=1,2"], "Did you mean 'weight'"),
        (["weight="], "a value is empty"),
        (["weight=1,,2"], "a value is empty"),
        (["weight=one"], "must be a number, got"),
        (["weight=log(5,1)"], "from 5 to 1"),
        (["weight=log(0,1)"], "both above 0"),
        (["weight=log(1,)"], "must be a number, got"),
        (["weight=normal(0,1)"], "unknown kind of range"),
        (["schedule=uniform(0,1)"], "is not a number and cannot have a range"),
        (["as_published=uniform(0,1)"], "is not a number and cannot have a range"),
        (["batch_size=uniform(1.2,1.8)"], "no whole number"),
        (["weight=1", "weight=2"], "twice"),
        (["lm_weight=1,2"], "is set to one value and also varied by"),
        (["epochs=1,2"], "is set to one value and also varied by"),
        (["seed=1,2"], "`--over` cannot vary seed"),
        (["longest=8,16"], "Unknown option of lmd or of training: 'longest'"),
        (["by=words"], "Unknown option of lmd or of training: 'by"),
    ],
)
def test_what_is_wrong_is_said(over: list[str], told_of: str) -> None:
    with pytest.raises(UsageError) as error:
        search_space("lmd?lm_weight=3", over, fixed=["epochs"])
    assert told_of in str(error.value)


def test_a_grid_has_no_ranges() -> None:
    with pytest.raises(UsageError, match="expects single values, but"):
        search_space("lmd", ["weight=log(1,2)"]).settings("grid", 3, seed=0)


def test_a_trial_is_the_training_with_its_options() -> None:
    config = DebiasConfig(
        model="m", method="lmd?lm_weight=2&quirks=summed,fixed-embeddings", bias="evenhand/age", search="random",
        over=("weight=log(1,9)", "learning_rate=1e-3"), clip=None, guard=2,
    )  # fmt: skip
    one = config.of_trial({"weight": 3.25, "learning_rate": 1e-3})
    assert one.method == "lmd?lm_weight=2&quirks=summed,fixed-embeddings&weight=3.25"
    assert (one.learning_rate, one.clip, one.search, one.guard) == (1e-3, None, None, 1.05)
    with pytest.raises(UsageError, match=r"learning_rate must be a number above 0, got -1\.0"):
        config.of_trial({"learning_rate": -1.0})


@pytest.mark.parametrize("value", [0.1, 1e-5, 100.0, 3, True, None, 2.865e-05])
def test_what_is_printed_of_a_value_is_the_value(value: object) -> None:
    option = {bool: "dropout", int: "batch_size"}.get(type(value), "clip")
    space = search_space("lmd", [f"{option}={plain(value)}"])
    assert space.options[option] == (value,)
    assert told({option: value}) == f"{option}={plain(value)}"
