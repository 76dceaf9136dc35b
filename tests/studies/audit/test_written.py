"""The page of an audit of continuations: numbers as in the tables, hostile texts tamed, nothing lost unsaid."""

import json
import re
from dataclasses import replace
from io import StringIO
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from evenhand.measures import MEASURES
from evenhand.reports import BenchmarkView, smallest_effect, wording
from evenhand.reports.numbers import measurement_numbers
from evenhand.schema import Card, write_json
from evenhand.studies.audit.glance import glance
from evenhand.studies.audit.page import render_html
from evenhand.studies.audit.terminal import render_audit
from evenhand.studies.audit.written import written_section
from evenhand.studies.own_responses import measure
from evenhand.studies.three_groups import (
    BETWEEN,
    EACH,
    RATES,
    deciding_comparisons,
    describe_comparisons,
)
from tests.helpers.page_outline import Outline, Tables
from tests.helpers.report_factory import make_view
from tests.helpers.written_factory import HOSTILE, judge_of, view_of


@pytest.fixture(scope="module")
def view(written_runs):
    return written_runs["rude"].view()


@pytest.fixture(scope="module")
def page(view):
    return render_html(view)


@pytest.fixture(scope="module")
def tables(page):
    return Tables(page).tables


def printed(view, width=100):
    out = StringIO()
    render_audit(view, Console(file=out, width=width))
    return out.getvalue()


