"""Write the outcome of a gate as JUnit XML for GitHub's report actions, GitLab and Jenkins."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from evenhand.schema import write_text
from evenhand.studies.gate.conduct import FAILED, PASSED, UNSEEN, Case
from evenhand.studies.gate.result import GateOutcome

NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that are not allowed in XML 1.0 (section 2.2)."""
ELEMENTS = {FAILED: "failure", UNSEEN: "error"}


def junit_xml(outcome: GateOutcome) -> str:
    """Return the results of a gate as a JUnit XML document for CI systems.

    Each condition is a `testsuite`, and each benchmark and axis a `testcase`. A violated condition is a `failure`. A
    case that "could not have been seen" is an `error` if it makes the gate fail, and otherwise `skipped`. Times are not
    reported.
    """
    suites = ET.Element("testsuites", {"name": "evenhand gate", **_counts(outcome.cases)})
    for condition in dict.fromkeys(case.condition for case in outcome.cases):
        mine = tuple(case for case in outcome.cases if case.condition == condition)
        names = {"name": _text(condition), **_counts(mine), "skipped": _count_skipped(mine)}
        suite = ET.SubElement(suites, "testsuite", names)
        for case in mine:
            _add(suite, case)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def write_junit(outcome: GateOutcome, path: Path | str) -> Path:
    """Write the document; returns its path. Raises WriteError."""
    return write_text(path, junit_xml(outcome))


def _add(suite: ET.Element, case: Case) -> None:
    rooms = ".".join(filter(None, (case.model, case.benchmark, case.outcome)))
    name = f"{case.condition} [{case.axis or 'over all'}]"
    test = ET.SubElement(suite, "testcase", classname=_text(rooms), name=_text(name), time="0")
    if case.status == PASSED:
        return
    told = _text(case.reason)
    if not case.ends:
        ET.SubElement(test, "skipped", message=told)
        return
    body = ET.SubElement(test, ELEMENTS[case.status], message=told, type=case.status)
    body.text = _text(f"{case.place}: {case.reason} ({case.condition})")


def _counts(cases: tuple[Case, ...]) -> dict[str, str]:
    ending = [case.status for case in cases if case.ends]
    return {
        "tests": str(len(cases)),
        "failures": str(ending.count(FAILED)),
        "errors": str(ending.count(UNSEEN)),
        "time": "0",
    }


def _count_skipped(cases: tuple[Case, ...]) -> str:
    return str(sum(case.status == UNSEEN and not case.ends for case in cases))


def _text(text: str) -> str:
    return NO_XML.sub("\ufffd", text)
