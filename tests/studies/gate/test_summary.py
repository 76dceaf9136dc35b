"""Markdown for a CI job."""

import pytest

from evenhand.schema import WriteError
from evenhand.studies.gate import Case, GateOutcome, markdown, write_summary

PASSING = GateOutcome((Case("worse", "regard", "age", "passed", "", unit="points", smallest=7.0),))


def test_what_fails_stands_first():
    cases = (*PASSING.cases, Case("worse", "regard", "gender", "failed", "worse for women", ends=True))
    lines = markdown(GateOutcome(cases, ("a note",))).splitlines()
    assert lines[0] == "## ❌ evenhand: gate failed"
    table = [line for line in lines if line.startswith("|")][2:]
    assert [line.split(" | ")[0] for line in table] == ["| ❌ failed", "| ✅ passed"]
    assert table[1].endswith("| condition not met | 7 points |") and lines[-1] == "Note: a note."
    assert markdown(PASSING).startswith("## ✅ evenhand: gate passed")


def test_no_text_breaks_out_of_its_cell():
    text = "a|b\nc <img src=x onerror=alert(1)> [x](http://evil) `code` @everyone \x1b[31m"
    table = markdown(GateOutcome((Case("worse", "regard", text, "failed", text, ends=True),))).splitlines()[
        -1
    ]
    assert table.replace("\\|", "").count("|") == 6
    assert "<img" not in table and "\\[x\\](" in table and "@everyone" not in table and "\x1b" not in table


def test_the_jobs_summary_is_added_to_and_another_file_is_replaced(tmp_path, monkeypatch):
    job, other = tmp_path / "step.md", tmp_path / "mine.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(job))
    job.write_text("earlier\n")
    for path in (job, job, other, other):
        write_summary(PASSING, path)
    assert job.read_text() == "earlier\n" + 2 * markdown(PASSING)
    assert other.read_text() == markdown(PASSING)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    with pytest.raises(WriteError):
        write_summary(PASSING, tmp_path)


def test_a_long_table_is_cut_and_says_so():
    cases = tuple(Case("worse", "regard", f"axis{i}", "passed", "") for i in range(250))
    assert markdown(GateOutcome(cases)).rstrip().endswith("50 more rows are left out.")
