"""Evidence of a consistency check: each test of its checklist."""

from collections.abc import Sequence

from evenhand.measures.changes import Decision
from evenhand.studies.gate.evidence import BLANK, FOUND, NOT_FOUND, TEST, Evidence
from evenhand.studies.gate.grammar import TESTS, Condition

PLACE = "consistency"
"""Name that the evidence of a consistency check has as its benchmark."""
OPEN = ("not decided", "not applicable")


def protocol_evidence(decisions: Sequence[Decision], condition: Condition) -> list[Evidence]:
    """Return evidence for each test and domain to which a condition applies.

    The verdict is FOUND if the test has the outcome that the condition names. If the condition is "fails", tests that
    are undecided or not applicable are BLANK. In a condition, `on` names the domain: adversarial or neutral.
    """
    test, _, outcome = condition.subject.partition(" ")
    if test not in TESTS:
        test, outcome = "", condition.subject
    evidence = []
    for one in decisions:
        if test and one.test != test:
            continue
        if one.outcome == outcome:
            verdict = FOUND
        else:
            verdict = BLANK if outcome == "fails" and one.outcome in OPEN else NOT_FOUND
        told = f"{one.test} {one.outcome}: {one.reason}".rstrip(".")
        evidence.append(Evidence(TEST, PLACE, one.domain, verdict, told, outcome=one.test))
    return evidence
