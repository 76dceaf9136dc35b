"""What is planted in people's answers is what the truth says, and verdicts on it come by the measures' own road."""

import numpy as np
import pytest

from evenhand.studies.calibration.designs import Plant, find_design
from evenhand.studies.calibration.designs.people import people_designs


@pytest.mark.parametrize("name", ["win rates: 60 persons", "ratings: 40 persons, both models"])
def test_a_large_effect_is_found_and_none_is_not(name: str) -> None:
    design = find_design(name)
    verdicts = {}
    for effect in (0.0, 0.35):
        sample = design.draw(np.random.default_rng(1), Plant("one" if effect else "none", effect))
        finding = design.road(sample, 0).findings.row(0, named=True)
        verdicts[effect] = finding["verdict"]
        judged = design.judged[0]
        truth = sample.truth[judged.measure, judged.axis, None]
        assert truth.null == (effect == 0) and finding["low"] < truth.value < finding["high"]
    assert verdicts == {0.0: "not detected", 0.35: "biased"}


def test_sides_do_not_take_from_what_is_planted() -> None:
    design = find_design("win rates: 60 persons who like the left")
    shares = [design.draw(np.random.default_rng(seed), Plant("one", 0.2)).frames[0] for seed in range(40)]
    assert np.mean([(frame["answer"] == "b").mean() for frame in shares]) == pytest.approx(0.7, abs=0.015)


def test_too_few_persons_are_not_measurable() -> None:
    for name in ("win rates: 6 persons", "ratings: 6 persons"):
        design = find_design(name)
        finding = design.road(design.draw(np.random.default_rng(2), Plant()), 0).findings.row(0, named=True)
        assert finding["verdict"] == "not measurable" and "6 persons" in finding["note"]


def test_few_conversations_and_prompts_are_not_measurable() -> None:
    for name, why in (
        ("win rates: 60 persons, one conversation of one model", "1 conversation of base;"),
        ("ratings: 40 persons, 2 prompts", "2 prompts;"),
    ):
        design = find_design(name)
        finding = design.road(design.draw(np.random.default_rng(3), Plant()), 0).findings.row(0, named=True)
        assert finding["verdict"] == "not measurable" and why in finding["note"]


def test_designs_have_names_of_their_own() -> None:
    names = [design.name for design in people_designs()]
    assert len(names) == len(set(names)) == 23
