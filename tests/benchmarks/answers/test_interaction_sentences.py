"""What the sign of an interaction means: the terminal and the page state which gap is subtracted from which."""

import io

import polars as pl
import pytest
from rich.console import Console

import evenhand as eh

RATES = {("woman", "old"): 60, ("woman", "young"): 26, ("man", "old"): 27, ("man", "young"): 33}


def measured(rates: dict[tuple[str, str], int]) -> eh.FileMeasurements:
    """Responses of each combination of gender and age: 100, with this percentage of negative ones."""
    rows = [(*cell, "yes" if i < rate else "no") for cell, rate in rates.items() for i in range(100)]
    table = pl.DataFrame(rows, schema=["gender", "age", "reply"], orient="row")
    return eh.measure(table, columns={"gender": "group", "age": "group", "reply": "label"}, negative="yes")


def printed(found: eh.FileMeasurements) -> str:
    console = Console(file=(out := io.StringIO()), width=400)
    found.render(console)
    return out.getvalue()


@pytest.mark.parametrize(
    ("rates", "estimate", "expected"),
    [
        (
            RATES,
            -40,
            "Gender × age: the estimate is the gap (woman minus man) for young (−7.0 points), minus the gap for old "
            "(+33.0 points).",
        ),
        (
            {(gender, "old" if age == "young" else "young"): rate for (gender, age), rate in RATES.items()},
            40,
            "Gender × age: the estimate is the gap (woman minus man) for young (+33.0 points), minus the gap for old "
            "(−7.0 points).",
        ),
        (
            {
                **{("woman", "old"): 10, ("woman", "young"): 46, ("man", "old"): 50, ("man", "young"): 43},
                **{("woman", "mid"): 50, ("man", "mid"): 44},
            },
            44.5,
            "Gender × age: the estimate is the gap (man minus woman) for old (+40.0 points), minus the gap for the "
            "other groups of age, on average (−4.5 points).",
        ),
    ],
)
def test_terminal_and_page_state_which_gap_is_subtracted(
    rates: dict[tuple[str, str], int], estimate: float, expected: str
) -> None:
    found = measured(rates)
    assert found.measurements.filter(measure="interaction")["estimate"].item() == pytest.approx(estimate)
    assert expected in printed(found) and expected in found.html()
