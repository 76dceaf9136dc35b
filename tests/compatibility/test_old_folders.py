"""Folders made by an earlier version open, resume and report: the rows stay, and a reader sees the same words."""

import difflib
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from tests.compatibility.cases import (
    CASES,
    DATA,
    READ_BY_CASES,
    RENEW,
    Case,
    copy_of_data,
    inside,
    run_case,
    stored_tables,
    stored_words,
)
from tests.compatibility.rows import changed_lines, changed_records, describe_tables

RUNS = tuple(
    sorted(path.parent.name for path in DATA.glob("*/findings.parquet") if (path.parent / "prompts").is_dir())
)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_folder_resumes_with_the_same_rows_and_words(case: Case, tmp_path: Path) -> None:
    outcome = run_case(case, tmp_path)
    assert changed_records(DATA / (case.equal_to or case.folder), outcome.copy / case.folder) == []
    tables = describe_tables(outcome.copy / case.folder)
    assert changed_lines(stored_tables(case).read_text(encoding="utf-8"), tables) == [], RENEW
    stored = stored_words(case).read_text(encoding="utf-8")
    changes = difflib.unified_diff(
        stored.splitlines(), outcome.words.splitlines(), "stored", "now", lineterm="", n=0
    )
    assert "\n".join(changes) == "", RENEW


@pytest.mark.parametrize("name", RUNS)
def test_a_run_opens_with_the_rows_that_are_stored(name: str, tmp_path: Path) -> None:
    copy = copy_of_data(tmp_path)
    with inside(copy):
        run = eh.open_run(name)
        assert run.measurements.equals(pl.read_parquet(DATA / name / "measurements.parquet"))
        assert run.findings.equals(pl.read_parquet(DATA / name / "findings.parquet"))


def test_every_folder_has_a_case() -> None:
    covered = {case.folder for case in CASES} | READ_BY_CASES
    assert {path.name for path in DATA.iterdir() if path.name != "README.md"} - covered == set()
