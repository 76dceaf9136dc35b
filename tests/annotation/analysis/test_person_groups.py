"""Results by groups of annotators: their answers about themselves split what they judged."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.annotation.analysis.conduct import analyse_export
from evenhand.annotation.analysis.options import AnalysisOptions
from evenhand.annotation.analysis.person_groups import with_person_groups
from evenhand.annotation.exports import Export
from evenhand.measures import rating_differences
from evenhand.schema import DataError, UsageError
from tests.helpers.simulated_people import table, text_vote, vote

BY = "person.age"


def rated(
    rng: np.random.Generator,
    old: float,
    young: float,
    *,
    persons: int = 24,
    items: int = 40,
    spread: float = 0.8,
) -> list[dict]:
    """Three people judge each text; every second person is old, one of them does not say so."""
    who = rng.normal(size=persons) * spread
    logit = [np.log(share / (1 - share)) for share in (old, young)]
    rows = []
    for item in range(items):
        for person in rng.choice(persons, size=3, replace=False):
            is_yes = rng.random() < 1 / (1 + np.exp(-(logit[person % 2] + who[person])))
            rows.append(text_vote(person=f"p{person}", item=f"i{item}", answer="yes" if is_yes else "no",
                                  presentation=f"{person}-{item}", context=f"c{item}"))  # fmt: skip
    for person in range(persons):
        answer = None if person == 0 else ("old", "young")[person % 2]
        rows.append(vote(person=f"p{person}", role="survey", study="labels", item=None, kind=None, question="age",
                         measurement="nominal", answer=answer, presentation=f"s{person}", shown_left=None,
                         groups=None, judgements=None, a=None, b=None, model_a=None, model_b=None))  # fmt: skip
    return rows


def export(rows: list[dict]) -> Export:
    return Export(table(rows), {}, Path("votes.jsonl"))


def test_rates_of_each_group_are_those_of_its_votes_and_a_planted_difference_is_found() -> None:
    rows = rated(np.random.default_rng(1), 0.85, 0.2, spread=0.3)
    found = analyse_export(export(rows), AnalysisOptions(by=BY)).tables
    for level, parity in (("old", 0), ("young", 1)):
        mine = [row["answer"] == "yes" for row in rows if row["role"] == "real"
                and int(row["person"][1:]) % 2 == parity and row["person"] != "p0"]  # fmt: skip
        [one] = found.rates.filter(by=BY, level=level, option="yes")["raw"]
        assert one == pytest.approx(np.mean(mine))
    assert set(found.rates.filter(by=BY)["level"].drop_nulls()) == {"old", "young"}
    own = found.differences.filter(by=BY, measure="rating_difference")
    assert own["verdict"].unique().to_list() in (["higher"], ["lower"])


def test_groups_of_annotators_that_judge_alike_are_seldom_told_apart() -> None:
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(150):
        votes = with_person_groups(table(rated(rng, 0.4, 0.4)), BY)
        found = rating_differences(votes.filter(role="real"), by=BY).filter(measure="rating_difference")
        wrong += bool({"higher", "lower"} & set(found["verdict"]))
    assert wrong <= 14  # 5 % of 150 and two standard errors and a half


def test_preferences_are_split_by_annotators_too() -> None:
    rows = [
        vote(person=f"p{person}", item=f"i{item}", presentation=f"{person}-{item}",
             answer="a" if person % 2 else "b", a=f"a{item}", b=f"b{item}", model_a="m", model_b="n")
        for person in range(24) for item in range(12)
    ]  # fmt: skip
    rows += [
        row | {"study": "pairs"}
        for row in rated(np.random.default_rng(0), 0.5, 0.5)
        if row["role"] == "survey"
    ]
    found = analyse_export(export(rows), AnalysisOptions(by=BY)).tables.win_rates_by
    assert dict(found.select("level", "raw").rows()).keys() == {"old", "young"}
    assert {round(rate) for rate in found["raw"]} == {0, 1} and found["raw"].n_unique() == 2


def test_what_nobody_was_asked_splits_nothing() -> None:
    rows = rated(np.random.default_rng(0), 0.5, 0.5)
    with pytest.raises(UsageError, match="Unknown question about the annotators: 'agee'"):
        analyse_export(export(rows), AnalysisOptions(by="person.agee"))
    with pytest.raises(DataError, match="the export has no answers of annotators about"):
        analyse_export(export([row for row in rows if row["role"] == "real"]), AnalysisOptions(by=BY))
    silent = [row | ({"answer": None} if row["role"] == "survey" else {}) for row in rows]
    with pytest.raises(DataError, match="no annotator answered the question 'age'"):
        analyse_export(export(silent), AnalysisOptions(by=BY))
    kept = with_person_groups(table(rows), BY)
    groups = [json.loads(one) for one in kept.filter(pl.col("role") == "real", person="p1")["groups"]]
    assert all(one == {"axis": "gender", "group": "women", BY: "young"} for one in groups)
