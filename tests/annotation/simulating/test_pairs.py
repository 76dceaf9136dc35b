"""Votes between pairs: what was planted is there."""

import numpy as np
import polars as pl
import pytest

from evenhand.annotation.simulating import marginal_rate, simulated_votes
from evenhand.schema import VOTES, UsageError


def share_of_a(votes: pl.DataFrame) -> float:
    return float(votes.filter(role="real")["answer"].eq("a").mean())  # type: ignore[arg-type]


def test_the_table_is_an_exports() -> None:
    votes = simulated_votes(persons=10, onboarding=1, gold=1, duplicates=1, tie=0.2, seed=3)
    assert dict(votes.schema) == dict(VOTES)
    assert votes.height == 10 * (5 + 3)
    assert votes["presentation"].is_unique().all()
    assert votes.filter(role="real").select("expected", "correct").null_count().row(0) == (50, 50)
    assert (votes["answered_at"] - votes["shown_at"]).dt.total_microseconds().to_list() == pytest.approx(
        (votes["seconds"] * 1e6).to_list(), abs=1
    )


def test_equal_seeds_give_equal_votes_and_others_do_not() -> None:
    assert simulated_votes(seed=4).equals(simulated_votes(seed=4))
    assert not simulated_votes(seed=4).equals(simulated_votes(seed=5))


@pytest.mark.parametrize(("persons", "mine", "votes"), [(40, 5, 1), (60, 5, 3), (12, 50, 12), (7, 6, 3)])
def test_each_item_has_its_votes_and_nobody_one_twice(persons: int, mine: int, votes: int) -> None:
    frame = simulated_votes(persons=persons, items_per_person=mine, votes_per_item=votes, seed=1)
    assert frame.height == persons * mine
    assert not frame.select("person", "item").is_duplicated().any()
    counts = frame.group_by("item").len()["len"]
    assert counts.max() == votes
    assert frame["item"].n_unique() == -(-persons * mine // votes)


def test_the_marginal_rate_is_what_votes_come_to() -> None:
    votes = simulated_votes(
        {"new": 0.8, "old": 0.0}, persons=20000, person_sd=1.0, item_sd=0.5, side=0.4, spammers=0.1, seed=6
    )
    expected = marginal_rate(0.8, np.hypot(1.0, 0.5), side=0.4, spammers=0.1)
    # 20,000 people of 5 votes with a standard deviation of 1 between people: about 0.002.
    assert share_of_a(votes) == pytest.approx(expected, abs=0.009)


def test_the_marginal_rate_agrees_with_a_loop_over_drawn_people() -> None:
    rng = np.random.default_rng(0)
    drawn = 1 / (1 + np.exp(-(0.7 + 1.5 * rng.standard_normal(2_000_000))))
    assert marginal_rate(0.7, 1.5) == pytest.approx(drawn.mean(), abs=0.001)


def test_the_left_side_is_chosen_as_planted() -> None:
    votes = simulated_votes(persons=8000, side=0.5, seed=7)
    left = (votes["answer"] == votes["shown_left"]).mean()
    assert left == pytest.approx(1 / (1 + np.exp(-0.5)), abs=0.01)
    assert share_of_a(votes) == pytest.approx(0.5, abs=0.01)


def test_persons_differ_by_the_standard_deviation_planted() -> None:
    # With very many votes each, a person's logit shows: its spread is the planted one.
    votes = simulated_votes(persons=300, items_per_person=600, votes_per_item=300, person_sd=0.8, seed=8)
    shares = votes.group_by("person").agg(pl.col("answer").eq("a").mean())["answer"].to_numpy()
    assert np.log(shares / (1 - shares)).std() == pytest.approx(0.8, abs=0.1)


def test_spammers_throw_coins_and_are_fast() -> None:
    votes = simulated_votes(
        {"a": 9.0, "b": -9.0}, persons=1000, spammers=0.3, onboarding=4, attention=1.0, seed=9
    )
    wrong = votes.filter(role="onboarding").group_by("person").agg(pl.col("correct").all())
    assert wrong["correct"].not_().sum() == pytest.approx(300 * (1 - 0.5**4), abs=25)
    assert share_of_a(votes) == pytest.approx(0.85, abs=0.02)
    slow = votes.join(wrong.filter("correct"), on="person")["seconds"].median()
    assert slow > 5 * votes.join(wrong.filter(~pl.col("correct")), on="person")["seconds"].median()  # type: ignore[operator]


def test_conversations_are_drawn_with_replacement_and_shared() -> None:
    votes = simulated_votes(persons=400, conversations=60, item_sd=1.0, seed=10)
    assert votes["a"].n_unique() == 60
    assert votes["item"].n_unique() == 2000


def test_every_two_models_of_three_meet_equally_often() -> None:
    votes = simulated_votes({"x": 0.0, "y": 0.0, "z": 0.0}, persons=60, seed=11)
    assert votes.group_by("model_a", "model_b").len().sort("model_a", "model_b").rows() == [
        ("x", "y", 100),
        ("x", "z", 100),
        ("y", "z", 100),
    ]


def test_tens_of_thousands_are_made_at_once() -> None:
    assert simulated_votes(persons=10000, votes_per_item=2, person_sd=1.0, item_sd=1.0).height == 50000


def test_what_cannot_be_allocated_is_refused() -> None:
    with pytest.raises(UsageError, match="persons=3, items_per_person=5, votes_per_item=4"):
        simulated_votes(persons=3, votes_per_item=4)
    with pytest.raises(UsageError, match="at least two models"):
        simulated_votes({"alone": 1.0})
