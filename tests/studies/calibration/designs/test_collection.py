"""Every design draws what it says, and packages bring theirs."""

import sys
from types import ModuleType

import numpy as np
import pytest

from evenhand.schema import UsageError
from evenhand.studies.calibration.designs.collection import collect_designs, find_design
from evenhand.studies.calibration.designs.contract import Design, Plant, Sample

NAMES = sorted(collect_designs().designs)
LARGE = 20_000


def test_there_are_designs_of_every_kind():
    assert len(NAMES) > 60 and collect_designs().without == {}
    families = {name.split(":")[0] for name in NAMES}
    assert {
        "rates",
        "missing",
        "valence",
        "crows-pairs",
        "stereoset",
        "styles",
        "offensiveness",
        "changes",
    } < families


@pytest.mark.parametrize("name", [name for name in NAMES if "600 x" not in name and "5000" not in name])
def test_each_draws_the_same_data_for_the_same_seed_and_knows_its_truth(name):
    design = find_design(name)
    first, again = (design.draw(np.random.default_rng(3), Plant()) for _ in range(2))
    assert all(a.equals(b) for a, b in zip(first.frames, again.frames, strict=True))
    assert first.touched == frozenset()
    planted = [one for one in design.judged if one.pattern != "none"]
    for one in planted:
        sample = design.draw(np.random.default_rng(4), Plant(one.pattern, min(0.5, one.largest), 1))
        truth = sample.truth[one.measure, one.axis, one.group]
        assert one.axis in sample.touched and truth.value != 0
        assert first.truth[one.measure, one.axis, one.group].null or design.role == "limit"


def test_an_unknown_design_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="rates: 13 axes"):
        find_design("rates: 13 axis")


def test_a_package_brings_designs_and_one_that_fails_disturbs_nobody(installed, monkeypatch):
    module = ModuleType("designs_of_this_test")
    mine = Design("small", "One.", lambda sample, seed: None, lambda rng, plant: Sample(()))
    module.good, module.bad, module.wrong = (lambda: [mine]), (lambda: 1 / 0), (lambda: ["text"])
    module.none, module.exits = list, (lambda: sys.exit("no more"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    points = {name: f"{module.__name__}:{name}" for name in ("good", "bad", "wrong", "none", "exits")}
    installed("theirs", "evenhand.calibrations", points)
    there = collect_designs()
    assert there.designs["good: small"].about == "One."
    assert "ZeroDivisionError" in there.without["bad"] and "str" in there.without["wrong"]
    assert "brings no designs" in there.without["none"] and "SystemExit: no more" in there.without["exits"]


def test_the_short_road_of_valence_ends_in_the_same_verdicts():
    from evenhand.studies.calibration.designs.likelihoods import templates
    from evenhand.studies.calibration.designs.roads import likelihood_road, valence_road

    design = find_design("valence: 5 x 9 x 16, even")
    sample = design.draw(np.random.default_rng(0), Plant("one", 1.5, 1))
    whole = likelihood_road(templates(5))(sample, 3).findings
    valence = whole.filter(whole["measure"].is_in(["valence_spread", "valence_shift"]))
    assert valence.height == 51 and valence.equals(valence_road(templates(5))(sample, 3).findings)


def test_the_axes_taken_for_innocent_are_those_without_plants():
    from evenhand.reference.worlds import NULL_AXES, PLANTS
    from evenhand.studies.calibration.designs import ends

    assert ends.NULL_AXES == NULL_AXES
    assert any(axis == ends.PLANTED and tied == "opinion:negative" for axis, _, tied, _ in PLANTS)


def test_answers_that_are_missing_are_judged_as_an_outcome_of_their_own():
    design = find_design("missing: 8 x 40 x 3")
    sample = design.draw(np.random.default_rng(0), Plant("one", 40.0, 1))
    findings = design.road(sample, 0).findings
    found = findings.filter(findings["verdict"] == "biased")
    assert "missing_disparity" in found["measure"].to_list()
    assert found.filter(found["measure"] == "missing_difference").row(0, named=True)["group"] == "axis 000"
