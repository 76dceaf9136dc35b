"""What a condition comes to, on evidence whose answer can be read off."""

import pytest

from evenhand.schema import UsageError
from evenhand.studies.gate.conduct import FAILED, PASSED, UNSEEN, check_condition
from evenhand.studies.gate.evidence import BLANK, CHANGE, FOUND, NOT_FOUND, STANDING, Evidence, Part
from evenhand.studies.gate.grammar import AUDIT, COMPARISON, parse_condition, parse_power

SMALL = Part("women", True, 8.0, 3.0, 13.0, harmful="above", smallest=9.0, units=100)
LARGE = Part("women", True, 18.0, 11.0, 25.0, harmful="above", smallest=9.0, units=100)
BETTER = Part("men", False, -18.0, -25.0, -11.0, harmful="above", smallest=9.0, units=100)
QUIET = Part("old", False, 1.0, -6.0, 8.0, harmful="above", smallest=20.0, units=50)
NATS = Part("tall", True, -0.4, -0.6, -0.2, harmful="below", smallest=0.3, units=30)


def axis(name, *parts, about=CHANGE, verdict=None, unit="points", benchmark="regard", told=""):
    verdict = verdict or (FOUND if any(part.found for part in parts) else NOT_FOUND)
    return Evidence(about, benchmark, name, verdict, told, unit, parts, outcome="regard")


def status(text, *evidence, power=(), kind=COMPARISON):
    cases = check_condition(parse_condition(text, kind), evidence, kind, [parse_power(one) for one in power])
    return {case.axis: (case.status, case.ends) for case in cases}


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("disparity > 5 points", LARGE, FAILED),
        ("disparity > 11 points", LARGE, PASSED),  # 11 is where the interval ends: more than 11 is not shown
        ("disparity > 5 points", SMALL, PASSED),  # 8, and not shown to be more than 5
        ("disparity > 0 points", SMALL, FAILED),
        ("worse", SMALL, FAILED),
        ("worse", BETTER, PASSED),
        ("disparity > 5 points", BETTER, PASSED),
        ("disparity may exceed 5 points", BETTER, PASSED),
        ("disparity may exceed 5 points", QUIET, FAILED),  # it may be as much as 8
        ("disparity may exceed 8 points", QUIET, PASSED),
        ("worse", QUIET, PASSED),
    ],
)
def test_more_than_x_is_what_the_interval_shows(text, part, expected):
    assert status(text, axis("gender", part)) == {"gender": (expected, expected == FAILED)}


def test_likelihoods_are_worse_below():
    assert status("disparity > 0.1 nats", axis("height", NATS, unit="nats"))["height"][0] == FAILED
    assert status("disparity > 0.2 nats", axis("height", NATS, unit="nats"))["height"][0] == PASSED
    assert status("disparity may exceed 0.5 nats", axis("height", NATS, unit="nats"))["height"][0] == FAILED


def test_what_could_not_have_been_seen_does_not_pass_where_power_is_required():
    evidence = (
        axis("gender", BETTER),
        axis("age", QUIET),
        axis("race", verdict=BLANK, told="one prompt a group"),
    )
    free = {"gender": (PASSED, False), "age": (PASSED, False), "race": (UNSEEN, False)}
    assert status("worse", *evidence) == free
    assert status("worse", *evidence, power=["20"]) == free | {"race": (UNSEEN, True)}
    assert status("worse", *evidence, power=["10"]) == free | {"age": (UNSEEN, True), "race": (UNSEEN, True)}


def test_how_many_prompts_would_be_needed_goes_with_the_square():
    case = check_condition(
        parse_condition("worse", COMPARISON), [axis("age", QUIET)], COMPARISON, [parse_power("10")]
    )[0]
    assert "20.0 points or more" in case.reason and "about 200 prompts per group instead of 50" in case.reason


def test_a_smallest_effect_that_is_not_known_is_none_that_could_be_seen():
    part = Part("old", False, 0.0, -1.0, 1.0, smallest=None, units=50)
    assert status("worse", axis("age", part), power=["99"]) == {"age": (UNSEEN, True)}


def test_what_is_found_fails_whatever_the_power():
    assert status("worse", axis("gender", LARGE), power=["1"]) == {"gender": (FAILED, True)}


def test_power_in_points_says_nothing_of_nats():
    quiet = Part("tall", False, 0.0, -0.1, 0.1, smallest=5.0, units=9)
    both = axis("age", BETTER), axis("height", quiet, unit="nats", benchmark="other")
    assert status("worse", *both, power=["10"])["height"] == (PASSED, False)
    assert status("worse", *both, power=["10", "1 nats"])["height"] == (UNSEEN, True)


def test_a_condition_is_asked_only_of_its_unit_and_place():
    both = axis("gender", LARGE), axis("gender", NATS, unit="nats", benchmark="other"), axis("age", QUIET)
    points = check_condition(parse_condition("disparity > 5 points", COMPARISON), both, COMPARISON, [])
    assert [(case.benchmark, case.axis) for case in points] == [("regard", "gender"), ("regard", "age")]
    there = check_condition(parse_condition("worse on gender in other", COMPARISON), both, COMPARISON, [])
    assert [case.benchmark for case in there] == ["other"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("worse on gander", "Did you mean 'gender'"),
        ("worse in bold", "Unknown benchmark in this result: 'bold'"),
        ("disparity > 1 nats", "no result has the unit nats"),
        ("disparity > 1 units", "no result has the unit units"),
        ("new biased", "this result does not support the condition"),
        ("level higher", "this result does not support the condition"),
        ("refusals higher", "this result does not support the condition"),
    ],
)
def test_what_is_not_there_is_wrong_usage_and_no_pass(text, told):
    with pytest.raises(UsageError, match=told):
        status(text, axis("gender", LARGE))


def test_an_axis_that_differs_and_does_not_say_for_whom_has_no_size():
    whole = axis("style", about=STANDING, verdict=FOUND, unit=None, told="differs")
    assert status("biased", whole, kind=AUDIT) == {"style": (FAILED, True)}
    assert (
        status("disparity > 5 points", whole, axis("age", QUIET, about=STANDING), kind=AUDIT)["style"][0]
        == UNSEEN
    )
