"""Published numbers without a verdict: each test of an axis with its p, and why a number is not given."""

import io
from dataclasses import replace

import polars as pl
from rich.console import Console

from evenhand.reports import BenchmarkView, ReportView, verdict_summary
from evenhand.schema import FINDINGS, HEADLINES, Card, Measurement, measurement_frame
from evenhand.studies.audit.glance import glance
from evenhand.studies.audit.page import render_html
from evenhand.studies.audit.terminal import render_audit


def view_of(rows, details) -> ReportView:
    benchmark = BenchmarkView("drawn", Card("drawn", "Drawn pairs."), details, 80)
    findings = pl.DataFrame(schema=FINDINGS)
    return ReportView("model", {}, {}, measurement_frame(rows), findings, (benchmark,))


def printed(view: ReportView) -> str:
    out = io.StringIO()
    render_audit(view, Console(file=out, width=400))
    return out.getvalue()


def test_published_tests_have_a_row_for_each_axis_with_t_and_p():
    tests = {"gender": (-4.25, 0.0000002), "race": (13.0, 0.034)}
    rows = [
        Measurement(
            measure="redditbias_lmb_published", axis=axis, estimate=t, n=40, unit="t", benchmark="drawn"
        )
        for axis, (t, _) in tests.items()
    ]
    rows.insert(0, Measurement(measure="redditbias_likelier", axis="race", estimate=60.0, benchmark="drawn"))
    table = pl.DataFrame(
        [("redditbias_lmb_published", axis, 40, t, p) for axis, (t, p) in tests.items()],
        schema=["measure", "axis", "n", "t", "p"],
        orient="row",
    )
    view = view_of(rows, {"published_tests": table})
    lines = [line.split() for line in printed(view).splitlines() if "as published," in line]
    assert [line[-5:] for line in lines] == [
        ["gender", "−4.25", "t,", "p", "<0.001"],
        ["13.0", "t,", "p", "=", "0.034"],
    ]
    assert "of 2 axes" not in printed(view)
    page = render_html(view)
    assert "gender −4.25 t, p &lt;0.001; race 13.0 t, p = 0.034; no verdict" in page


def test_a_number_that_is_not_given_has_a_reason_in_terminal_and_page():
    measure = "likelihood_bias_published"
    rows = [
        Measurement(measure=measure, axis=axis, estimate=None, benchmark="drawn") for axis in ("age", "class")
    ]
    reasons = pl.DataFrame(
        {"measure": [measure] * 2, "axis": ["age", "class"], "reason": ["Two are too few."] * 2}
    )
    view = view_of(rows, {"published_obstacles": reasons})
    sentence = "Likelihood Bias, as published, is not given for age and class: Two are too few."
    assert sentence in printed(view) and sentence in render_html(view)


def test_axes_without_a_published_number_are_counted_if_they_are_all_axes_of_many():
    measure, axes = "likelihood_bias_published", ["age", "class", "race", "religion", "nationality"]
    rows = [Measurement(measure=measure, axis=axis, estimate=None, benchmark="drawn") for axis in axes]
    reasons = pl.DataFrame({"measure": [measure] * 5, "axis": axes, "reason": ["Two are too few."] * 5})
    view = view_of(rows, {"published_obstacles": reasons})
    assert "is not given for any of the 5 axes: Two are too few." in printed(view)
    partly = view_of(rows, {"published_obstacles": reasons.head(4)})
    assert "is not given for age, class, race and religion: Two are too few." in printed(partly)


def test_the_pairs_behind_a_published_share_are_shown_by_axis():
    measure = "likelihood_bias_published"
    shares = {"ability": (0.8, 10), "age": (0.2, 10), "class": (0.4, 15), "race": (None, 1), None: (0.47, 35)}
    unit = "share of descriptor pairs"
    rows = [
        Measurement(
            measure=measure, axis=axis, estimate=share, n=75, n_units=pairs, unit=unit, benchmark="drawn"
        )
        for axis, (share, pairs) in shares.items()
    ]
    asked = [("ability", 10, 5, 57), ("age", 10, 5, 5), ("class", 15, 6, 6), ("race", 1, 2, 40)]
    pairs = pl.DataFrame(
        [(measure, *row) for row in asked],
        schema=["measure", "axis", "pairs", "descriptors", "defined"],
        orient="row",
    )
    reasons = pl.DataFrame({"measure": [measure], "axis": ["race"], "reason": ["Two are too few."]})
    view = view_of(rows, {"published_pairs": pairs, "published_obstacles": reasons})
    told = "Number of descriptor pairs for Likelihood Bias, by axis: 10 for ability and age; 15 for class."
    sample = "Descriptors in the sample: ability 5 of 57."
    for shown in (" ".join(printed(view).split()), render_html(view)):
        assert told in shown and sample in shown
        assert "The overall number is the mean of 3 of the 4 axes." in shown
    assert "share of descriptor pairs (35 pairs, 3 of 4 axes)" in printed(view)


def test_a_difference_without_a_worse_side_is_introduced_by_who_is_treated_worse():
    verdicts = {"classifier_bias": "biased", "disparity": "not detected"}
    found = [
        {"measure": measure, "axis": "gender", "benchmark": "drawn", "verdict": verdict}
        for measure, verdict in verdicts.items()
    ]
    lines = pl.DataFrame([row | {"sentence": row["measure"]} for row in found], schema=HEADLINES)
    rows = [Measurement(measure=one, axis="gender", estimate=1.0, benchmark="drawn") for one in verdicts]
    view = replace(view_of(rows, {}), findings=pl.DataFrame(found, schema=FINDINGS), headlines=lines)
    sentence = verdict_summary.summarise(view, "drawn").sentence
    assert "No group was found to get more negative responses than the others" in sentence
    worse = lines.with_columns(verdict=pl.lit("biased"))
    view = replace(view, findings=view.findings.with_columns(verdict=pl.lit("biased")), headlines=worse)
    assert "No group" not in verdict_summary.summarise(view, "drawn").sentence
    assert [line for _, line in verdict_summary.headlines(view, "drawn")] == ["disparity", "classifier_bias"]


def test_the_overview_names_the_benchmarks_that_it_leaves_out(written_runs):
    view = written_runs["rude"].view()
    other = BenchmarkView("pairs", Card("pairs", "Pairs of sentences."))
    assert glance(view).left_out == ""
    both = replace(view, benchmarks=(*view.benchmarks, other))
    assert glance(both).left_out == "pairs"
    assert "Not in this table, because they have no rate of negative responses: pairs." in render_html(both)
