"""The words of a gate: what is understood, and where an error points."""

import pytest

from evenhand.schema import UsageError
from evenhand.studies.gate import AUDIT, COMPARISON, PROTOCOL, Condition, Power, parse_condition, parse_power


@pytest.mark.parametrize(
    ("text", "kind", "read"),
    [
        ("biased", AUDIT, ("biased", 0.0, None, None, None)),
        ("BIASED  on gender_and_sex", AUDIT, ("biased", 0.0, None, "gender_and_sex", None)),
        (
            "new biased in regard on 'gender and sex'",
            COMPARISON,
            ("new biased", 0.0, None, "gender_and_sex", "regard"),
        ),
        ("disparity > 5 points", AUDIT, ("disparity >", 5.0, "points", None, None)),
        ("disparity >2.5points", COMPARISON, ("disparity >", 2.5, "points", None, None)),
        ("disparity may exceed 0.2 nats", AUDIT, ("disparity may exceed", 0.2, "nats", None, None)),
        ("level higher", COMPARISON, ("level", 0.0, None, None, None)),
        ("level > 1 unit on age", COMPARISON, ("level", 1.0, "units", "age", None)),
        ("refusals > 5 points", COMPARISON, ("refusals", 5.0, "points", None, None)),
        ("importance fails on neutral", PROTOCOL, ("importance fails", 0.0, None, "neutral", None)),
        ("not decided", PROTOCOL, ("not decided", 0.0, None, None, None)),
    ],
)
def test_what_is_understood(text, kind, read):
    condition = parse_condition(text, kind)
    assert (condition.subject, condition.amount, condition.unit, condition.axis, condition.benchmark) == read
    assert parse_condition(condition.text, kind) == condition, "what is told can be written again"


@pytest.mark.parametrize(
    ("text", "kind", "at", "told"),
    [
        ("", AUDIT, 0, "unknown condition"),
        ("disparty > 5 points", AUDIT, 0, "Did you mean 'disparity > 5 points'"),
        ("disparity", AUDIT, 10, "expected > or may exceed"),
        ("disparity < 5 points", AUDIT, 10, "expected > or may exceed"),
        ("level may exceed 5 points", COMPARISON, 6, "expected > or higher"),
        ("disparity > 5", AUDIT, 13, "the unit is missing"),
        ("disparity > 5 %", AUDIT, 14, "A difference of rates is in points."),
        ("disparity > five points", AUDIT, 12, "five is not a number"),
        ("disparity > -1 points", AUDIT, 12, "-1 is not a number"),
        ("disparity > nan points", AUDIT, 12, "nan is not a number"),
        ("disparity > inf points", AUDIT, 12, "inf is not a number"),
        ("refusals > 5 nats", COMPARISON, 13, "rates of refusals are in points"),
        ("biased on", AUDIT, 9, "the name is missing"),
        ("biased on age on gender", AUDIT, 13, "twice"),
        ("new biased", AUDIT, 0, "works with a comparison only, and this is an audit"),
        ("worse", AUDIT, 0, "works with a comparison only"),
        ("biased", PROTOCOL, 0, "and this is a consistency check"),
    ],
)
def test_an_error_points_at_the_place(text, kind, at, told):
    with pytest.raises(UsageError) as error:
        parse_condition(text, kind)
    assert told in str(error.value)
    pointer = error.value.message.splitlines()[2]
    assert pointer.index("^") - 2 == at and error.value.exit_code == 2


def test_power_is_of_points_unless_it_says_otherwise():
    assert [parse_power(text) for text in ("10", "10 points", " 0.5  nats")] == [
        Power(10.0, "points"), Power(10.0, "points"), Power(0.5, "nats"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "ten", "10 %", "10 points each"])
def test_a_power_that_cannot_be(text):
    with pytest.raises(UsageError, match="expects a number above 0 and a unit, got"):
        parse_power(text)


def test_a_condition_says_what_it_is():
    assert Condition("worse", "worse").axis is None
