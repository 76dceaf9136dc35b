"""Splits are scikit-learn's, row for row."""

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import train_test_split

from evenhand.prompts.redditbias import draw_split, train_and_held_out, valid_and_test
from evenhand.schema import DataError


def test_plain_and_stratified_draws_are_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    compared = 0
    for _ in range(120):
        n, seed = int(generator.integers(4, 80)), int(generator.integers(0, 100))
        share = float(generator.choice([0.5, 0.6, 0.75, generator.uniform(0.1, 0.9)]))
        for strata in (None, generator.integers(0, generator.integers(1, 5), n)):
            try:
                theirs = train_test_split(np.arange(n), train_size=share, random_state=seed, stratify=strata)
            except ValueError:  # a stratum of one row, or an empty part
                continue
            ours = draw_split(n, share, seed, strata)
            assert [part.tolist() for part in ours] == [part.tolist() for part in theirs]
            compared += 1
    assert compared > 150


def test_parts_of_a_table() -> None:
    table = pl.DataFrame({"n": range(1273)})
    train, rest = train_and_held_out(table, 0.6)
    assert (train.height, rest.height) == (763, 510)  # as published for race
    assert sorted([*train["n"], *rest["n"]]) == list(range(1273))
    labels = np.ones(1273)
    theirs = train_test_split(np.arange(1273), train_size=0.6, stratify=labels, random_state=1)
    assert train["n"].to_list() == theirs[0].tolist()
    train, rest = train_and_held_out(table, 0.6, stratified=False)  # as published for religion1 and religion2
    theirs = train_test_split(np.arange(1273), train_size=0.6, random_state=1)
    assert (train["n"].to_list(), rest["n"].to_list()) == (theirs[0].tolist(), theirs[1].tolist())
    valid, test = valid_and_test(rest)
    theirs = train_test_split(rest["n"].to_numpy(), train_size=0.5, random_state=1)
    assert (valid["n"].to_list(), test["n"].to_list()) == (theirs[0].tolist(), theirs[1].tolist())


@pytest.mark.parametrize(("n", "share"), [(1, 0.5), (0, 0.5), (3, 0.2)])
def test_parts_that_would_be_empty(n: int, share: float) -> None:
    with pytest.raises(DataError, match="cannot be split"):
        draw_split(n, share)
