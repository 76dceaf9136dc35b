"""Comparisons as page, terminal table and files: the numbers of the tables, and nobody's markup."""

import json
import re
import shutil
from dataclasses import replace
from io import StringIO

import polars as pl
import pytest
from rich.console import Console

from evenhand.reports import wording
from evenhand.schema import ADDED, DataError, UsageError
from evenhand.studies.compare.figures import (
    PERCENT,
    RAW,
    choose_unit,
    outcomes,
    table_of_models,
)
from evenhand.studies.compare.page import render_comparison_html
from evenhand.studies.compare.result import compare
from tests.helpers.page_outline import Outline, Tables

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def report(written_runs):
    return compare(written_runs["rude"], written_runs["calm"].path, names=["before it", "after it"])


@pytest.fixture(scope="module")
def page(report):
    return report.html()


def printed(report, width=100, encoding="utf-8"):
    out = StringIO()
    report.render(Console(file=out, width=width))
    return out.getvalue()


def test_the_page_is_whole_silent_and_well_formed(page):
    outline = Outline(page)
    assert outline.wrong == [] and outline.stack == []
    assert page.count("<script") == 1 and "default-src 'none'" in page
    assert (
        not re.search(r'(?:src|href)="(?!#|data:)', page) and "http://" not in page and "https://" not in page
    )
    ids = [value for _, name, value in outline.attributes if name == "id"]
    links = [v[1:] for tag, name, v in outline.attributes if tag == "a" and name == "href"]
    assert len(ids) == len(set(ids)) and links and set(links) <= set(ids)


def test_differences_by_axis_are_those_of_the_table(page, report):
    rows = Tables(page).tables["Difference by axis, regard regard, after it"]
    assert rows[0][:2] == ["axis", "difference percentage points"]
    truth = report.changes.filter(measure="level_change", outcome="regard")
    assert len(rows) == 1 + truth.height + 1
    for row in rows[1:-1]:
        change = next(c for c in truth.to_dicts() if wording.label(c["axis"]) == row[0])
        estimate, low, high, before, after = (
            wording.number(100 * change[c], 1) for c in ("estimate", "low", "high", "before", "after")
        )
        assert row[2] == f"{estimate} {low} to {high}"
        assert row[3] == wording.probability(change["q"]) and row[5:7] == [before, after]
        assert row[-1].endswith(change["verdict"])


def test_what_was_planted_is_what_changed(report, page):
    section = outcomes(report.comparison)[0]
    assert [row["group"] for row in section.changed if row["verdict"] == "lower"] == ["Black person"]
    change = report.changes.filter(group="Black person", outcome="regard").row(0, named=True)
    assert section.changed[0]["estimate"] == pytest.approx(100 * change["estimate"])
    assert "Black person" in page and section.changed_of == (2, 6), "an axis of two is one test"


def test_the_table_of_models_holds_rates_scores_and_whose_is_the_largest(report, written_runs):
    columns, rows = table_of_models(report.comparison)
    assert columns == [("regard", "regard", "%")]
    for (name, cells), run in zip(rows, ("rude", "calm"), strict=True):
        whole = written_runs[run].measurements.filter(pl.col("axis").is_null() & pl.col("group").is_null())
        truth = dict(whole.select("measure", "estimate").rows())
        assert cells[0].rate == wording.number(
            truth["negative_rate"], wording.decimals([truth["negative_rate"]])
        )
        assert cells[0].corrected == wording.number(truth["bias_score"], 1)
        assert cells[0].published == wording.number(truth["bias_score_published"], 1)
        assert name in ("before it", "after it")
    assert rows[0][1][0].group.startswith("Black person ")


def test_a_classifiers_own_number_is_folded_and_stays_a_number(report, page):
    assert (
        choose_unit(report.comparison, "regard", "regard") is PERCENT
        and choose_unit(report.comparison, "regard", "regard score") is RAW
    )
    fold = page[page.index("the score of the classifier") :]
    whole = report.changes.filter(
        pl.col("axis").is_null() & pl.col("group").is_null(), outcome="regard score"
    )
    assert wording.number(whole["before"][0]) in fold


def test_lines_from_model_to_model_and_rates_by_size(report):
    section = outcomes(report.comparison)[0]
    assert str(section.slope).count('<line class="slope') == 4 and section.sizes is None, "no sizes are known"
    sized = replace(
        report.comparison,
        models=tuple(replace(m, parameters=n) for m, n in zip(report.models, (10**8, 10**9), strict=True)),
    )
    assert str(outcomes(sized)[0].sizes).count("<circle") == 2
    assert "Rate by model size" in render_comparison_html(sized)


