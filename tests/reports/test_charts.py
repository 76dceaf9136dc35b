"""Scales hold their values with round ticks; drawings say what they show and cannot be broken out of."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from evenhand.reports.charts import (
    SUNSET,
    axis_svg,
    diverging_class,
    histogram_svg,
    interval_svg,
    sunset_css,
)
from evenhand.reports.drawing import factor_scale, scale_over, tick_text

numbers = st.floats(-1e6, 1e6, allow_nan=False).filter(lambda v: v == 0 or abs(v) > 1e-6)


@given(st.lists(numbers, min_size=1, max_size=20))
def test_a_scale_holds_every_value_and_its_ticks_are_evenly_spaced(values):
    scale = scale_over(values)
    slack = 1e-6 * max(1.0, *(abs(v) for v in values))
    assert scale.low - slack <= min(values) and max(values) <= scale.high + slack
    steps = [later - earlier for earlier, later in pairwise(scale.ticks)]
    assert steps == pytest.approx([steps[0]] * len(steps))
    assert 2 <= len(scale.ticks) <= 8
    assert all(3 <= scale.at(v) <= 97 for v in values)


def test_a_scale_without_values_is_still_a_scale():
    assert scale_over([None, math.nan]).ticks[0] == 0.0
    assert scale_over([0.5, 0.5]).at(0.5) == pytest.approx(50)


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=20))
def test_factor_ticks_are_powers_of_one_factor_and_include_one(logs):
    scale, labels = factor_scale(logs)
    assert "×1" in labels and len(labels) == len(scale.ticks) <= 6
    assert scale.low <= min(logs) and max(logs) <= scale.high


def test_positions_are_monotone_and_leave_a_margin():
    scale = scale_over([0.0, 1.0])
    assert (scale.at(0.0), scale.at(0.5), scale.at(1.0)) == (3.0, 50.0, 97.0)
    assert scale.at(7.0) == 97.0


@pytest.mark.parametrize(
    ("ticks", "texts"),
    [((0.0, 0.2, 0.4), ["0", "0.2", "0.4"]), ((-50.0, 0.0), ["−50", "0"]), ((0.0, 0.25), ["0", "0.25"])],
)
def test_tick_labels_have_just_the_decimals_they_need(ticks, texts):
    assert [tick_text(t, ticks) for t in ticks] == texts


def test_an_interval_is_drawn_where_its_numbers_are():
    svg = str(interval_svg(scale_over([0.0, 1.0]), 0.5, 0.25, 0.75, null=0.0, described="here"))
    assert 'cx="50.0%"' in svg
    assert re.search(r'class="whisker" x1="26\.5%" y1="15" x2="73\.5%"', svg)
    assert re.search(r'class="null" x1="3\.0%"', svg)
    assert 'aria-label="here"' in svg


def test_what_is_missing_is_not_drawn():
    svg = str(interval_svg(scale_over([0.0, 1.0]), None, math.nan, 0.5, null=math.nan, described="nothing"))
    assert "circle" not in svg and "whisker" not in svg and "null" not in svg


def test_descriptions_and_labels_are_escaped():
    svg = str(interval_svg(scale_over([1.0]), 1.0, None, None, described='"><script>alert(1)</script>'))
    assert "<script" not in svg and "&lt;script" in svg and '"&gt;' not in svg
    assert "<b>" not in str(axis_svg(scale_over([0.0, 1.0], ticks=1), ["<b>", "1"]))


def test_histogram_heights_are_proportional_to_counts():
    svg = str(histogram_svg(scale_over([0.0, 2.0]), [(0, 1, 10), (1, 2, 5), (2, 2.5, 0)], described="h"))
    heights = [float(h) for h in re.findall(r'class="bar"[^>]* height="([\d.]+)"', svg)]
    assert heights == [34.0, 17.0]


def test_heat_classes_are_symmetric_and_all_have_a_colour():
    assert [diverging_class(v, 1.0) for v in (-1, 0, 1, math.nan)] == ["h0", "h5", "h10", "hx"]
    assert diverging_class(3.0, 0.0) == "h5"
    css = sunset_css()
    assert all(f".h{i}{{background:{colour}" in css for i, colour in enumerate(SUNSET))


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_on_heat_colours_has_enough_contrast():
    """WCAG contrast of at least 3.5 in the worst cell and 4.5 in nearly all."""
    ratios = []
    for line, colour in zip(sunset_css().splitlines(), SUNSET, strict=True):
        text = luminance("#ffffff") if "#fff" in line else luminance("#1c2127")
        light, dark = sorted((text, luminance(colour)), reverse=True)
        ratios.append((light + 0.05) / (dark + 0.05))
    assert min(ratios) > 3.5 and sum(r >= 4.5 for r in ratios) >= 9
