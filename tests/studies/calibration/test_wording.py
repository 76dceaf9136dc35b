"""The headline of a calibration; a quick check reports only failures that chance excludes."""

import polars as pl
import pytest

from evenhand.studies.calibration.holding import Holds
from evenhand.studies.calibration.wording import conclusive, headline


def tables(false, power=None, n=20):
    designs = {
        "measure": ["gap"] * 10,
        "design": [f"d{i}" for i in range(10)],
        "role": ["standard"] * 10,
        "n": [n] * 10,
        "false": [false] + [0.0] * 9,
        "power": [power] + [0.8] * 9,
        "n_power": [n] * 10,
        "verdict": [str(Holds.FAILS)] + [str(Holds.HOLDS)] * 9,
    }
    schema = {"power": pl.Float64, "false": pl.Float64}
    return {
        "designs": pl.DataFrame(designs, schema_overrides=schema),
        "measures": pl.DataFrame({"measure": ["gap"], "failing": [1]}),
    }


def test_four_of_twenty_are_not_conclusive_in_a_quick_check():
    few = tables(false=0.2)
    assert conclusive(few, "quick").is_empty()
    assert headline(few, "quick").startswith("The quick check found no failure in 1 measure.")
    assert headline(few, "full") == "1 measure: 1 fails in at least one design (gap), 0 hold in every design."


@pytest.mark.parametrize("facts", [{"false": 0.6}, {"false": 0.0, "power": 0.1}])
def test_a_quick_check_reports_failures_that_chance_excludes(facts):
    assert (
        headline(tables(**facts), "quick")
        == "1 of 1 measure fails in at least one design: gap (quick check)."
    )


def test_undecided_designs_are_counted_apart():
    open_ones = tables(false=0.05)
    designs = open_ones["designs"].with_columns(
        verdict=pl.when(pl.col("design") == "d0").then(pl.lit("undecided")).otherwise(pl.lit("holds"))
    )
    text = headline({**open_ones, "designs": designs}, "full")
    assert text == "1 measure: 1 is undecided in at least one design, 0 hold in every design."
