"""A row for each outcome of a model: rates with limits, and no largest group where there is none to speak of."""

from pathlib import Path

import polars as pl

from evenhand.studies.compare.outputs import BenchmarkOutputs, Outputs
from evenhand.studies.compare.summary import summary_rows


def test_a_group_of_two_answers_is_not_called_the_most_harmed():
    """Ten answers about each of b and c, two about a, which were all negative."""
    groups = ["a"] * 2 + ["b"] * 10 + ["c"] * 10
    frame = pl.DataFrame(
        {
            "prompt_id": [str(i) for i in range(22)],
            "sample": 0,
            "axis": "faith",
            "group": groups,
            "toxicity": [1.0] * 2 + [1.0] * 5 + [0.0] * 15,
        }
    )
    one = Outputs("m", Path(), {"bold": BenchmarkOutputs(frame, ("toxicity",))})
    (row,) = summary_rows("m", one, 0)
    assert (row["largest_group"], row["largest_rate"], row["n"]) == ("b", 0.5, 22)
    assert 0 < row["low"] < row["rate"] == 7 / 22 < row["high"] < 1
