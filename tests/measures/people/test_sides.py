"""Sides: found where planted, harmless where balanced, and taken out where they are not."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import side_effect, win_rates
from evenhand.studies.calibration.simulators.people import PairedVotes
from tests.measures.people.laid_out import drawn, pair, table


def row(found: pl.DataFrame, measure: str) -> dict[str, object]:
    return found.filter(pl.col("measure") == measure).row(0, named=True)


def test_a_planted_side_is_found_and_does_not_move_a_balanced_preference() -> None:
    votes = drawn(PairedVotes(120, share=0.6, side=1.0, person_sd=0.5), seed=1)
    found = side_effect(votes)
    side, preferred = row(found, "side_share"), row(found, "win_rate_by_side")
    assert side["verdict"] == "left" and side["estimate"] == pytest.approx(0.72, abs=0.04)
    assert preferred["left_share"] == pytest.approx(0.5, abs=0.05) and preferred["balance_p"] > 0.05
    assert preferred["estimate"] == pytest.approx(preferred["raw"], abs=0.015)
    assert preferred["verdict"] == "preferred"


def test_a_side_that_nobody_prefers_is_not_found() -> None:
    assert (
        row(side_effect(drawn(PairedVotes(100, share=0.7, side=0.0), seed=2)), "side_share")["verdict"]
        == "not detected"
    )


def test_a_model_that_stands_left_too_often_wins_by_its_side_alone() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for n in range(600):
        left = rng.random() < 0.85
        chosen_left = rng.random() < 0.7
        rows.append(
            pair(n % 60, n // 2, "b" if left == chosen_left else "a", shown_left="b" if left else "a")
        )
    votes = table(rows)
    found = row(side_effect(votes), "win_rate_by_side")
    assert found["raw"] > 0.6 and found["balance_p"] < 1e-6
    assert found["low"] < 0.5 < found["high"] and found["verdict"] == "not detected"
    ours, published = win_rates(votes).rows(named=True)
    assert (ours["verdict"], ours["weighing"]) == ("not detected", "sides")
    assert ours["estimate"] == found["estimate"] and published["stars"] == "***"


def test_one_side_alone_is_not_measurable() -> None:
    found = side_effect(table(pair(n % 20, n // 2, "b", shown_left="b") for n in range(100)))
    assert row(found, "win_rate_by_side")["verdict"] == "not measurable"
    assert "on the same side" in str(row(found, "win_rate_by_side")["obstacle"])


def test_rows_that_do_not_say_what_stood_left_are_missing() -> None:
    rows = [pair(n % 20, n // 2, "b" if n % 2 else "a") for n in range(100)]
    found = side_effect(table([*rows, pair(1, 80, "a", shown_left=None)]))
    assert found["n"].to_list() == [100, 100] and found["n_missing"].to_list() == [1, 1]


def test_votes_weigh_the_same_where_sides_were_drawn_evenly_or_are_not_told() -> None:
    votes = drawn(PairedVotes(60, share=0.6), seed=6)
    untold = votes.with_columns(shown_left=pl.lit(None, pl.String))
    for each, known in ((votes, True), (untold, False)):
        told = win_rates(each).row(0, named=True)
        assert told["weighing"] == "votes" and (told["balance_p"] is not None) == known
        assert told["estimate"] == pytest.approx(win_rates(votes)["estimate"][0])


def test_a_model_always_on_one_side_has_no_win_rate_either() -> None:
    rows = [pair(n % 20, n // 2, "b" if n % 3 else "a", shown_left="b") for n in range(100)]
    assert "on the same side" in str(win_rates(table(rows))["obstacle"][0])
    follows = [
        pair(n % 20, n // 2, "b" if n % 5 else "a", shown_left="b" if n % 5 else "a") for n in range(200)
    ]
    told = win_rates(table(follows)).row(0, named=True)
    assert told["verdict"] == "not measurable" and "All votes are for the same side" in told["obstacle"]


def test_dropouts_on_one_side_do_not_make_a_preference() -> None:
    found = []
    for seed in range(60):
        votes = drawn(PairedVotes(60, each=10, share=0.5, side=1.5, person_sd=1), seed=seed)
        undone = np.random.default_rng(seed).random(votes.height) < 0.4
        kept = votes.filter(~((pl.col("shown_left") == "b") & pl.Series(undone)))
        found.append(win_rates(kept)["verdict"][0])
    assert found.count("not detected") >= 53  # of 57 at 5 %; two in five without weighing sides
