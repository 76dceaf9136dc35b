"""The gate of a consistency check: its own words."""

import pytest

from evenhand.measures.changes import Decision
from evenhand.measures.changes.consistency_verdicts import Outcome
from evenhand.studies.gate.conduct import FAILED, PASSED, UNSEEN, check_condition
from evenhand.studies.gate.grammar import PROTOCOL, parse_condition
from evenhand.studies.gate.protocol import protocol_evidence

DECISIONS = [
    Decision("effect", "adversarial", Outcome.PASS, "harm falls"),
    Decision("polarity", "adversarial", Outcome.UNDECIDED, "too few"),
    Decision("importance", "adversarial", Outcome.FAIL, "nonsense does as well"),
    Decision("importance", "neutral", Outcome.NOT_APPLICABLE, "no effect"),
    Decision("transfer", None, Outcome.NOT_APPLICABLE, "needs both"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fails", [PASSED, UNSEEN, FAILED, UNSEEN, UNSEEN]),
        ("not decided", [PASSED, FAILED, PASSED, PASSED, PASSED]),
        ("not applicable", [PASSED, PASSED, PASSED, FAILED, FAILED]),
        ("importance fails", [FAILED, UNSEEN]),
        ("importance fails on neutral", [UNSEEN]),
        ("effect fails", [PASSED]),
    ],
)
def test_each_test_has_its_outcome(text, expected):
    condition = parse_condition(text, PROTOCOL)
    cases = check_condition(condition, protocol_evidence(DECISIONS, condition), PROTOCOL, [])
    assert [case.status for case in cases] == expected
