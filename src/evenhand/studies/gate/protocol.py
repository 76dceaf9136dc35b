"""Evidence of a consistency check: each test of its checklist."""

from collections.abc import Sequence

from evenhand.measures.changes import Decision
from evenhand.studies.gate.evidence import BLANK, FOUND, NOT_FOUND, TEST, Evidence
from evenhand.studies.gate.grammar import TESTS, Condition

PLACE = "consistency"
"""Stands where other results have a benchmark."""
OPEN = ("not decided", "not applicable")


def protocol_evidence(decisions: Sequence[Decision], condition: Condition) -> list[Evidence]:
    """Return evidence for each test of a condition; `on` names the prompts: adversarial or neutral.

    The verdict is FOUND if the outcome is the named one. An undecided test is no evidence of failure.
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
