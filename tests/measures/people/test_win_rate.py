"""Win rates: which rows count, which way they are told, the published row by hand, and verdicts."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from evenhand.measures import win_rates
from evenhand.schema import DataError
from evenhand.studies.calibration.simulators.people import PairedVotes
from tests.measures.people.laid_out import drawn, pair, table


def ours(found: pl.DataFrame, measure: str = "win_rate") -> dict[str, object]:
    return found.filter(pl.col("measure") == measure).row(0, named=True)


def test_only_real_answers_that_no_rule_takes_out_count() -> None:
    rows = [pair(n % 20, n // 2, "b" if n % 5 else "a") for n in range(100)]
    others = [
        pair(1, 90, "a", role="gold"),
        pair(2, 91, "a", role="onboarding"),
        pair(3, 92, "a", role="duplicate"),
        pair(4, 93, "a", excluded="speed"),
        pair(5, 94, None),
        {"role": "survey", "question": "age", "measurement": "nominal", "person": "p1", "answer": "old"},
    ]
    found, alone = win_rates(table(rows + others)), win_rates(table(rows))
    row = ours(found)
    assert (row["n"], row["n_missing"], row["n_persons"], row["n_items"]) == (100, 2, 20, 50)
    assert row["estimate"] == pytest.approx(0.8) and row["verdict"] == "preferred"
    assert found.drop("n_missing").equals(alone.drop("n_missing"))


def test_the_published_row_is_the_papers() -> None:
    rows = [pair(n, n, "b" if n < 224 else "a") for n in range(400)]
    row = ours(win_rates(table(rows)), "win_rate_published")
    assert (row["estimate"], row["stars"], row["n"]) == (0.56, "*", 400)
    assert row["p"] == pytest.approx(0.019, abs=5e-4) and row["agreement"] is None
    assert (row["low"], row["verdict"], row["q"]) == (None, None, None)


def test_agreement_is_acute_evals() -> None:
    votes = {0: "bb", 1: "ab", 2: "bba", 3: "a"}
    rows = [pair(n, item, answer) for item, said in votes.items() for n, answer in enumerate(said)]
    row = ours(win_rates(table(rows)), "win_rate_published")
    assert row["agreement"] == pytest.approx((1 + 0 + 2 / 3) / 3)


def test_ties_are_halves_for_us_and_left_out_by_the_paper() -> None:
    rows = [pair(n % 20, n // 2, ("a", "b", "b", "tie")[n % 4]) for n in range(120)]
    found = win_rates(table(rows))
    mine, published = ours(found), ours(found, "win_rate_published")
    assert mine["estimate"] == pytest.approx((30 * 0.5 + 60) / 120)
    assert (mine["n_ties"], mine["tie_share"]) == (30, 0.25)
    assert (published["n"], published["estimate"]) == (90, pytest.approx(2 / 3))
    assert published["p"] == pytest.approx(binomtest(60, 90).pvalue)


def test_a_pair_is_told_one_way_however_it_was_shown() -> None:
    rows = [pair(n % 20, n // 2, "b" if n % 3 else "a") for n in range(120)]
    turned = [
        row
        if n % 2
        else {
            **row,
            "answer": {"a": "b", "b": "a"}[str(row["answer"])],
            **{"a": row["b"], "b": row["a"], "model_a": "tuned", "model_b": "base"},
        }
        for n, row in enumerate(rows)
    ]
    assert win_rates(table(turned)).equals(win_rates(table(rows)))
    other = ours(win_rates(table(rows), baseline="tuned"))
    assert (other["model"], other["against"]) == ("base", "tuned")
    assert other["estimate"] == pytest.approx(1 - ours(win_rates(table(rows)))["estimate"])
    assert other["verdict"] == "not preferred"


def test_each_question_and_pair_has_its_rows_and_holm_is_over_all_of_them() -> None:
    parts = [
        drawn(PairedVotes(40, share=share, side=0), seed, question=question, model_b=model)
        for seed, (question, model, share) in enumerate(
            [
                ("human", "small", 0.5),
                ("human", "tuned", 0.62),
                ("engaging", "tuned", 0.8),
                ("engaging", "small", 0.6),
            ]
        )
    ]
    found = win_rates(pl.concat(parts)).filter(pl.col("measure") == "win_rate")
    assert found.select("question", "model").rows() == [
        ("engaging", "small"),
        ("engaging", "tuned"),
        ("human", "small"),
        ("human", "tuned"),
    ]
    p, q = found["p"].to_numpy(), found["q"].to_numpy()
    ascending = np.argsort(p)
    assert q[ascending] == pytest.approx(np.minimum(np.maximum.accumulate(p[ascending] * [4, 3, 2, 1]), 1))
    alone = win_rates(pl.concat(parts), "human").filter(pl.col("measure") == "win_rate")
    assert alone["p"].to_list() == found["p"].to_list()[2:]
    assert alone["minimum_detectable"][0] < found["minimum_detectable"][2]


@pytest.mark.parametrize(
    ("persons", "items", "obstacle"),
    [(9, 50, "9 persons;"), (20, 8, "8 items;"), (1, 1, "1 person and 1 item")],
)
def test_few_persons_or_items_are_not_measurable(persons: int, items: int, obstacle: str) -> None:
    rows = [pair(n % persons, n % items, "b") for n in range(60)]
    row = ours(win_rates(table(rows)))
    assert row["verdict"] == "not measurable" and obstacle in str(row["obstacle"]) and row["q"] is None


def test_nobody_answered() -> None:
    found = win_rates(table([pair(n, n, None) for n in range(30)]))
    assert found["n"].to_list() == [0, 0] and found["n_missing"].to_list() == [30, 30]
    assert found["estimate"].is_null().all() and ours(found)["verdict"] == "not measurable"


def test_conversations_that_stand_in_several_items_make_limits_wider() -> None:
    study = PairedVotes(60, per_item=1, share=0.5, pool=10, conversation_sd=2.0, side=0)
    votes, ways, _ = study.draw(np.random.default_rng(3))
    rows = [
        pair(person, item, "b" if vote else "a", b=f"t{mine}", a=f"b{theirs}")
        for vote, person, item, mine, theirs in zip(votes, *ways, strict=True)
    ]
    shared = ours(win_rates(table(rows)))
    alone = ours(
        win_rates(table(pair(p, i, "b" if v else "a") for v, p, i in zip(votes, *ways[:2], strict=True)))
    )
    assert shared["high"] - shared["low"] > 2 * (alone["high"] - alone["low"])
    assert shared["item_icc"] > 0.2


def test_order_does_not_matter() -> None:
    votes = drawn(PairedVotes(30, person_sd=1, item_sd=1, share=0.6))
    mixed = votes.sample(fraction=1, shuffle=True, seed=1)
    for one, other in zip(win_rates(votes).rows(), win_rates(mixed).rows(), strict=True):
        assert other == pytest.approx(one) if not isinstance(one[0], str) else True
    assert ours(win_rates(mixed))["p"] == pytest.approx(ours(win_rates(votes))["p"])


def test_what_is_no_vote() -> None:
    rows = [pair(n, n, "b") for n in range(3)]
    with pytest.raises(DataError, match="the column answer contains 'left'"):
        win_rates(table([*rows, pair(4, 4, "left")]))
    with pytest.raises(DataError, match="model_a or model_b is missing"):
        win_rates(table([*rows, pair(4, 4, "a", model_a=None)]))
    with pytest.raises(DataError, match="no question 'human'"):
        win_rates(table(rows), "human")
    with pytest.raises(DataError, match="shown_left"):
        win_rates(table(rows).drop("shown_left"))


@pytest.mark.parametrize(
    ("pool", "verdict"), [(1, "not measurable"), (9, "not measurable"), (10, "preferred")]
)
def test_few_conversations_of_a_model_are_no_sample_of_it(pool: int, verdict: str) -> None:
    rows = [pair(n % 40, n // 4, "b" if n % 5 else "a", a=f"base-{n // 4 % pool}") for n in range(400)]
    row = ours(win_rates(table(rows)))
    assert row["verdict"] == verdict
    if pool < 10:
        what = "is only 1 conversation" if pool == 1 else f"are only {pool} conversations"
        assert str(row["obstacle"]) == f"There {what} of base; at least 10 are needed."


def test_a_vote_without_its_conversation_leaves_the_others_together() -> None:
    study = PairedVotes(60, per_item=1, share=0.5, pool=12, conversation_sd=2.0, side=0)
    votes, ways, _ = study.draw(np.random.default_rng(4))
    rows = [
        pair(person, item, "b" if vote else "a", b=f"t{mine}", a=f"b{theirs}")
        for vote, person, item, mine, theirs in zip(votes, *ways, strict=True)
    ]
    whole, less = (
        ours(win_rates(table(rows))),
        ours(win_rates(table([{**rows[0], "a": None, "b": None}, *rows[1:]]))),
    )
    assert less["high"] - less["low"] == pytest.approx(whole["high"] - whole["low"], rel=0.1)


def test_raw_is_the_share_of_all_votes() -> None:
    votes = table(
        [pair(0, item, "b") for item in range(30)]
        + [pair(person, item, "a") for person in range(1, 11) for item in range(2)]
        + [pair(11, 3, "tie")]
    )
    ours, published = win_rates(votes).to_dicts()
    assert ours["raw"] == pytest.approx(30.5 / 51)
    assert ours["estimate"] < ours["raw"]
    assert published["raw"] == published["estimate"] == pytest.approx(30 / 50)
