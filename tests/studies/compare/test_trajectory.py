"""Models in a row: places as given, disparity and level as the comparison states them."""

import polars as pl
import pytest

from evenhand.schema import UsageError
from evenhand.studies.compare.changes import CHANGES
from evenhand.studies.compare.result import compare
from evenhand.studies.compare.trajectory import Order, course, read_order

SILENT = [None, None]


def test_what_by_takes():
    assert read_order("size", [10, 300], SILENT, ["a", "b"]) == Order("size", (10.0, 300.0))
    day = read_order("date", SILENT, ["2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"], ["a", "b"])
    assert day.at[1] - day.at[0] == 86_400 and not day.logarithmic
    steps = read_order("step=2000,1000", SILENT, SILENT, ["a", "b"])
    assert steps == Order("step", (2000.0, 1000.0)) and not steps.logarithmic
    assert Order("size", (1e6, 2e6)).logarithmic and Order("step", (1, 100)).logarithmic
    assert not Order("step", (0, 100)).logarithmic


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("size", "the number of parameters of the run 'b' is unknown"),
        ("date", "the start time of the run 'a' is unknown"),
        ("step=1", "1 numbers, but there are 2 runs"),
        ("step=1,x", "nor a name with a list of numbers"),
        ("step", "nor a name with a list of numbers"),
        ("=1,2", "lacks the name before the ="),
        ("step=1,inf", "a number that is not finite"),
        ("step=7,7", "all runs have the same value, 7"),
    ],
)
def test_what_it_refuses(by, told):
    with pytest.raises(UsageError, match=told):
        read_order(by, [5, None], SILENT, ["a", "b"])


def test_each_model_has_its_own_number_and_its_change_from_the_first():
    rows = [
        {"benchmark": "b", "outcome": "o", "model": model, "measure": measure, "axis": "age", "before": before,
         "after": after, "estimate": after - before, "low": -1.0, "high": 1.0, "verdict": "changed"}
        for model, measure, before, after in (
            ("two", "disparity_change", 0.1, 0.3), ("two", "level_change", 0.5, 0.4),
            ("three", "disparity_change", 0.1, 0.6), ("three", "level_change", 0.5, 0.2),
            ("three", "group_difference_change", 0.0, 0.0),
        )
    ]  # fmt: skip
    changes = pl.DataFrame(rows, schema=CHANGES)
    found = course(changes, ["one", "two", "three"], Order("step", (30.0, 20.0, 10.0)))
    spread = found.filter(measure="disparity")
    assert spread.select("model", "at", "estimate").rows() == [
        ("three", 10.0, 0.6),
        ("two", 20.0, 0.3),
        ("one", 30.0, 0.1),
    ]
    assert spread["change"].to_list() == [pytest.approx(0.5), pytest.approx(0.2), None]
    assert found.filter(measure="level")["estimate"].to_list() == [0.2, 0.4, 0.5]


def test_table_and_drawing_in_the_page(written_runs):
    report = compare(written_runs["rude"], written_runs["calm"], names=["old", "new"], by="step=100,300")
    page = report.html()
    assert "Disparity between groups, by step" in page and "Disparity by step, regard regard" in page
    assert 'aria-label="regard, regard: disparity by step"' in page
    assert set(report.course["at"]) == {100.0, 300.0} and report.to_dict()["by"] == "step"
    assert compare(written_runs["rude"], written_runs["calm"]).course.is_empty()
