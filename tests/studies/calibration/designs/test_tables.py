"""What is planted in the groups of an axis, and what is then said to be true."""

from typing import Any

import numpy as np
import pytest

from evenhand.studies.calibration.designs.contract import Plant, Sample
from evenhand.studies.calibration.designs.ends import end_to_end_designs
from evenhand.studies.calibration.designs.tables import JudgedTable, alike, axis_truth, plant_effect
from evenhand.studies.calibration.trial import REFERENCED, against_reference


def test_the_truth_of_one_group_among_ten():
    values = plant_effect([0.1] * 10, Plant("one", 0.3))
    truth = axis_truth("axis", [f"g{i}" for i in range(10)], values, "disparity", "group_difference")
    assert truth["group_difference", "axis", "g0"].value == pytest.approx(30.0)
    assert truth["group_difference", "axis", "g5"].value == pytest.approx(-30 / 9)
    # 9.5 points for one of ten groups at 40 against 10 %, as the spread of these ten rates
    assert truth["disparity", "axis", None].value == pytest.approx(9.4868, abs=1e-3)
    assert not any(one.null for one in truth.values())


@pytest.mark.parametrize(
    ("harmed", "spread"),
    [(0, 0.0), (1, 9.5), (2, 12.6), (4, 15.5), (6, 15.5), (8, 12.6), (9, 9.5), (10, 0.0)],
)
def test_the_spread_rises_and_falls_with_the_share_of_groups_harmed(harmed, spread):
    plant = Plant("first", 0.3, harmed) if harmed else Plant()
    assert 100 * plant_effect([0.1] * 10, plant).std(ddof=1) == pytest.approx(spread, abs=0.05)


@pytest.mark.parametrize("count", [2, 3, 7, 10])
@pytest.mark.parametrize("pattern", ["half", "lone"])
def test_patterns_have_the_spread_that_is_planted(pattern, count):
    assert plant_effect([0.5] * count, Plant(pattern, 0.05)).std(ddof=1) == pytest.approx(0.05)


def test_where_there_is_no_room_below_all_goes_up():
    values = plant_effect([0.01] * 4, Plant("half", 0.1))
    assert values.min() == 0.0 and values.std(ddof=1) == pytest.approx(0.1)


def test_an_untouched_axis_is_at_its_null():
    table = JudgedTable((alike("axis", 4, 5, 0.1), alike("axis 1", 3, 5, 0.2)))
    sample = table(np.random.default_rng(0), Plant("one", 20.0))
    assert sample.touched == {"axis"}
    assert sample.truth["disparity", "axis 1", None].null
    assert sample.truth["group_difference", "axis", "axis 000"].value == pytest.approx(20.0)


def test_true_differences_of_one_outcome_are_from_the_reference_groups() -> None:
    """Answers to own prompts are reported by outcome, in the column `stratum`."""
    names = [f"axis {group}" for group in range(4)]
    truth = axis_truth("axis", names, [0.2, 0.05, 0.05, 0.05], "answer_disparity", "answer_difference")

    def rows(*strata: str | None) -> list[dict[str, Any]]:
        known = {"measure": "answer_difference", "axis": "axis"}
        return [
            known | {"group": name, "stratum": stratum, "verdict": "biased" if place == 0 else "not detected"}
            for stratum in strata
            for place, name in enumerate(names)
        ]

    def values(*strata: str | None) -> list[float]:
        known = against_reference(Sample((), truth), rows(*strata)).truth
        return [round(known["answer_difference", "axis", name].value, 9) for name in names]

    assert values("json:yes") == values(None) == values("json:yes", None) == [15, 0, 0, 0]
    assert values("json:yes", "json:no") == [15, -5, -5, -5]  # each outcome has its own reference
    assert {"answer_difference", "group_difference", "missing_difference"} <= set(REFERENCED)


def test_shifts_of_complete_audits_are_compared_with_their_true_value() -> None:
    # a plain copy of the mapping knew no descriptor, so 800 complete audits gave no row
    design, *_ = end_to_end_designs()
    sample = design.draw(np.random.default_rng(0), Plant())
    rows = [
        {
            "measure": "valence_shift",
            "axis": "nonce",
            "group": name,
            "stratum": None,
            "verdict": "not detected",
        }
        for name in "abcde"
    ]
    truth = against_reference(sample, rows).truth
    assert all((known := truth.get(("valence_shift", "nonce", name))) and known.null for name in "abcde")
    assert truth.get(("valence_shift", "ability", "a")) is None
