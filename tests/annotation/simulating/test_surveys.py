"""Attitudes: what is rated, and what it does to choices, are the same people's."""

import numpy as np
import polars as pl
import pytest

from evenhand.annotation.definition import SDO7
from evenhand.annotation.simulating import simulated_survey, simulated_votes
from evenhand.schema import VOTES

REVERSED = [statement.id for statement in SDO7 if statement.reversed]


def scores(rows: pl.DataFrame) -> pl.DataFrame:
    """By person: mean of the ratings around the middle, turned where reversed."""
    sign = pl.when(pl.col("question").is_in(REVERSED)).then(-1).otherwise(1)
    return rows.group_by("person").agg(score=((pl.col("value") - 4) * sign).mean()).sort("person")


def test_each_person_rates_different_statements() -> None:
    rows = simulated_survey(persons=500, draw=2, seed=1)
    assert dict(rows.schema) == dict(VOTES)
    assert rows.height == 1000
    assert not rows.select("person", "question").is_duplicated().any()
    assert rows["question"].n_unique() == 16
    assert rows.select("item", "kind", "shown_left").null_count().row(0) == (1000, 1000, 1000)


def test_some_are_skipped() -> None:
    rows = simulated_survey(persons=2000, skipped=0.25, seed=2)
    assert rows["answer"].is_null().mean() == pytest.approx(0.25, abs=0.02)
    assert (rows["answer"].is_null() == rows["value"].is_null()).all()


def test_choices_follow_the_attitude_that_is_rated() -> None:
    planted = 0.7
    votes = simulated_votes(persons=4000, attitude=planted, seed=3)
    rated = scores(simulated_survey(persons=4000, draw=None, noise=0.5, seed=3))
    chosen = votes.group_by("person").agg(a=pl.col("answer").eq("a").mean()).sort("person")
    assert chosen["person"].equals(rated["person"])
    attitude = rated["score"].to_numpy() / rated["score"].to_numpy().std()
    for low, high in ((-1.5, -0.5), (0.5, 1.5)):
        these = (attitude > low) & (attitude < high)
        expected = 1 / (1 + np.exp(-planted * attitude[these]))
        assert chosen["a"].to_numpy()[these].mean() == pytest.approx(expected.mean(), abs=0.03)
