"""What a quick look may say: nothing that the error of so few data sets does not exclude."""

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


def test_four_of_twenty_are_nothing_conclusive_in_a_first_look():
    few = tables(false=0.2)
    assert conclusive(few, "quick").is_empty()
    assert headline(few, "quick").startswith("A first look: nothing conclusive")
    assert headline(few, "full") == "The verdicts of 1 of 1 measure do not hold in every design: gap."


@pytest.mark.parametrize("facts", [{"false": 0.6}, {"false": 0.0, "power": 0.1}])
def test_what_chance_excludes_is_said_of_a_first_look_too(facts):
    told = headline(tables(**facts), "quick")
    assert told == "A first look: the verdicts of 1 of 1 measure do not hold in every design: gap."
