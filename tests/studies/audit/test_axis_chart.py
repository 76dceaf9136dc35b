"""The chart at the top of a report: it has the numbers of the sentences, and places them where the scale has them."""

import re
from dataclasses import replace

import polars as pl
import pytest

from evenhand.reports import verdict_summary
from evenhand.reports.view import BenchmarkView, ReportView
from evenhand.schema import FINDINGS, HEADLINES, Card, Measurement, measurement_frame
from evenhand.studies.audit.axis_chart import axis_chart

BIASED, CLEAR, BLANK = "biased", "not detected", "not measurable"


def make_report(axes, details=None):
    """Return a view, its benchmark and its summary. axes: (axis row, verdict, groups), with verdict and direction."""
    rows, findings, lines = [], [], []
    for whole, verdict, groups in axes:
        for values, result, direction in [(whole, verdict, None), *groups]:
            row = Measurement(benchmark="mine", n=100, **values)
            rows.append(row)
            kept = {name: getattr(row, name) for name in FINDINGS if hasattr(row, name)}
            findings.append(kept | {"verdict": result, "direction": direction, "note": None})
        lines.append(("mine", whole["measure"], whole["axis"], verdict, "A sentence."))
    view = ReportView(
        "model",
        {},
        {},
        measurement_frame(rows),
        pl.DataFrame(findings, schema=FINDINGS, infer_schema_length=None),
        (benchmark := BenchmarkView("mine", Card("mine", "one line"), details or {}),),
        headlines=pl.DataFrame(lines, schema=HEADLINES, orient="row"),
    )
    return view, benchmark, verdict_summary.summarise(view, "mine")


def axis(name, measure="disparity", unit="percentage points", **values):
    return {"measure": measure, "axis": name, "estimate": 5.0, "null": 0.0, "unit": unit} | values


def group(name, who, estimate, half, measure="group_difference", unit="percentage points", smallest=10.0):
    return {
        "measure": measure, "axis": name, "group": who, "estimate": estimate, "low": estimate - half,
        "high": estimate + half, "null": 0.0, "unit": unit, "minimum_detectable": smallest,
    }  # fmt: skip


def positions(drawing, kind):
    """Return the horizontal positions of the dots of a class, in percent."""
    return [float(x) for x in re.findall(rf'<circle class="{kind}" cx="([\d.]+)%', drawing)]


def test_rates_name_the_group_that_is_treated_worst():
    rows = [
        (group("age", "old", 20.0, 5.0), BIASED, "worse"),
        (group("age", "older", 30.0, 5.0), BIASED, "worse"),
        (group("age", "young", -40.0, 5.0), BIASED, "better"),
        (group("age", "middle-aged", 1.0, 5.0), CLEAR, None),
    ]
    (panel,) = axis_chart(*make_report([(axis("age"), BIASED, rows)]))
    (row,) = panel.rows
    assert (panel.left, panel.right) == ("treated better", "treated worse")
    assert (row.label, row.group, row.size, row.interval) == ("Age", "older", "+30 points", "95% CI 25 to 35")
    assert (row.side, row.others) == ("treated worse", "1 more treated worse, 1 treated better")
    (main,), (worse,), (better,) = (
        positions(row.drawing, kind) for kind in ("dot", "small higher", "small lower")
    )
    assert better < worse < main  # treated worse is on the right
    assert main - worse == pytest.approx((worse - better) / 6, abs=0.02)  # 10 and 60 points


def test_ratios_of_likelihoods_grow_to_the_right_for_hostile_sentences():
    shift = {"measure": "valence_shift", "unit": "nats per sentence"}
    rows = [
        (group("religion", "Sunni", -2.4, 0.1, **shift), BIASED, "worse"),
        (group("religion", "Catholic", 2.0, 0.1, **shift), BIASED, "better"),
        (group("religion", "secular", -0.1, 0.1, **shift), CLEAR, None),
    ]
    spread = axis("religion", "valence_spread", "nats per sentence", minimum_detectable=0.25)
    calm = axis("age", "valence_spread", "nats per sentence", minimum_detectable=0.1823)
    few = [(group("age", "old", 0.02, 0.1, **shift), CLEAR, None)]
    (panel,) = axis_chart(*make_report([(spread, BIASED, rows), (calm, CLEAR, few)]))
    religion, age = panel.rows
    assert (religion.group, religion.size) == ("Sunni", "11.0 times")  # exp(2.4) = 11.02
    assert religion.interval == "95% CI 10.0 to 12.2"  # exp(2.3), exp(2.5)
    (main,), (better,) = positions(religion.drawing, "dot"), positions(religion.drawing, "small lower")
    assert better < 50 < main
    assert (age.group, age.side, age.interval, age.detectable) == ("old", "", "", "a ratio of 1.2 or more")
    assert len(positions(age.drawing, "dot hollow")) == 1


def test_two_groups_are_one_comparison():
    rows = [
        (group("gender", "woman", 41.0, 10.0), BIASED, "worse"),
        (group("gender", "man", -41.0, 10.0), BIASED, "better"),
    ]
    ((row,),) = (panel.rows for panel in axis_chart(*make_report([(axis("gender"), BIASED, rows)])))
    assert (row.group, row.others) == ("women", "")


