"""Numbers as text, and many measures folded into one verdict an axis."""

import math
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, strategies as st

from evenhand.reports.figures import heat_map, short_perplexity
from evenhand.reports.sentences import not_detected, not_measurable
from evenhand.reports.verdict_summary import headlines, summarise
from evenhand.reports.view import BenchmarkView
from evenhand.reports.wording import decimals, known, listing, number, share, times
from evenhand.schema import FINDINGS, HEADLINES, Card
from tests.helpers.report_factory import make_view


@given(st.floats(-1e9, 1e9), st.integers(0, 6))
def test_a_printed_number_is_the_number_rounded(value, places):
    text = number(value, places).replace("−", "-").replace(",", "")
    assert float(text) == pytest.approx(value, abs=0.51 * 10**-places)
    assert text != "-0"


@given(st.floats(min_value=1.0, max_value=1e11))
def test_short_perplexities_are_short_and_right_to_a_few_per_cent(value):
    text = short_perplexity(value)
    factor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1.0)
    assert float(text.rstrip("kMG")) * factor == pytest.approx(value, rel=0.06)
    assert len(text) <= 4


def test_small_shares_are_not_nothing():
    assert share(1, 10**6) == "<0.1%" and share(0, 10**6) == "0%" and share(3, 0) == "–"


def test_extreme_ratios_do_not_overflow():
    assert times(1e6).startswith("×") and times(math.nan) == "–"


def test_listing_and_known():
    assert listing([]) == "" and listing(["a"]) == "a"
    assert known(0.0) and not known(None) and not known(math.inf)
    assert decimals([]) == 3


def verdicts(summary):
    return {v.axis: v.verdict for v in (*summary.biased, *summary.not_detected, *summary.not_measurable)}


def test_one_biased_measure_makes_an_axis_biased():
    view = make_view(pairs=False)
    found = view.findings.filter(pl.col("group").is_null())
    expected = {}
    for axis, part in found.group_by("axis"):
        seen = set(part["verdict"].to_list())
        expected[axis[0]] = next(v for v in ("biased", "not detected", "not measurable") if v in seen)
    assert verdicts(summarise(view, "evenhand-likelihood")) == expected


def test_the_row_over_all_axes_counts_only_alone():
    view = make_view()
    assert None not in verdicts(summarise(view, "crows-pairs"))
    alone = replace(
        view,
        measurements=view.measurements.filter(pl.col("axis").is_null()),
        findings=view.findings.filter(pl.col("axis").is_null()),
    )
    assert verdicts(summarise(alone, "crows-pairs")) == {None: "biased"}
    assert summarise(alone, "crows-pairs").sentence == "Bias detected on the one axis that was measured."


def test_without_findings_there_is_no_verdict():
    view = replace(make_view(pairs=False), findings=pl.DataFrame(schema=FINDINGS))
    assert "gives no verdicts" in summarise(view, "evenhand-likelihood").sentence


def told(*rows):
    """Headlines of a benchmark, each (measure, axis, verdict)."""
    lines = [("crows-pairs", measure, axis, verdict, "A sentence.") for measure, axis, verdict in rows]
    return pl.DataFrame(lines, schema=HEADLINES, orient="row")


def test_an_axis_that_is_not_measurable_is_not_counted_as_unbiased():
    """Another measure that found nothing there does not speak for it: the opening counts what the headlines say."""
    lines = told(("crows_pairs", "age", "not measurable"), ("crows_pairs", "gender", "not detected"))
    view = replace(make_view(), headlines=lines)
    assert verdicts(summarise(view, "crows-pairs")) == {"age": "not measurable", "gender": "not detected"}
    assert summarise(view, "crows-pairs").sentence.startswith(
        "No bias detected on 1 axis. 1 axis (age) was not measurable"
    )
    view = replace(view, headlines=told(("crows_pairs", "age", "not measurable")))
    assert summarise(view, "crows-pairs").sentence == "Bias could not be measured on the only axis."
    assert not summarise(view, "crows-pairs").measured
    lines = told(*(("crows_pairs", axis, "not detected") for axis in ("age", "gender", "race")))
    summary = summarise(replace(make_view(), headlines=lines), "crows-pairs")
    assert summary.sentence == "No bias detected on any of the 3 axes." and summary.measured


def test_axes_that_are_not_measurable_for_one_reason_share_a_line():
    reason = "There is only one descriptor."
    rows = [("b", "axis_rate", axis, "not measurable", not_measurable([axis], reason)) for axis in "xyz"]
    rows.append(("b", "disparity", "x", "not detected", not_detected("x", "Why.")))
    view = replace(make_view(), headlines=pl.DataFrame(rows, schema=HEADLINES, orient="row"))
    assert headlines(view, "b") == [
        ("not detected", "X — no bias detected. Why."),
        ("not measurable", "X, y, z — not measurable: there is only one descriptor."),
    ]


def test_one_biased_sentence_makes_an_axis_biased():
    lines = told(("disparity", "age", "not measurable"), ("missing_disparity", "age", "biased"))
    summary = summarise(replace(make_view(), headlines=lines), "crows-pairs")
    assert verdicts(summary) == {"age": "biased"} and summary.biased[0].measures == ("missing_disparity",)


def test_bias_over_all_axes_alone_is_not_opened_with_no_bias():
    lines = told(
        ("crows_pairs", None, "biased"), *(("crows_pairs", a, "not detected") for a in ("age", "gender"))
    )
    summary = summarise(replace(make_view(), headlines=lines), "crows-pairs")
    assert summary.sentence == "Bias detected across all axes combined, but on no single axis."


def test_without_headlines_the_first_measure_speaks_for_an_axis():
    view = make_view(pairs=False)
    first = pl.col("measure") == "likelihood_bias"
    lost = pl.when(first).then(pl.lit("not measurable")).otherwise(pl.lit("not detected")).alias("verdict")
    summary = summarise(replace(view, findings=view.findings.with_columns(lost)), "evenhand-likelihood")
    assert set(verdicts(summary).values()) == {"not measurable"}


def test_heat_map_compares_within_the_template():
    """A descriptor twice as perplexing in every template is ×2 everywhere, whatever the templates' levels."""
    frame = pl.DataFrame(
        [("age", d, t, level * factor, 4) for t, level in (("a", 10.0), ("b", 1000.0)) for d, factor in
         (("plain", 1.0), ("usual", 1.0), ("double", 2.0))],
        ["axis", "descriptor", "template", "median_perplexity", "n"],
        orient="row",
    )  # fmt: skip
    heat = heat_map(BenchmarkView("b", Card("b", "s"), {"descriptor_templates": frame}), "age")
    assert heat.descriptors[-1] == "double"
    assert [[cell[2] for cell in cells] for _, cells in heat.rows] == [["×1.00", "×1.00", "×2.00"]] * 2
    assert [row[1][-1][1] for row in heat.rows] == ["20", "2000"]
    assert heat.shown_of == 3


def test_small_ratios_have_pale_colours_in_the_heat_map():
    """A descriptor that is 2% more perplexing has the middle colour, and the scale states its ends."""
    frame = pl.DataFrame(
        [("age", d, "a", 10.0 * factor, 4) for d, factor in (("plain", 1.0), ("usual", 1.0), ("more", 1.02))],
        ["axis", "descriptor", "template", "median_perplexity", "n"],
        orient="row",
    )
    heat = heat_map(BenchmarkView("b", Card("b", "s"), {"descriptor_templates": frame}), "age")
    assert {cell[0] for cell in heat.rows[0][1]} == {"h5"}
    assert (heat.smallest, heat.largest) == ("×0.80", "×1.25")
