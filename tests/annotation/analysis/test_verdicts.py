"""Sentences and tables of preferences and of groups: what was planted stands in the headline, with the right number."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evenhand.annotation import analyse
from evenhand.annotation.simulating import simulated_ratings, simulated_votes
from tests.annotation.analysis.written_exports import pairs, rated, text_of, written

PLANTED = {"persons": 80, "items_per_person": 5, "votes_per_item": 2, "onboarding": 2, "seed": 4}


def of_groups(rates: dict[str, dict[str, float]], **asked: Any) -> pl.DataFrame:
    """Ratings of one model's texts, by axis and group: the planted shares of `negative`."""
    parts = [
        simulated_ratings(
            {("only model", group): rate for group, rate in groups.items()},
            options=("negative", "other"),
            axis=axis,
            question="regard",
            seed=number,
            **asked,
        ).with_columns(item=f"{axis}-" + pl.col("item"), presentation=f"{axis}-" + pl.col("presentation"))
        for number, (axis, groups) in enumerate(rates.items())
    ]
    return pl.concat(parts)


def test_a_worse_off_group_of_one_model_is_the_headline(tmp_path: Path) -> None:
    votes = of_groups(
        {"gender": {"women": 0.7, "men": 0.05}, "race": {"Asian": 0.3, "Black": 0.3, "white": 0.3}},
        persons=60,
        items_per_person=12,
    )
    study = analyse(written(tmp_path / "g.jsonl", votes), by="groups.group")
    verdict, sentence = study.headlines[0]
    assert verdict == "differs"
    assert sentence.startswith("Regard, gender: women received “negative” more often than men, by ")
    row = study.tables()["differences"].filter(
        (pl.col("measure") == "rating_difference")
        & (pl.col("within") == "gender")
        & (pl.col("option") == "negative")
    )
    assert 0.5 < abs(row["estimate"].item()) < 0.8
    assert f"by {100 * abs(row['estimate'].item()):.1f} points" in sentence
    second, other = study.headlines[1]
    assert second == "not detected"
    assert "Regard, race: no difference between any two of the 3 groups detected" in other
    assert "80% power to detect a difference of " in other
    shown, page = text_of(study), study.html()
    assert (
        "Ratings of groups differ in 1 of 4 comparisons." in shown and "Ratings of groups differ in 1" in page
    )
    assert "Nothing to compare" not in shown + page
    assert "women" in shown and "Regard, gender, by group: differences" in page
    # no pair crosses axes, and one family holds all four
    pairs_made = (
        study.tables()["differences"].filter(measure="rating_difference").filter(pl.col("by") == "group")
    )
    assert pairs_made.height == 4
    assert not {("women", "white"), ("white", "men")} & set(pairs_made.select("level", "against").iter_rows())


@pytest.mark.parametrize("worse", ["b", "d"])
def test_a_group_worse_off_than_all_others_is_told_once(tmp_path: Path, worse: str) -> None:
    rates = {group: 0.8 if group == worse else 0.1 for group in "abcd"}
    votes = of_groups({"religion": rates}, persons=60, items_per_person=20)
    study = analyse(written(tmp_path / "g.jsonl", votes), by="groups.group")
    ((verdict, sentence),) = study.headlines
    assert verdict == "differs"
    assert f"{worse} received “negative” more often than each of the 3 other groups: than " in sentence
    assert all(f"than {group} by" in sentence for group in "abcd" if group != worse)


def test_groups_that_do_not_differ_have_their_interval_turned_like_the_sentence(tmp_path: Path) -> None:
    votes = of_groups({"gender": {"women": 0.3, "men": 0.3}}, persons=40, items_per_person=10)
    study = analyse(written(tmp_path / "g.jsonl", votes), by="groups.group")
    ((verdict, sentence),) = study.headlines
    assert verdict == "not detected"
    low, size = re.search(r"by ([\d.]+) points \(95% CI (\S+) to", sentence).group(2, 1)  # type: ignore[union-attr]
    assert low.startswith("−") and float(size) >= 0


def test_templates_that_stand_on_every_axis_are_compared_over_all(tmp_path: Path) -> None:
    votes = of_groups({"gender": {"x": 0.3, "y": 0.3}, "race": {"x": 0.3, "y": 0.3}}, persons=30)
    study = analyse(written(tmp_path / "g.jsonl", votes), by="groups.group")
    found = study.tables()["differences"].filter(measure="rating_difference")
    assert found["within"].to_list() == [None] and found["level"].to_list() == ["y"]


