"""Likely labels of simulated people, and what is said where they cannot be known."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import dawid_skene
from tests.measures.people.laid_out import rating, table

RIGHT = [0.95, 0.9, 0.85, 0.8, 0.55]


def people(items: int = 200, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random(items) < 0.4
    rows = [
        rating(person, item, "yes" if truth[item] == (rng.random() < right) else "no")
        for item in range(items)
        for person, right in enumerate(RIGHT)
    ]
    return table(rows), truth


def test_reliabilities_labels_and_confusions_are_found() -> None:
    votes, truth = people()
    found = dawid_skene(votes, resamples=50)
    persons = found.persons.sort("person")
    true = pl.DataFrame({"item": [f"i{n}" for n in range(200)], "true": np.where(truth, "yes", "no")})
    right = votes.join(true, on="item").group_by("person").agg((pl.col("answer") == pl.col("true")).mean())
    assert persons["estimate"].to_numpy() == pytest.approx(
        right.sort("person")["answer"].to_numpy(), abs=0.05
    )
    assert (persons["low"] < persons["estimate"]).all() and (persons["estimate"] < persons["high"]).all()
    label = {row["item"]: row["label"] for row in found.items.iter_rows(named=True)}
    assert np.mean([label[f"i{n}"] == ("yes" if truth[n] else "no") for n in range(200)]) > 0.94
    sums = found.confusions.group_by("person", "label").agg(pl.col("probability").sum())["probability"]
    assert sums.to_numpy() == pytest.approx(np.ones(10))
    whole = found.posteriors.group_by("item").agg(pl.col("probability").sum())["probability"]
    assert whole.to_numpy() == pytest.approx(np.ones(200))
    assert dict(found.prevalence.select("label", "share").rows())["yes"] == pytest.approx(
        truth.mean(), abs=0.05
    )
    assert found.prevalence["obstacle"].null_count() == 2


def test_two_who_differ_do_not_say_who_is_right() -> None:
    votes, _ = people()
    found = dawid_skene(votes.filter(pl.col("person").is_in(["p0", "p4"])), resamples=5)
    assert "have 3 votes" in found.prevalence["obstacle"][0]
    assert (
        found.persons["low"].null_count() == 2
        and "estimate which answers are right" in found.persons["obstacle"][0]
    )


def test_persons_with_few_votes_have_no_limits() -> None:
    votes, _ = people()
    few = votes.filter((pl.col("person") != "p4") | pl.col("item").is_in(["i1", "i2", "i3"]))
    row = dawid_skene(few, resamples=5).persons.filter(pl.col("person") == "p4").row(0, named=True)
    assert row["low"] is None and row["n"] == 3 and row["obstacle"] == "3 votes; at least 10 are needed."


def test_where_all_say_the_same_nothing_is_fitted() -> None:
    found = dawid_skene(table(rating(person, item, "no") for person in range(4) for item in range(20)))
    assert found.items.is_empty() and found.persons.is_empty()


def test_the_seed_decides() -> None:
    votes, _ = people(60)
    one, other, third = (dawid_skene(votes, resamples=20, seed=seed).persons for seed in (1, 1, 2))
    assert one.equals(other) and not one.equals(third)


def test_of_coins_nobody_is_said_to_be_reliable() -> None:
    rng = np.random.default_rng(11)
    who = np.array([rng.choice(20, 3, replace=False) for _ in range(150)])
    votes = table(
        rating(int(person), item, "yes" if rng.random() < 0.5 else "no")
        for item, persons in enumerate(who)
        for person in persons
    )
    found = dawid_skene(votes, resamples=0)
    assert set(found.persons["obstacle"]) == {
        "No annotator agrees with the others beyond chance, so the true labels cannot be estimated."
    }
    assert found.persons["low"].is_null().all() and found.prevalence["obstacle"].null_count() == 0
