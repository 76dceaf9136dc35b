"""Agreement of items by hand; persons who do not look, and those who always say the same."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import item_agreement, person_agreement
from tests.measures.people.laid_out import rating, table


def test_items_by_hand() -> None:
    said = {0: "yyn", 1: "yn", 2: "yyyy", 3: "n"}
    votes = table(
        rating(n, item, answer) for item, answers in said.items() for n, answer in enumerate(answers)
    )
    found = item_agreement(votes).select("item", "majority", "majority_share", "agreeing_pairs", "n")
    assert [row[0] for row in found.rows()] == ["i1", "i0", "i2", "i3"]
    assert found.row(0) == ("i1", None, 0.5, 0.0, 2)
    assert found.row(1) == ("i0", "y", pytest.approx(2 / 3), pytest.approx(1 / 3), 3)
    assert found.row(2) == ("i2", "y", 1.0, 1.0, 4) and found.row(3) == ("i3", "n", 1.0, None, 1)


def people(seed: int = 0) -> pl.DataFrame:
    """Ten careful people, one who answers at random and one who always says no, on 60 items."""
    rng = np.random.default_rng(seed)
    truth = rng.random(60) < 0.4
    rows = []
    for person in range(12):
        for item in range(60):
            yes = truth[item] if rng.random() < 0.85 else not truth[item]
            if person == 10:
                yes = bool(rng.random() < 0.5)
            if person == 11:
                yes = False
            rows.append(rating(person, item, "yes" if yes else "no"))
    return table(rows)


def test_persons_who_look_agree_beyond_chance_and_others_do_not() -> None:
    found = {row["person"]: row for row in person_agreement(people()).iter_rows(named=True)}
    assert all(found[f"p{n}"]["q"] < 0.05 for n in range(10))
    assert found["p10"]["p"] > 0.05 and found["p10"]["estimate"] < 0.6
    lazy = found["p11"]
    assert lazy["estimate"] == pytest.approx(lazy["null"]) and lazy["p"] == pytest.approx(0.5, abs=0.1)


def test_a_persons_agreement_by_a_loop() -> None:
    votes = people(1)
    own = {r["item"]: r["answer"] for r in votes.filter(pl.col("person") == "p3").iter_rows(named=True)}
    shares = [
        float(
            (votes.filter((pl.col("item") == item) & (pl.col("person") != "p3"))["answer"] == answer).mean()
        )
        for item, answer in own.items()
    ]
    row = person_agreement(votes).filter(pl.col("person") == "p3").row(0, named=True)
    assert row["estimate"] == pytest.approx(np.mean(shares)) and row["n_items"] == 60


def test_few_shared_items_are_not_told() -> None:
    votes = table([*(rating(0, n, "yes") for n in range(20)), *(rating(1, n, "yes") for n in range(4))])
    found = person_agreement(votes)
    assert found["estimate"].null_count() == 2 and "4 of the person's items" in found["obstacle"][0]
