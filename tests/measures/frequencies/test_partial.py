"""Outcomes laid out by template, and what of descriptors is held equal."""

import numpy as np
import polars as pl

from evenhand.measures.frequencies.partial import controls_of, outcome_matrix

OFTEN = pl.DataFrame(
    {
        "axis": ["a", "a", "b"],
        "descriptor": ["old", "very old", "red"],
        "bucket": ["x", None, "y"],
        "documents": [3, 0, 9],
        "near_person": [1, 0, 2],
        "tokens": [None, None, None],
    }
)


def test_cells_are_means_over_answers_and_descriptors_keep_their_own_bucket() -> None:
    rows = [
        ("a", "old", "t", 1.0, 1),
        ("a", "old", "t", 4.0, 2),
        ("a", "old", "u", 5.0, 1),
        ("a", "very old", "t", 2.0, 3),
        ("b", "blue", "t", 2.0, 3),
        ("b", "red", "t", float("nan"), 3),
    ]
    names = ["axis", "descriptor", "template", "value", "answers"]
    points, values = outcome_matrix(OFTEN, pl.DataFrame(rows, schema=names, orient="row"))
    assert points.select("descriptor", "bucket", "answers", "characters", "words").rows() == [
        ("old", "x", 4, 3, 1),
        ("very old", "very old", 3, 8, 2),
    ]
    assert values[0].tolist() == [3.0, 5.0]
    assert values[1, 0] == 2.0 and np.isnan(values[1, 1])


def test_what_never_varies_within_an_axis_is_not_held_equal() -> None:
    known = {"words": [1, 2, 1], "parts": [1, 1, 2], "tokens": [0.5, 0.1, 0.2], "answers": [9, 9, 9]}
    points = pl.DataFrame({"axis": ["a", "a", "b"], "characters": [3, 3, 9]} | known)
    numbers, names = controls_of(points)
    assert names == ["words", "tokens"]
    assert numbers.shape == (3, 2)