def test_it_is_well_formed_and_headings_never_skip(page):
    outline = Outline(page)
    assert outline.wrong == [] and outline.stack == []
    levels = [int(tag[1]) for tag in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    ids = [value for _, name, value in outline.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_every_row_of_a_run_is_of_a_measure_that_has_a_card(written_runs):
    for run in written_runs.values():
        assert run.measurements.height and set(run.measurements["measure"]) <= set(MEASURES)


def test_rates_of_groups_are_those_of_the_table_the_most_harmed_first(tables, written_runs):
    groups = written_runs["rude"].details("regard")["groups"]
    rows = tables["Negative responses by group"][1:-1]
    assert len(rows) == groups.height == 6
    assert rows[0][0].startswith("Black person") and rows[0][-1].endswith("worse")
    for row in rows:
        name = next(name for name in groups["group"] if row[0].startswith(name))
        truth = groups.filter(group=name).row(0, named=True)
        low, high, others = (wording.number(truth[c], 1) for c in ("low", "high", "background"))
        assert row[2] == f"{wording.number(truth['rate'], 1)} {low} to {high}"
        assert row[3] == others and row[4] == wording.probability(truth["q"])
    order = [
        groups.filter(group=re.split(" (race|gender|sexual)", row[0])[0]).row(0, named=True) for row in rows
    ]
    place = {"worse": 0, "better": 1, None: 2}
    keys = [
        (place[row["named"]], row["difference"] if row["named"] == "better" else -row["difference"])
        for row in order
    ]
    assert keys == sorted(keys)
    for row, truth in zip(rows, order, strict=True):
        assert row[6].startswith(wording.signed(truth["difference"], 1))
        assert row[7] == smallest_effect(truth["minimum_detectable"])
        assert row[8].endswith(truth["named"] or "not detected")


def test_scores_by_axis_stand_beside_null_and_the_published_form(tables, page, written_runs):
    measured = written_runs["rude"].measurements
    rows = {row[0]: row for row in tables["Disparity by axis"][1:-1]}
    for axis in ("gender_and_sex", "race_ethnicity", "sexual_orientation"):
        row = rows[wording.label(axis)]
        of_axis = measured.filter(pl.col("group").is_null() & pl.col("axis").eq_missing(axis))
        score, published, rate = (
            of_axis.filter(measure=name).row(0, named=True)
            for name in ("disparity", "bias_score_published", "negative_rate")
        )
        assert row[2].split()[0] == wording.number(score["estimate"], 1)
        assert row[3] == wording.number(score["null"], 1)
        assert row[7] == wording.number(rate["estimate"], 1)
        assert row[8] == wording.number(published["estimate"], 1)
    assert rows["race and ethnicity"][6] == "1 of 2"
    assert "not shown to be below" in page and "has no verdict" in page


def test_the_largest_rate_names_whose_it_is(tables):
    rows = {row[0]: row for row in tables["Largest rate of a group by axis"][1:-1]}
    assert rows["all axes"][6] == "Black person"


def test_every_group_is_in_the_fold(tables):
    fold = next(rows for key, rows in tables.items() if key.endswith("fails as published"))
    assert len(fold) == 1 + 6


def test_cells_of_tables_that_fold_on_a_phone_have_the_names_of_their_columns(page):
    """Below 60rem these tables have no head, so that they do not scroll sideways."""
    found = r'<div class="scroll"[^>]*aria-label="([^"]*)">\s*<table class="[a-z ]*stack">(.*?)</table>'
    tables = re.findall(found, page, re.S)
    assert {label.split(",")[0] for label, _ in tables} >= {
        "Verdicts by axis and measure", "All groups", "Other statistics", "Biased groups farthest from the null",
    }  # fmt: skip
    for _, table in tables:
        heads = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", table)
        for row in re.findall(r"<tr>(<th scope=\"row\".*?)</tr>", table, re.S):
            cells = re.findall(r'<td(?: data-name="([^"]*)")?[^>]*>(.*?)</td>', row, re.S)
            assert all(name == head or not text for head, (name, text) in zip(heads[1:], cells, strict=True))


def test_hostile_continuations_are_shown_tamed_and_only_behind_a_warning(page):
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\u202e" not in page and "\x1b" not in page
    assert "\U0001f468\u200d\U0001f469" in page, "joined emoji stay whole"
    fold = page[page.index('<details class="long examples">') :]
    fold = fold[: fold.index("</details>")]
    assert " open" not in fold[: fold.index(">")]
    assert fold.index("Content warning") < fold.index("Black person")
    assert page.count("horrible criminal") == fold.count("horrible criminal") > 0
    longest = max(map(len, re.findall(r"<bdi>(.*?)</bdi>", fold)))
    assert longest < len(HOSTILE)
    assert fold.count("<blockquote") == fold.count("</blockquote>") == fold.count("<bdi>")


def test_how_it_was_written_and_who_judged_what_is_stated(page, view, written_runs):
    record = written_runs["rude"].directory.manifest.labels
    (stored,) = record.values()
    how = page[page.index("How the texts were generated and classified") :]
    how = " ".join(Outline(how[: how.index("</details>")]).text)
    for part in ("vader", stored.fingerprint["revision"], "MIT", "0.05 or more", f"{stored.texts:,}"):
        assert part in how
    assert "prompt and continuation, up to the first full stop, noun phrase at its beginning" in how
    assert "Hutto" in how and "Slurs that are not in the list" in how, "citation and critique of its card"
    decoding = view.benchmarks[0].written.decoding
    assert decoding in how and "temperature 1.0" in decoding and "(" in decoding, "and why"


def test_a_service_that_ends_says_so_above_all():
    card = Card("perspective", "A service.", critique="It changed without notice.", licence="Terms.")
    view = view_of(
        {}, classifiers=(judge_of(notice="Ends on 31 December 2026.", card=card, threshold="TOXICITY"),)
    )
    page = render_html(view)
    assert '<p class="warning"><b>perspective.</b> Ends on 31 December 2026.</p>' in page
    assert "It changed without notice." in page
    assert "Ends on 31 December 2026." in printed(view)


def test_refusals_are_counted_by_axis_and_the_group_refused_more_is_named(tables, written_runs):
    rows = written_runs["rude"].measurements.filter(measure="refusal_rate")
    gay = rows.filter(group="gay person").row(0, named=True)
    assert gay["estimate"] > 20
    refused = next(rows for key, rows in tables.items() if key.startswith("group | axis | what"))
    assert [row[0] for row in refused[1:]] == ["gay person"]
    assert refused[1][3] == wording.number(gay["estimate"], 1)


def test_failures_of_writing_and_of_judging_are_told_apart():
    lost = pl.DataFrame(
        {"axis": ["age", "age", None], "group": ["old", "old", None], "step": ["written", "toxicity", "written"],
         "error": ["refused", "quota", "empty_text"], "count": [3, 2, 1]},
    )  # fmt: skip
    asked = pl.DataFrame({"axis": ["age", None], "group": ["old", None], "n": [30, 10]})
    view = view_of({}, failures=lost, asked=asked)
    view = replace(view, benchmarks=(replace(view.benchmarks[0], n_errors=6),))
    rows = next(r for key, r in Tables(render_html(view)).tables.items() if "total" in key)
    assert rows[0] == [
        "axis",
        "no toxicity: quota",
        "not generated: empty text",
        "not generated: refused",
        "total",
        "share",
    ]
    assert rows[1] == ["age", "2", "", "3", "5", "16.7%"]
    assert rows[2] == ["not about a group", "", "1", "", "1", "10.0%"]
    told = " ".join(printed(view).split())
    assert "age 3 10.0% not generated: refused" in told and "age 2 6.7% no toxicity: quota" in told


def test_quality_and_cost_stand_beside_bias(view):
    rows = [
        ("judge_perplexity", 31.4),
        ("distinct_2", 12.0),
        ("distinct_2_at_budget", 55.5),
        ("empty_rate", 0.5),
    ]
    more = [{"measure": name, "estimate": value, "n": 9} for name, value in rows]
    added = view_of({}, more, name="quality").measurements.with_columns(benchmark=pl.lit("quality"))
    model = {
        "generation": {"tokens_per_second": 812.4, "seconds_per_step": 0.0203, "peak_memory_bytes": 2.5e9}
    }
    both = replace(view, measurements=pl.concat([view.measurements, added]), model=model)
    outline = Outline(re.search(r'<section id="glance".*?</section>', render_html(both), re.S).group())
    told = " ".join(" ".join(outline.text).split())
    for part in ("perplexity under a second model 31.4", "distinct bigrams 55.5", "empty 0.500", "generated tokens 812",
                 "latency 20.3 ms per step", "peak memory 2.5 GB"):  # fmt: skip
        assert part in told
    assert "bigrams in all" not in told
    assert "perplexity under a second model 31.4" in " ".join(printed(both).split())


def test_at_a_glance_repeats_the_numbers_of_the_tables(page, written_runs):
    rows = Tables(re.search(r'<section id="glance".*?</section>', page, re.S).group()).tables
    (table,) = rows.values()
    measured = written_runs["rude"].measurements.filter(pl.col("axis").is_null() & pl.col("group").is_null())
    truth = dict(measured.select("measure", "estimate").rows())
    assert table[1][0] == "regard" and table[1][5] == "Black person"
    assert [cell.split()[0] for cell in table[1][1:5]] == [
        wording.number(truth[name], 1)
        for name in ("negative_rate", "bias_score", "bias_score_published", "max_subgroup_rate")
    ]


def test_likelihoods_have_none_of_it():
    page = render_html(make_view())
    assert (
        'id="glance"' not in page
        and "How the texts were generated" not in page
        and 'class="forest more"' not in page
    )


def test_styles_that_differ_are_mapped_and_the_colours_follow_the_numbers():
    rng = np.random.default_rng(0)
    rows = [
        (axis, f"{axis} {i}", f"style {k}", 0.02 + 0.3 * (k == 3 and i == 0) + 0.001 * rng.random())
        for axis in ("age", "faith")
        for i in range(20)
        for k in range(30)
    ]
    means = pl.DataFrame(rows, ["axis", "descriptor", "style", "probability"], orient="row")
    corrected = [0.001 * (k == 3) + 1e-6 * (30 - k) for k in range(30)]
    styles = pl.DataFrame(
        {"axis": [None] * 30, "style": [f"style {k}" for k in range(30)], "corrected": corrected},
        schema_overrides={"axis": pl.String},
    )
    section = written_section(view := view_of({"style_means": means, "styles": styles}), view.benchmarks[0])
    whole, age, faith = section.maps
    assert (whole.title, age.title, faith.title) == ("all axes", "age", "faith")
    assert whole.styles[0] == "style 3" and len(whole.styles) == 14 and whole.styles_of == 30
    assert len(age.rows) == 14 and age.shown_of == 20
    name, cells = age.rows[0]
    assert name == "age 0" and cells[0][0] == "h10"
    truth = means.filter(axis="age", style="style 3")["probability"]
    assert cells[0][1] == f"{100 * truth[0]:.0f}"
    assert cells[0][2].startswith(f"+{wording.number(100 * (truth[0] - truth.mean()), 2)}")
    assert "Styles: faith" in render_html(view)


def test_long_lists_of_groups_are_cut_in_the_drawing_and_whole_in_the_fold(written_runs):
    view = written_runs["rude"].view()
    groups = view.benchmarks[0].details["groups"]
    many = pl.concat([groups.with_columns(group=pl.format("{} {}", "group", pl.lit(k))) for k in range(70)])
    details = {**view.benchmarks[0].details, "groups": many}
    page = render_html(replace(view, benchmarks=(replace(view.benchmarks[0], details=details),)))
    tables = Tables(page).tables
    assert len(tables["Negative responses by group"]) == 1 + 15 + 1
    fold = next(rows for key, rows in tables.items() if key.endswith("fails as published"))
    assert len(fold) == 1 + 420 and "All 420 groups" in page and len(page) < 410_000


@pytest.mark.parametrize("width", [80, 100])
def test_the_terminal_says_the_same(view, written_runs, width):
    told = printed(view, width)
    assert max(map(len, told.splitlines())) <= width or "report.html" in told
    flat = " ".join(told.split())
    assert "60 prompts × 20 = 1,200 continuations" in flat
    assert "Classifier for regard: vader 3.3.2 on prompt and continuation, up to the first full stop" in flat
    black = written_runs["rude"].details("regard")["groups"].filter(group="Black person").row(0, named=True)
    rate, others = (wording.number(black[c], 1) for c in ("rate", "background"))
    limits = wording.interval(black["difference_low"], black["difference_high"], 1)
    line = f"{rate} {others} {wording.signed(black['difference'], 1)} {limits}"
    line += f" {wording.probability(black['q'])} ▲ worse"
    assert re.search(rf"Black person race and( ethnicity)? {re.escape(line)}", flat)
    assert "BiasScore (as published): " in flat
    assert "It has no verdict, because a high score does not show bias: " in flat
    assert "horrible" not in told, "no continuation is printed"


THREE = {
    "named": (["worse", None, None], [28.7, -13.3, -15.3], [(28.0, 0.0), (29.3, 0.0), (1.3, 0.75)]),
    "one that differs from both, but not after adjustment": (
        [None, None, None], [28.7, -13.3, -15.3], [(28.0, 0.02), (29.3, 0.03), (1.3, 0.75)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", THREE)
def test_difference_and_q_of_one_of_three_groups_are_of_one_comparison(case):
    named, differences, pairs = THREE[case]
    groups = pl.DataFrame(
        {"axis": "x", "group": ["a", "b", "c"], "named": named, "rate": [45.3, 17.3, 16.0], "q": [0.0, 1.0, 1.0],
         "background": [16.7, 30.7, 31.3], "difference": differences, "difference_low": -9.0, "difference_high": 9.0}
    )  # fmt: skip
    tested = [
        {
            "axis": "x",
            "group": first,
            "other": other,
            "estimate": size,
            "low": size - 10,
            "high": size + 10,
            "p": p,
        }
        for (first, other), (size, p) in zip([("a", "b"), ("a", "c"), ("b", "c")], pairs, strict=True)
    ]
    details = {
        "axes": pl.DataFrame({"axis": ["x"], "n_groups": [3], "n_reference": [3]}),
        "group_pairs": pl.DataFrame(tested),
    }
    view = BenchmarkView("mine", Card("mine", "one line"), details)
    a, b, c = deciding_comparisons(groups, view, RATES, 1)
    assert (a["than"], a["difference"], a["with"]) == (None, 28.7, "16.7")  # against both others
    assert (b["with"], b["difference"], b["difference_low"], b["q"]) == (BETWEEN, None, None, None)
    assert (c["with"], c["difference"], c["q"]) == ("17.3 (b)", -1.3, 1.0)  # -15.3 from both would not fit q
    assert (c["difference_low"], c["difference_high"]) == (pytest.approx(-11.3), pytest.approx(8.7))
    assert "is compared with their mean" in describe_comparisons([a, b, c])
    without = deciding_comparisons(
        groups, BenchmarkView("mine", view.card, {"axes": details["axes"]}), RATES, 1
    )
    assert without[2]["difference"] is None and without[2]["q"] is None


def test_where_no_groups_differ_each_of_three_is_compared_with_both_others():
    groups = pl.DataFrame(
        {"axis": "x", "group": ["a", "b", "c"], "named": [None] * 3, "rate": [20.0, 18.0, 16.0], "q": [0.4] * 3,
         "background": [17.0, 18.0, 19.0], "difference": [3.0, 0.0, -3.0], "difference_low": -9.0,
         "difference_high": 9.0},
    )  # fmt: skip
    details = {"axes": pl.DataFrame({"axis": ["x"], "n_groups": [3], "n_reference": [None]})}
    shown = deciding_comparisons(groups, BenchmarkView("mine", Card("mine", "one line"), details), RATES, 1)
    assert [row["difference"] for row in shown] == [3.0, 0.0, -3.0]
    assert describe_comparisons(shown) == EACH


def test_json_holds_judges_failures_and_rates(view, tmp_path):
    content = json.loads(write_json(tmp_path / "m.json", measurement_numbers(view)).read_text())
    (benchmark,) = content["benchmarks"]
    assert benchmark["written"]["samples"] == 20 and benchmark["written"]["n_prompts"] == 60
    (judge,) = benchmark["written"]["judges"]
    assert judge["name"] == "vader" and judge["card"]["licence"] == "MIT" and judge["role"] == "regard"
    assert {row["group"] for row in benchmark["groups"]} >= {"Black person", "White person"}
    assert benchmark["maxima"][0]["group"] == "Black person"


def unmeasurable(folder):
    """Two prompts, three answers each: nothing can be found, and nothing is quoted."""
    rows = [
        {"axis": "gender", "group": group, "prompt": 0, "sample": sample, "negative": sample == 1}
        for group in ("women", "men")
        for sample in range(3)
    ]
    pl.DataFrame(rows).write_csv(folder / "few.csv")
    return measure(folder / "few.csv", "bold").view()


def test_where_nothing_could_be_measured_no_zero_and_no_promise_stands(tmp_path):
    view = unmeasurable(tmp_path)
    page, text = render_html(view), printed(view)
    (line,) = glance(view).rows
    assert line.score == "–" and line.harmed == ""
    assert "none of the 2 groups is measurable on its own" in page
    assert "0 of 2 groups named" not in text and "as published" not in text
    assert "If there were no difference" not in text + page
    assert "data of known truth" not in text + page  # there is no verdict to be tried
    assert "slurs" not in page and "Content warning" not in page


def test_what_was_not_calibrated_is_said_once(view, page, monkeypatch):
    monkeypatch.setattr("evenhand.studies.audit.glance.calibrated", lambda measure: None)
    for told in (printed(view, 300), render_html(view)):
        assert told.count("not been tested in simulations with known bias yet (evenhand calibrate)") == 1
    assert "Content warning" in page
