"""Names that look alike: told, and not merged."""

import io

import polars as pl
import pytest
from rich.console import Console

import evenhand as eh
from evenhand.reports import alike_groups
from evenhand.reports.alike import alike_names

ALIKE = ["old", "Old", " old", "old\xa0", "o\u200bld"]


def test_names_are_alike_where_no_eye_tells_them_apart():
    assert alike_names(["caf\xe9", "cafe\u0301", "cafe"]) == [["cafe\u0301", "caf\xe9"]]
    assert alike_names([*ALIKE, "young", "olds"]) == [sorted(ALIKE)]
    assert alike_names(["very  old", "very old", "veryold"]) == [["very  old", "very old"]]
    assert alike_names(["a", "b"]) == []


@pytest.mark.parametrize("groups", [ALIKE, ["old", "young"]], ids=["alike", "not"])
def test_groups_of_a_file_that_look_alike_are_named_and_counted_apart(tmp_path, groups):
    rows = [(f"{group}-{i}", "age", group, i % 2) for group in groups for i in range(20)]
    table = pl.DataFrame(rows, schema=["prompt_id", "axis", "group", "negative"], orient="row")
    table.write_csv(tmp_path / "mine.csv")
    measured = eh.measure(tmp_path / "mine.csv", "toxigen", output=tmp_path / "run")
    assert set(groups) <= set(measured.measurements["group"])
    console = Console(file=io.StringIO(), width=400)
    measured.render(console)
    told = " ".join(console.file.getvalue().split())
    page = measured.report(tmp_path / "page.html").read_text()
    assert (tmp_path / "run" / "report.html").is_file()
    if groups == ALIKE:
        named = "look alike are counted apart: groups of age ' old', 'Old', 'old', 'old\\xa0', 'o\\u200bld'."
        assert (
            named.replace("'old', 'old\\xa0', 'o\\u200bld'", "'o\\u200bld', 'old', 'old\\xa0'") in told
            or named in told
        )
        assert "look alike are counted apart" in page
    else:
        assert alike_groups(measured.view()) == "" and "alike" not in told
