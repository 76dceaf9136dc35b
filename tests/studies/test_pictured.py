"""Which rows of a result a picture has, and what it says of them."""

import pytest

from evenhand.schema import UsageError
from evenhand.studies.pictured import picture_of


def finding(group, estimate, verdict, direction=None, **more):
    return {
        "benchmark": "regard", "measure": "group_difference", "axis": "gender", "group": group, "stratum": None,
        "verdict": verdict, "estimate": estimate, "low": estimate - 1, "high": estimate + 1, "null": 0.0,
        "direction": direction, **more,
    }  # fmt: skip


def content(*findings, headlines=()):
    return {"title": "gpt2", "findings": findings, "measurements": [], "headlines": headlines}


def test_what_stands_out_comes_first_and_is_said_to_be_worse_or_better():
    rows = (
        finding("a", 0.2, "not detected"),
        finding("b", -4.0, "biased", "better"),
        finding("c", 9.0, "biased", "worse"),
    )
    picture = picture_of(content(*rows))
    assert [(row.label, row.verdict) for row in picture.rows] == [
        ("c", "▲ worse"), ("b", "▲ better"), ("a", "○ not detected"),
    ]  # fmt: skip


def test_differences_inside_a_margin_are_sorted_by_their_distance_from_no_bias():
    # inside the margin of 0.1 the null equals the estimate; outside it is the margin
    numbers = {"a": 0.001, "b": 0.016, "c": -0.021, "d": -0.08, "e": 0.12, "f": 0.0}
    rows = [
        finding(group, size, "not detected", null=max(-0.1, min(0.1, size)))
        for group, size in numbers.items()
    ]
    ideal = {"measure": "group_difference", "ideal": 0.0}
    for measurements in ([], [ideal]):
        picture = picture_of(content(*rows) | {"measurements": measurements})
        assert "".join(row.label for row in picture.rows) == "edcbaf"


def test_who_is_left_without_an_answer_does_not_take_the_picture():
    refused = finding("a", 30.0, "biased", "worse", measure="refusal_difference")
    assert [row.label for row in picture_of(content(refused, finding("b", 1.0, "not detected"))).rows] == [
        "b"
    ]


def test_the_benchmark_with_a_finding_is_drawn_unless_another_is_named():
    rows = (finding("a", 0.2, "not detected"), finding("b", 9.0, "biased", "worse", benchmark="bold"))
    assert picture_of(content(*rows)).rows[0].label == "b"
    assert picture_of(content(*rows), "regard").rows[0].label == "a"
    with pytest.raises(UsageError, match="toxigen"):
        picture_of(content(*rows), "toxigen")


def test_a_comparison_shows_what_changed_between_groups():
    row = finding("women", 6.0, "higher", "worse", model="after", unit="points") | {"note": ""}
    told = {
        "benchmark": "regard",
        "about": "between groups",
        "verdict": "higher",
        "sentence": "Worse for women.",
        "axis": None,
    }
    picture = picture_of({"names": ["before", "after"], "changes": [row], "headlines": [told]})
    assert picture.title == "before → after" and picture.sentence == "Worse for women."
    assert picture.rows[0].verdict == "▲ worse"


def test_a_comparison_shows_one_outcome_in_points_and_each_groups_own_change():
    about = {"measure": "group_difference_change", "unit": None, "q": 0.01}
    men = finding("men", -0.37, "lower", "better", before=0.03, after=0.19, outcome="regard", **about)
    women = finding("women", 0.37, "higher", "worse", before=0.14, after=0.67, outcome="regard", **about)
    score = finding("women", 0.30, "higher", "worse", before=-0.1, after=0.2, outcome="regard score", **about)
    rows = [row | {"model": "after"} for row in (score, men, women)]
    told = {"benchmark": "regard", "about": "between groups", "outcome": "regard", "verdict": "changed"}
    headline = told | {"sentence": "Worse for women.", "axis": "gender"}
    picture = picture_of({"names": ["before", "after"], "changes": rows, "headlines": [headline]})
    assert [(row.label, row.estimate, row.verdict) for row in picture.rows] == [
        ("men", -37.0, "↘ rose less"), ("women", 37.0, "⊖ worse"),
    ]  # fmt: skip
    assert picture.what == "change relative to the other groups, percentage points"


def test_a_gap_that_depends_on_another_column_has_a_row_for_each_of_its_groups():
    found = {"benchmark": "answers", "measure": "interaction", "axis": "sex × age", "verdict": "biased"}
    gaps = [
        {"axis": "sex × age", "of": "sex", "low_group": "men", "high_group": "women", "inside": "age",
         "level": level, "gap": gap, "gap_low": gap - 10, "gap_high": gap + 10}
        for level, gap in (("old", 40.0), ("young", 2.0), ("middle", -15.0))
    ]  # fmt: skip
    tables = {"name": "answers", "interaction_gaps": gaps, "design": [{"outcome": "negative", "rates": True}]}
    row = finding("old", 20.0, "biased", "worse", benchmark="answers")
    numbers = content(row, headlines=[found | {"sentence": "Older women."}]) | {"benchmarks": [tables]}
    picture = picture_of(numbers)
    assert (
        picture.what == "rate of negative responses, points: women minus men"
        and picture.sentence == "Older women."
    )
    assert [(row.label, row.under, row.estimate, row.verdict) for row in picture.rows] == [
        ("women × old", "compared with men × old", 40.0, "▲ women worse"),
        ("women × middle", "compared with men × middle", -15.0, "▲ men worse"),
        ("women × young", "compared with men × young", 2.0, "○ not detected"),
    ]
    tables["design"] = [{"outcome": "pay", "rates": False}]
    assert picture_of(numbers).rows[1].verdict == "▲ men higher"
    del tables["interaction_gaps"]  # a larger table: its combinations are named one by one
    cell = {"axis": "sex × age", "first_group": "women", "second_group": "old", "low": -9.0, "high": -3.0}
    tables["interaction_cells"] = [cell | {"excess": -6.0}, cell | {"excess": None}]
    assert [(row.label, row.verdict) for row in picture_of(numbers).rows] == [("women × old", "▲ lower")]
    del tables["interaction_cells"]  # numbers of an earlier version
    assert picture_of(numbers).rows[0].label == "old"


def test_results_without_a_plot_say_which_have_one():
    with pytest.raises(UsageError, match="forest plot"):
        picture_of({"cells": []})