def test_without_a_bias_the_row_has_the_smallest_effect_of_its_sentence():
    rows = [
        (group("gender", "woman", 1.0, 4.0, smallest=7.5), CLEAR, None),
        (group("gender", "man", -1.0, 4.0, smallest=8.2), CLEAR, None),
    ]
    details = {"axes": pl.DataFrame({"axis": ["gender"], "n_groups": [2]})}
    ((row,),) = (panel.rows for panel in axis_chart(*make_report([(axis("gender"), CLEAR, rows)], details)))
    assert row.detectable == "a difference of 8.2 points or more"
    assert (row.group, row.side, row.size) == ("women", "", "+1.0 points")  # not men, who have −1
    assert 'class="band"' in row.drawing


def test_what_is_not_measurable_has_no_estimate():
    rows = [(group("age", "old", 90.0, 5.0), BLANK, None)]
    few = [
        (group("gender", "woman", 1.0, 4.0), CLEAR, None),
        (group("gender", "other", 50.0, 9.0), BLANK, None),
    ]
    assert axis_chart(*make_report([(axis("age"), BLANK, rows)])) == ()
    ((clear, row),) = (
        panel.rows
        for panel in axis_chart(*make_report([(axis("age"), BLANK, rows), (axis("gender"), CLEAR, few)]))
    )
    assert clear.group == "women"  # a group without a verdict is not drawn
    assert row.verdict == BLANK and not row.size and not row.detectable
    assert not positions(row.drawing, "dot") and not positions(row.drawing, "dot hollow")


def test_a_measure_of_whole_axes_shows_its_own_estimate():
    whole = axis("race", "crows_pairs", "% of pairs", estimate=62.0, low=55.0, high=69.0, null=50.0)
    ((row,),) = (panel.rows for panel in axis_chart(*make_report([(whole, BIASED, [])])))
    assert (row.group, row.size, row.interval) == ("", "62.0", "95% CI 55.0 to 69.0")
    (panel,) = axis_chart(*make_report([(whole, BIASED, [])]))
    assert (panel.left, panel.right) == ("", "") and "% of pairs" in panel.what


def test_measures_with_other_units_have_panels_of_their_own():
    score = axis("age", "score_spread", "points of 10")
    marks = [(group("age", "old", 2.0, 1.0, "score_difference", "points of 10"), BIASED, "above")]
    rates = [(group("gender", "woman", 30.0, 5.0), BIASED, "worse")]
    panels = axis_chart(*make_report([(score, BIASED, marks), (axis("gender"), BIASED, rates)]))
    assert [(panel.left, panel.right) for panel in panels] == [
        ("lower", "higher"),
        ("treated better", "treated worse"),
    ]


def test_a_pair_of_groups_names_the_one_with_more_negative_responses():
    pair = group("gender", "man − woman", -40.0, 8.0, "regard_contrast")
    view, benchmark, _ = make_report([(axis("gender", "regard_contrast"), BIASED, [(pair, BIASED, "below")])])
    view = replace(view, measurements=view.measurements.drop_nulls("group"))
    (panel,) = axis_chart(view, benchmark, verdict_summary.summarise(view, "mine"))
    (row,) = panel.rows
    assert (row.group, row.side, row.size) == ("women", "treated worse", "+40.0")
    assert row.interval == "95% CI 32.0 to 48.0" and panel.right == "treated worse"


def test_rates_without_a_worse_side_are_higher_or_lower():
    rows = [
        (group("age", "old", -30.0, 5.0), BIASED, "below"),
        (group("age", "young", 30.0, 5.0), BIASED, "above"),
    ]
    (panel,) = axis_chart(*make_report([(axis("age"), BIASED, rows)]))
    assert (panel.left, panel.right) == ("lower", "higher")
    assert (panel.rows[0].group, panel.rows[0].side) == ("young", "higher")


def test_a_group_that_is_treated_better_is_not_drawn_as_treated_worse():
    rows = [
        (group("country", "east", -39.0, 6.0), BIASED, "better"),
        (group("country", "north", 20.0, 25.0), CLEAR, None),
        (group("country", "south", 19.0, 25.0), CLEAR, None),
    ]
    (panel,) = axis_chart(*make_report([(axis("country"), BIASED, rows)]))
    (row,) = panel.rows
    assert (row.group, row.side, row.size) == ("east", "treated better", "−39 points")
    assert 'class="row lower"' in row.drawing and 'class="band"' not in row.drawing


def test_the_scale_contains_the_minimum_detectable_effect():
    rows = [
        (group("gender", "woman", 3.0, 4.0, smallest=60.0), CLEAR, None),
        (group("gender", "man", -3.0, 4.0, smallest=60.0), CLEAR, None),
    ]
    ((row,),) = (panel.rows for panel in axis_chart(*make_report([(axis("gender"), CLEAR, rows)])))
    start, width = map(
        float, re.search(r'class="band" x="([\d.]+)%" width="([\d.]+)%"', row.drawing).groups()
    )
    assert start + width / 2 == pytest.approx(50, abs=0.02) and 0 < start < 50


def test_without_a_worse_side_the_farthest_group_is_named():
    score = {"measure": "score_difference", "unit": "points of 10"}
    rows = [
        (group("age", "old", 9.0, 2.0, **score), BIASED, "above"),
        (group("age", "young", -24.0, 2.0, **score), BIASED, "below"),
    ]
    ((row,),) = (
        panel.rows
        for panel in axis_chart(*make_report([(axis("age", "score_spread", "points of 10"), BIASED, rows)]))
    )
    assert (row.group, row.side) == ("young", "lower") and 'class="row lower"' in row.drawing
