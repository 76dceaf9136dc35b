"""Charts of comparisons: what is higher is drawn higher, labels keep apart, sizes stand on a logarithmic scale."""

import math
import re
from itertools import pairwise

from hypothesis import given, settings, strategies as st

from evenhand.reports.drawing import LABEL_HEIGHT
from evenhand.reports.plots import (
    SizedRate,
    Slope,
    WeighedPoint,
    front_svg,
    short_count,
    size_svg,
    slope_svg,
)


def heights(svg, start):
    return [float(y) for y in re.findall(rf'<{start}[^>]*?c?y="([\d.]+)"', str(svg))]


def test_a_line_for_each_axis_from_model_to_model():
    lines = [Slope("age", (0.1, 0.2, 0.05), "lower"), Slope("all axes", (0.3, None, 0.4), "higher", True)]
    svg = str(slope_svg(lines, ["a", "b", "c"], described="d"))
    assert svg.count('<line class="slope lower') == 2
    assert svg.count('<line class="slope higher overall') == 1, "what is missing is bridged"
    points = re.findall(r'<circle class="slope lower[^>]*cx="([\d.]+)%" cy="([\d.]+)"', svg)
    xs, ys = zip(*[(float(x), float(y)) for x, y in points], strict=True)
    assert xs[0] < xs[1] < xs[2] and ys[1] < ys[0] < ys[2]


def test_nothing_is_drawn_of_nothing_or_of_a_crowd():
    assert slope_svg([Slope("age", (0.1, None))], ["a", "b"], described="") is None
    assert slope_svg([], ["a", "b"], described="") is None
    assert slope_svg([Slope("age", (0.1,) * 7)], list("abcdefg"), described="") is None
    assert size_svg([SizedRate("a", 10, 0.5), SizedRate("b", 10, 0.6)], described="") is None
    assert size_svg([SizedRate("a", 10, 0.5), SizedRate("b", 100, None)], described="") is None


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_labels_never_lie_on_each_other_nor_leave_the_drawing(ends):
    lines = [Slope(f"axis {i}", (0.5, end)) for i, end in enumerate(ends)]
    svg = str(slope_svg(lines, ["a", "b"], described=""))
    height = int(re.search(r'height="(\d+)"', svg).group(1))
    places = sorted(
        float(y) for y in re.findall(r'<text class="name [^"]*" x="[\d.]+%" y="([\d.]+)"[^>]*>axis', svg)
    )
    assert len(places) == len(ends)
    assert all(later - earlier >= LABEL_HEIGHT - 0.11 for earlier, later in pairwise(places))
    assert places[0] >= 0 and places[-1] <= height


def test_sizes_are_logarithmic_and_limits_are_drawn():
    points = [
        SizedRate("large", 1e10, 0.3, 0.2, 0.4),
        SizedRate("small", 1e8, 0.1, 0.05, 0.15),
        SizedRate("middle", 1e9, 0.2),
    ]
    svg = str(size_svg(points, described="d", unit="%"))
    xs = [float(x) for x in re.findall(r'<circle class="dot" cx="([\d.]+)%"', svg)]
    assert math.isclose(xs[1] - xs[0], xs[2] - xs[1], abs_tol=0.05) and xs[0] < xs[1]
    ys = [float(y) for y in re.findall(r'<circle class="dot" cx="[\d.]+%" cy="([\d.]+)"', svg)]
    assert ys[0] > ys[1] > ys[2]
    assert svg.count("whisker") == 2 and all(text in svg for text in ("100M", "1B", "10B"))


def test_hostile_names_are_escaped_and_cut():
    name = "<script>alert(1)</script>" + "x" * 80
    points = [SizedRate(name, 1e8, 0.1), SizedRate("b", 1e9, 0.2)]
    both = str(size_svg(points, described=name)) + str(
        slope_svg([Slope(name, (1.0, 2.0))], [name, "b"], described=name)
    )
    assert "<script" not in both and "…" in both


def test_counts_are_written_as_the_field_does():
    assert [short_count(n) for n in (1, 12_345, 99_400_000, 350e6, 999.9e6, 1.5e9, 175e9, 1e12)] == [
        "1", "12.3k", "99.4M", "350M", "1B", "1.5B", "175B", "1T"
    ]  # fmt: skip


def test_a_front_is_a_stair_beside_what_it_beats():
    points = [
        WeighedPoint("a", 1.00, 0.9, "dot front", True),
        WeighedPoint("b", 1.02, 0.4, "dot front", True),
        WeighedPoint("c", 1.04, 0.6, "dot hollow", named=False),
        WeighedPoint("lost", math.nan, 0.1),
    ]
    svg = str(front_svg(points, 1.05, described="d", across="cost"))
    assert svg.count("<circle") == 3 and svg.count('class="trend"') == 2 and svg.count('class="null"') == 1
    places = re.findall(r'<circle class="dot \w+" cx="([\d.]+)%" cy="([\d.]+)"', svg)
    (x_a, y_a), (x_b, y_b), (x_c, y_c) = [(float(x), float(y)) for x, y in places]
    assert x_a < x_b < x_c and y_a < y_c < y_b
    assert ">a</text>" in svg and ">c</text>" not in svg
    wide = str(front_svg([*points, WeighedPoint("far", 1e4, 0.2)], None, described="d", across="cost"))
    far = [float(x) for x in re.findall(r'cx="([\d.]+)%"', wide)]
    assert far[3] <= 97 and far[1] - far[0] < 2, "a logarithmic scale"
    assert front_svg([points[3]], 1.05, described="d", across="cost") is None
