"""The change of a disparity: a rate that hardly moves over all, against a loop, missing answers counted."""

import numpy as np
import polars as pl
import pytest

from evenhand.measures import disparity_change
from evenhand.schema import DataError, measurement_frame
from evenhand.stats import reach_verdicts


def planted(rates, prompts=60, samples=1, seed=0, axis="gender"):
    """rates: by group, before and after."""
    draws = np.random.default_rng(seed)
    rows = [
        (f"{group}/{k}", axis, group, float(draws.random() < before), float(draws.random() < after))
        for group, (before, after) in rates.items()
        for k in range(prompts)
        for _ in range(samples)
    ]
    return pl.DataFrame(rows, schema=["prompt_id", "axis", "group", "before", "after"], orient="row")


def test_women_worse_and_men_better_is_the_first_verdict():
    frame = planted({"women": (0.23, 0.83), "men": (0.19, 0.01)}, 100)
    found = disparity_change(frame, level=0.05 / 13)
    _, findings = reach_verdicts(
        measurement_frame(found.rows("points")), n_axes=13, harmful={"group_difference_change": "above"}
    )
    verdicts = {row["group"]: (row["verdict"], row["direction"]) for row in findings.to_dicts()}
    assert verdicts == {None: ("biased", "above"), "women": ("biased", "worse"), "men": ("biased", "better")}
    whole = found.table.filter(pl.col("group").is_null()).row(0, named=True)
    assert whole["after"] > 0.4 > whole["before"] and whole["n_units"] == 200


def test_another_axis_changes_no_number():
    one = planted({"women": (0.2, 0.5), "men": (0.2, 0.2)})
    other = planted({f"faith {i}": (0.5, 0.1) for i in range(6)}, 9, seed=1, axis="religion")
    alone = disparity_change(one).table
    beside = disparity_change(pl.concat([other, one])).table.filter(axis="gender")
    assert beside.equals(alone)


def test_samples_of_a_prompt_are_averaged_and_missing_ones_counted():
    frame = planted({"a": (0.5, 0.5), "b": (0.5, 0.5), "c": (0.5, 0.5)}, 8, samples=4)
    gaps = frame.with_columns(
        after=pl.when(pl.int_range(pl.len()).is_in([0, 1, 2, 3, 5])).then(None).otherwise("after")
    )
    found = disparity_change(gaps).table
    row = found.filter(group="a").row(0, named=True)
    assert (row["n"], row["n_missing"], row["n_units"]) == (27, 5, 7)
    known = (
        gaps.drop_nulls("after")
        .group_by("group", "prompt_id")
        .agg(x=(pl.col("after") - pl.col("before")).mean())
    )
    means = dict(known.group_by("group").agg(pl.col("x").mean()).iter_rows())
    assert row["estimate"] == pytest.approx(means["a"] - (means["b"] + means["c"]) / 2)
    doubled = pl.concat([gaps, gaps])
    assert disparity_change(doubled).table["p"].equals(found["p"])


def test_one_prompt_a_group_says_so_whatever_its_samples():
    frame = planted({"a": (0.1, 0.9), "b": (0.9, 0.1)}, 1, samples=25)
    _, findings = reach_verdicts(measurement_frame(disparity_change(frame).rows()))
    assert set(findings["verdict"]) == {"not measurable"}


def test_no_worse_by_more_than_a_margin():
    rates = {"women": (0.3, 0.9), "men": (0.3, 0.3)}
    answers = disparity_change(planted(rates, 200), margin=0.2).table.drop_nulls("group")
    assert dict(answers.select("group", "no_worse").iter_rows()) == {"women": "fails", "men": "passes"}
    few = disparity_change(planted(rates, 10), margin=0.2).table.drop_nulls("group")
    answers = dict(few.select("group", "no_worse").iter_rows())
    assert answers == {"women": "fails", "men": "could not have been seen"}


def test_bad_tables_are_explained():
    frame = planted({"a": (0.5, 0.5), "b": (0.5, 0.5)}, 4)
    with pytest.raises(DataError, match="group"):
        disparity_change(frame.drop("group"))
    with pytest.raises(DataError, match="infinite"):
        disparity_change(frame.with_columns(after=pl.lit(float("inf"))), numbers=True)
    nobody = disparity_change(frame.with_columns(after=pl.lit(None, dtype=pl.Float64)))
    assert nobody.table["obstacle"].to_list() == ["No response has a number from both models."]
