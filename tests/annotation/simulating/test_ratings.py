"""Ratings of texts: rates, agreement and classifiers as planted."""

import json

import numpy as np
import polars as pl
import pytest

from evenhand.annotation.simulating import simulated_ratings
from evenhand.annotation.simulating.ratings import REGARD
from evenhand.schema import VOTES, UsageError

LIKERT = tuple(str(number) for number in range(1, 8))


def test_the_rates_of_models_and_groups_are_the_planted_ones_whatever_the_spread() -> None:
    planted = {("m", "women"): 0.3, ("m", "men"): 0.1, ("n", "women"): 0.2, ("n", "men"): 0.5}
    votes = simulated_ratings(planted, persons=3000, person_sd=0.6, item_sd=1.5, seed=1)
    assert dict(votes.schema) == dict(VOTES)
    group = pl.col("groups").str.json_path_match("$.group")
    found = votes.group_by("model", group).agg(pl.col("value").mean(), pl.col("answer").eq("yes").mean())
    for model, group_, value, share in found.rows():
        assert value == share
        assert value == pytest.approx(planted[model, group_], abs=0.025)


def test_four_classes_have_their_shares() -> None:
    shares = [0.4, 0.3, 0.2, 0.1]
    votes = simulated_ratings({("m", "g"): shares}, options=REGARD, question="regard", persons=2000, seed=2)
    found = dict(votes["answer"].value_counts(normalize=True).rows())
    assert [found[option] for option in REGARD] == pytest.approx(shares, abs=0.02)
    assert votes["value"].is_null().all()


def test_numbers_of_a_scale_count_as_themselves() -> None:
    votes = simulated_ratings(
        {("m", "g"): [1 / 7] * 7}, options=LIKERT, measurement="ordinal", persons=1000, person_sd=1.0, seed=3
    )
    assert votes["value"].mean() == pytest.approx(4, abs=0.12)
    assert (votes["answer"].cast(pl.Float64) == votes["value"]).all()


def test_people_agree_more_the_more_items_differ() -> None:
    def pairs_equal(item_sd: float) -> float:
        votes = simulated_ratings({("m", "g"): 0.5}, votes_per_item=2, item_sd=item_sd, persons=1000, seed=4)
        return float(votes.group_by("item").agg(pl.col("answer").n_unique() == 1)["answer"].mean())  # type: ignore[arg-type]

    # Two normal numbers of correlation r have the same sign with probability 1/2 + asin(r) / pi (Sheppard).
    for item_sd in (0.0, 1.0, 3.0):
        r = item_sd**2 / (1 + item_sd**2)
        assert pairs_equal(item_sd) == pytest.approx(0.5 + np.arcsin(r) / np.pi, abs=0.015)


def test_a_classifier_follows_people_as_far_as_it_is_told_to() -> None:
    votes = simulated_ratings(
        {("m", "g"): 0.5},
        classifiers={"good": 0.95, "deaf": 0.0},
        item_sd=9.0,
        votes_per_item=1,
        persons=300,
        seed=5,
    )
    said = [json.loads(text) for text in votes["judgements"]]
    yes = votes["answer"].eq("yes").to_numpy()
    right = {name: np.mean([each[name]["negative"] for each in said] == yes) for name in ("good", "deaf")}
    r = 0.95 * 9 / np.sqrt(82)
    assert right["good"] == pytest.approx(0.5 + np.arcsin(r) / np.pi, abs=0.02)
    assert right["deaf"] == pytest.approx(0.5, abs=0.02)
    for each in said[:50]:
        assert sum(each["good"]["scores"].values()) == pytest.approx(1)
        assert each["good"]["score"] == each["good"]["scores"]["yes"]


def test_other_questions_ask_the_same_people_of_the_same_texts() -> None:
    one, two = (simulated_ratings({("m", "g"): 0.4}, question=name, seed=6) for name in ("bias", "fluency"))
    assert one.select("person", "item", "position", "text").equals(
        two.select("person", "item", "position", "text")
    )
    assert not one["answer"].equals(two["answer"])


def test_spammers_fail_gold() -> None:
    votes = simulated_ratings({("m", "g"): 0.4}, persons=400, spammers=0.5, gold=4, attention=1.0, seed=7)
    failed = votes.filter(role="gold").group_by("person").agg(pl.col("correct").all())["correct"].not_().sum()
    assert failed == pytest.approx(200 * (1 - 0.5**4), abs=20)


def test_shares_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match=r"one share per option .4."):
        simulated_ratings({("m", "g"): [0.5, 0.2, 0.2, 0.2]}, options=REGARD)
