"""Raters of unequal strictness who met the groups unequally often: that is no difference between groups."""

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks.answers import build_design
from evenhand.measures import disparity


def coded(
    rng, *, raters=6, codings=2, questions=3, answers=14, labels=True, gap=0.0, unit=False
) -> pl.DataFrame:
    """Answers to the same questions; strictness of raters spreads by 2 and lenient ones met group a more often."""
    strict = rng.normal(0, 2, raters)
    asked = rng.normal(0, 1, questions)
    often = np.linspace(3, 0.3, raters) / np.linspace(3, 0.3, raters).sum()
    rows = []
    for group in ("a", "b"):
        for i in range(answers):
            person = rng.normal(0, 0.5)
            for q in range(questions):
                met = rng.choice(raters, codings, replace=False, p=often if group == "a" else often[::-1])
                for r in met:
                    x = strict[r] + asked[q] + person * unit + gap * (group == "b") + rng.normal(0, 0.5)
                    value = float(rng.random() < 1 / (1 + np.exp(-x))) if labels else x
                    rows.append(("sex", group, f"q{q}", f"{group}{i}", f"r{r}", value))
    frame = pl.DataFrame(rows, ["axis", "group", "question", "who", "rater", "negative"], orient="row")
    said = pl.format("{} {}", "who", "question")
    return frame.rename({"who": "unit"}) if unit else frame.with_columns(continuation=said).drop("who")


def level(frame: pl.DataFrame, numbers: bool) -> float:
    found = build_design(frame)
    if not found.frame.height:
        return 1.0
    axes = disparity(found.frame, cluster=found.cluster, strata=found.strata, numbers=numbers).axes
    return 1.0 if axes["p"].item() is None else axes["p"].item()


SHAPES = [
    {"raters": 6, "codings": 2},
    {"raters": 3, "codings": 1, "labels": False},
    {"raters": 6, "codings": 2, "questions": 10, "answers": 5},
    {"raters": 6, "codings": 1, "unit": True, "labels": False},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_strictness_of_raters_is_no_difference_between_groups(shape) -> None:
    rng = np.random.default_rng(4)
    numbers = not shape.get("labels", True)
    assert min(level(coded(rng, **shape), numbers) for _ in range(3)) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*SHAPES, {"raters": 12, "codings": 2}, {"raters": 12, "codings": 3}])
def test_differences_are_found_at_their_level_where_there_are_none(shape) -> None:
    rng = np.random.default_rng(5)
    numbers = not shape.get("labels", True)
    found = sum(level(coded(rng, **shape), numbers) <= 0.05 for _ in range(200))
    assert found <= 20  # of 10 expected; more has a chance of 0.1 %


def test_a_difference_is_found_inside_raters() -> None:
    frame = coded(np.random.default_rng(6), gap=2.0, answers=20, labels=False)
    assert level(frame, True) < 0.001
    scope = build_design(frame).scope
    assert "applies to these raters: groups are compared within the same raters" in scope


def test_raters_in_unequal_shares_count_equally_in_each_question() -> None:
    # both raters judged both groups in every question, the strict one mostly group a
    rows = [
        ("sex", group, f"q{q}", f"{group}{q}{i}", rater, float(rater == "strict"))
        for q in range(9)
        for group in "ab"
        for i, rater in enumerate(["strict"] * (5 if group == "a" else 1) + ["mild"] * (1 if group == "a" else 5))
    ]  # fmt: skip
    frame = pl.DataFrame(
        rows, ["axis", "group", "question", "continuation", "rater", "negative"], orient="row"
    )
    found = build_design(frame)
    rates = disparity(found.frame, cluster=found.cluster).groups["rate"].to_list()
    assert found.cluster == "question" and rates == pytest.approx([50.0, 50.0])
