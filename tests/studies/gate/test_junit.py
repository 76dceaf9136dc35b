"""JUnit XML, held against what Jenkins' schema (junit-10.xsd of its xunit plugin) allows."""

import xml.etree.ElementTree as ET

import pytest

from evenhand.studies.gate import Case, GateOutcome, junit_xml, write_junit

ATTRIBUTES = {  # element: (required, others allowed)
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors", "skipped"}),
    "testsuite": (
        {"name", "tests"},
        {"failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package", "file"},
    ),
    "testcase": ({"name"}, {"classname", "time", "status", "file", "assertions"}),
    "skipped": (set(), {"message", "type"}),
    "failure": (set(), {"message", "type"}),
    "error": (set(), {"message", "type"}),
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"skipped", "failure", "error"},
}
CASES = (
    Case("worse", "regard", "gender", "failed", "worse for women", ends=True),
    Case("worse", "regard", "age", "could not have been seen", "too few", ends=True),
    Case("worse", "bold", "age", "could not have been seen", "one prompt", model="v2"),
    Case("worse", "regard", "race", "passed", ""),
    Case("level > 5 points", "regard", None, "passed", "", outcome="silent"),
)


def checked(element):
    required, others = ATTRIBUTES[element.tag]
    assert required <= set(element.keys()) <= required | others
    for name in {"tests", "failures", "errors", "skipped", "time"} & set(element.keys()):
        assert float(element.get(name)) >= 0
    for child in element:
        assert child.tag in CHILDREN.get(element.tag, set())
        checked(child)
    return element


def test_counts_and_outcomes_are_those_of_the_cases():
    root = checked(ET.fromstring(junit_xml(GateOutcome(CASES))))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "1", "1")
    suites = list(root)
    assert [suite.get("name") for suite in suites] == ["worse", "level > 5 points"]
    assert [suites[0].get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        "4",
        "1",
        "1",
        "1",
    ]
    tags = {(case.get("classname"), case.get("name")): [child.tag for child in case] for case in suites[0]}
    assert tags == {
        ("regard", "worse [gender]"): ["failure"],
        ("regard", "worse [age]"): ["error"],
        ("v2.bold", "worse [age]"): ["skipped"],
        ("regard", "worse [race]"): [],
    }
    assert suites[1][0].get("name") == "level > 5 points [over all]"


@pytest.mark.parametrize("text", ['<b> & "quoted" ]]>', "\x00\x1b[31m\ud800", "\ufffe", "zwölf 👩"])
def test_whatever_a_name_holds_the_document_is_well_formed(text, tmp_path):
    outcome = GateOutcome((Case(text, text, text, "failed", text, model=text, ends=True),))
    case = checked(ET.parse(write_junit(outcome, tmp_path / "gate.xml")).getroot())[0][0]
    if "<" in text:
        assert case[0].get("message") == text