def test_three_models_are_each_held_against_the_first(written_runs):
    rude, calm = written_runs["rude"], written_runs["calm"]
    three = compare(calm, rude, calm, names=["a", "b", "c"])
    section = outcomes(three.comparison)[0]
    assert [model for model, _ in section.forests] == ["b", "c"]
    assert [(model, verdict) for model, _, verdict in section.sentences] == [
        ("b", "higher"),
        ("c", "not detected"),
    ]
    assert str(section.slope).count('class="stand"') == 3


def test_names_and_groups_from_outside_are_escaped(written_runs):
    report = compare(written_runs["rude"], written_runs["calm"], names=[HOSTILE, "b\x1b[31m"])
    changes = report.changes.with_columns(group=pl.when(pl.col("group").is_not_null()).then(pl.lit(HOSTILE)))
    hostile = replace(report, comparison=replace(report.comparison, changes=changes, notes=(HOSTILE,)))
    page = hostile.html()
    assert "<script>alert" not in page and page.count("&lt;script&gt;alert(1)") >= 4
    assert "\x1b[31m" not in printed(hostile)


def test_files_hold_every_number(report, tmp_path):
    paths = report.write(tmp_path / "new")
    assert {name: path.name for name, path in paths.items()} == {
        "report": "compare.html", "numbers": "compare.json", "changes": "changes.parquet",
        "moved": "moved.parquet",
    }  # fmt: skip
    assert pl.read_parquet(paths["changes"]).equals(report.changes)
    content = json.loads(paths["numbers"].read_text())
    assert content["names"] == ["before it", "after it"]
    assert pl.DataFrame(content["changes"], schema=report.changes.schema).equals(report.changes)
    assert content["summary"] == report.summary.to_dicts()


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_says_the_same(report, width):
    told = printed(report, width)
    assert max(map(len, told.splitlines())) <= width
    change = report.changes.filter(group="Black person", outcome="regard").row(0, named=True)
    numbers = " ".join(wording.number(100 * change[c], 1) for c in ("before", "after", "estimate"))
    flat = " ".join(told.split())
    assert numbers in flat and "↓ lower" in flat and "before it against after it" in flat


def test_runs_of_earlier_versions_are_compared_all_the_same(report, written_runs, tmp_path):
    """Their tables lack the columns that verdicts came to need, and their findings were reached by other rules."""
    for name in ("rude", "calm"):
        folder = tmp_path / name
        shutil.copytree(written_runs[name].path, folder)
        for table in ("measurements", "findings"):
            stored = pl.read_parquet(folder / f"{table}.parquet")
            stored.drop(ADDED, strict=False).write_parquet(folder / f"{table}.parquet")
        (folder / "headlines.parquet").unlink(missing_ok=True)
    old = compare(tmp_path / "rude", tmp_path / "calm", names=["before it", "after it"])
    assert old.changes.equals(report.changes) and old.headlines.equals(
        report.headlines.filter(pl.col("about") != "standing")
    )
    assert old.html()


def test_what_cannot_be_paired_is_refused_with_a_reason(written_runs, tmp_path):
    with pytest.raises(UsageError, match="at least two runs"):
        compare(written_runs["rude"])
    with pytest.raises(UsageError, match="1 names \\(`--name`\\) for 2 runs"):
        compare(written_runs["rude"], written_runs["calm"], names=["a"])
    with pytest.raises(DataError, match="does not exist"):
        compare(written_runs["rude"], tmp_path / "nothing")


def test_the_harmful_end_of_a_score_is_stated(report, page):
    told = " ".join(printed(report).split())
    assert "regard: regard score (a higher score is more harmful)" in told
    assert "the score of the classifier; a higher score is more harmful" in page


def test_the_table_of_groups_opens_with_who_got_worse_in_absolute_terms(written_runs):
    comparison = compare(written_runs["calm"], written_runs["rude"], names=["before", "after"]).comparison
    renamed = pl.col("group").replace({"Black person": "Zulu person"})
    changes = comparison.changes.with_columns(renamed).sort("group", maintain_order=True)
    section = next(one for one in outcomes(replace(comparison, changes=changes)) if one.few)
    assert [row["group"] for row in section.few[:2]] == ["Zulu person", "White person"]
    assert section.few[0]["after"] > section.few[0]["before"] + 10
    assert section.changed[0]["group"] == "Zulu person"


def test_a_comparison_says_that_quality_was_not_measured(report):
    cost = (("latency", "3", "ms per step"),)
    models = tuple(replace(model, quality=(), cost=cost) for model in report.models)
    alone = replace(report, comparison=replace(report.comparison, models=models))
    assert "The quality of the responses was not measured." in alone.html()
    assert "Cost (quality was not measured)" in printed(alone)
    assert "Check these numbers whenever a rate falls" not in alone.html()