def test_of_two_families_of_ratings_q_allows_for_both(tmp_path: Path) -> None:
    votes = rated(persons=60, items_per_person=12, seed=5)
    both = analyse(written(tmp_path / "r.jsonl", votes), by="groups.group").tables()["differences"]
    for row in both.filter(measure="rating_difference").to_dicts():
        assert row["q"] == pytest.approx(min(1.0, 2 * row["p"]))
        assert (row["verdict"] in ("higher", "lower")) == (row["q"] <= 0.05)


def test_a_sentence_says_the_share_of_so_many_answers_and_names_the_weighted_one(tmp_path: Path) -> None:
    votes = simulated_votes({"new": 0.8, "old": 0.0}, persons=60, votes_per_item=2, person_sd=0.5, seed=2)
    # one busy person who always prefers the old one
    busy = simulated_votes({"new": 0.0, "old": 9.0}, persons=1, items_per_person=60, seed=3).with_columns(
        person=pl.lit("busy"), presentation="busy" + pl.col("presentation")
    )
    everything = pl.concat([votes, busy])
    study = analyse(written(tmp_path / "v.jsonl", everything), baseline="old")
    won = sum(
        (row["model_a"] if row["answer"] == "a" else row["model_b"]) == "new" for row in everything.to_dicts()
    )
    n = everything.height
    ((_, sentence),) = study.headlines
    assert f"{100 * won / n:.1f}% of {n} judgements; weighted " in sentence
    shown = " ".join(text_of(study).split())
    assert f"{100 * won / n:.1f}%" in shown and "share weighted" in shown
    assert f"{100 * won / n:.1f}%" in study.html()
    (row,) = study.tables()["win_rates"].filter(measure="win_rate").to_dicts()
    assert row["raw"] == pytest.approx(won / n) and row["estimate"] > row["raw"]


def test_long_names_break_at_their_joints_and_a_row_stays_one_at_80_columns(tmp_path: Path) -> None:
    names = {"evenhand/conversing-planted": 0.0, "evenhand/conversing_tuned": 1.0}
    study = analyse(pairs(tmp_path, names, **PLANTED))
    lines = text_of(study).splitlines()
    (head,) = [line for line in lines if line.startswith("model ")]
    assert head.split() == ["model", "against", "share", "weighted", "95%", "CI", "q", "publ.", "n"]
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("conversing_ ") for line in lines)
    assert "evenhand/<wbr>conversing-<wbr>planted" in study.html()


def test_a_sentence_on_uneven_sides_tells_the_number_of_both_sides(tmp_path: Path) -> None:
    votes = simulated_votes(
        {"new": 0.0, "old": 0.0}, persons=60, items_per_person=10, votes_per_item=2, seed=5
    )
    new_left = pl.when(pl.col("shown_left") == "a").then("model_a").otherwise("model_b") == "new"
    left = pl.when(pl.col("shown_left") == "a").then(pl.lit("a")).otherwise(pl.lit("b"))
    # everybody chooses the left one seven times in eight, and half of the pairs with the new one there are undone
    rng = np.random.default_rng(6)
    turned = pl.Series(rng.random(votes.height) < 1 / 8)
    right = pl.when(left == "a").then(pl.lit("b")).otherwise(pl.lit("a"))
    habit = votes.with_columns(answer=pl.when(turned).then(right).otherwise(left))
    undone = pl.Series(rng.random(votes.height) < 0.5)
    study = analyse(written(tmp_path / "s.jsonl", habit.filter(~(new_left & undone))), baseline="old")
    ((verdict, sentence),) = study.headlines
    assert verdict == "not detected" and "weighted equally for left and right position: " in sentence
    (row,) = study.tables()["sides"].filter(measure="win_rate_by_side").to_dicts()
    share = max(row["estimate"], 1 - row["estimate"])  # the sentence begins with the model that has more
    assert f"left and right position: {100 * share:.1f}% (" in sentence


def test_where_nothing_would_be_found_no_size_is_named(tmp_path: Path) -> None:
    votes = simulated_votes(
        {"new": 0.0, "old": 0.0}, persons=10, items_per_person=2, votes_per_item=2, seed=7
    )
    ((verdict, sentence),) = analyse(written(tmp_path / "n.jsonl", votes), alpha=0.0001).headlines
    assert verdict == "not detected" and sentence.endswith(
        "the minimum detectable effect could not be computed."
    )
