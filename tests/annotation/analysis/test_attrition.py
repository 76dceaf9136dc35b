"""Where people were lost, and what counts: each person, vote and answer once."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.annotation import analyse
from evenhand.annotation.simulating import simulated_votes
from tests.annotation.analysis.written_exports import STUDY, pairs, text_of, written


@pytest.fixture
def lossy() -> pl.DataFrame:
    """30 persons: 7 did not pass, 1 left, 1 blocked, 2 rejected, 3 fail gold; a place taken of one who counts; two
    questions an item, of which one is skipped once."""
    votes = simulated_votes(
        {"new": 1.0, "old": 0.0}, persons=30, onboarding=2, gold=2, attention=1.0, items_per_person=4, seed=1
    )
    number = pl.col("person").str.slice(1).cast(pl.Int64)
    onboarding, real = pl.col("role") == "onboarding", pl.col("role") == "real"
    votes = votes.filter((number >= 8) | onboarding).with_columns(
        correct=pl.when(onboarding & (number < 7))
        .then(False)
        .when((pl.col("role") == "gold") & number.is_between(20, 22))
        .then(False)
        .otherwise("correct"),
        review=pl.when(number.is_between(10, 11)).then(pl.lit("rejected")),
        excluded=pl.when(number == 9)
        .then(pl.lit("blocked"))
        .when((number == 15) & real & (pl.int_range(pl.len()).over("person", "role") == 0))
        .then(pl.lit("place_taken")),
    )
    second = votes.filter(real).with_columns(
        question=pl.lit("human"),
        answer=pl.when((number == 16) & (pl.int_range(pl.len()).over("person") == 0))
        .then(None)
        .otherwise("answer"),
    )
    return pl.concat([votes, second])


LOSSY = {**STUDY, "rules": [*STUDY["rules"], {"rule": "gold_below", "mark": 0.75, "action": "exclude"}]}


def test_everybody_who_came_is_told_once_where_they_were_lost(tmp_path: Path, lossy: pl.DataFrame) -> None:
    study = analyse(written(tmp_path / "v.jsonl", lossy, LOSSY))
    table = study.tables()["attrition"]
    assert {row[0]: row[1:] for row in table.iter_rows()} == {
        "did not pass the onboarding": (7, 0, 0),
        "left before the first item": (1, 0, 0),
        "blocked by an admin": (1, 4, 8),
        "rejected by a reviewer": (2, 8, 16),
        "excluded by a rule": (3, 12, 24),
        "place had gone to somebody else": (0, 1, 2),
        "counted": (16, 63, 125),
    }
    told = (
        "Of 30 annotators, 7 did not pass the onboarding, 1 left before the first item, 1 was blocked by "
        "an admin, 2 were rejected by a reviewer, 3 were excluded by a rule and 16 are included."
    )
    shown, page = " ".join(text_of(study).split()), study.html()
    assert told in shown and told in page
    assert "63 votes" in shown and "125 judgements" in shown and "63 votes" in page
    answers = study.tables()["answers"]
    assert answers["n"].sum() == 125 and answers["n_missing"].sum() == 1
    assert answers["n_excluded"].sum() == 8 + 16 + 24 + 2


def test_no_rules_take_nobody_out_however_many_were_rejected(tmp_path: Path, lossy: pl.DataFrame) -> None:
    study = analyse(written(tmp_path / "v.jsonl", lossy, LOSSY))
    out = study.tables()["sensitivity"].group_by("rules").agg(pl.col("n_persons_excluded").unique())
    assert {row["rules"]: row["n_persons_excluded"] for row in out.to_dicts()} == {
        "none": [0],
        "the study's": [3],
        "published": [0],
    }
    none = analyse(tmp_path / "v.jsonl", rules="none")
    states = dict(none.tables()["attrition"].select("state", "n_persons").iter_rows())
    assert states["did not pass the onboarding"] == 7 and "excluded by a rule" not in states


def test_nobody_lost_is_said(tmp_path: Path) -> None:
    study = analyse(pairs(tmp_path, {"new": 1.0, "old": 0.0}, persons=20, seed=1))
    assert "Of 20 annotators, 20 are included." in study.html()
