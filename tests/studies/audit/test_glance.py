"""Published numbers without a verdict: each test of an axis with its p, and why a number is not given."""

import io

import polars as pl
from rich.console import Console

from evenhand.reports import BenchmarkView, ReportView
from evenhand.schema import FINDINGS, Card, Measurement, measurement_frame
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
