"""Points against logarithms of shares."""

import math
import re

from evenhand.reports import ScatterPoint, scatter_key, scatter_svg


def test_a_share_stands_between_the_powers_of_ten_around_it() -> None:
    points = [
        ScatterPoint(f"d{power}", math.log(10.0**power / 100), float(power), power) for power in (-3, -1, 1)
    ]
    svg = str(scatter_svg(points, described="how often", across="share"))
    x = [float(one) for one in re.findall(r'<circle[^>]*cx="([\d.]+)%"', svg)]
    assert x[1] - x[0] == x[2] - x[1] > 0
    assert all(f"{label} %" in svg for label in ("0.001", "0.1", "10"))
    assert "d-3" in svg and "hue1" in svg


def test_nothing_is_drawn_of_a_single_point_and_names_are_escaped() -> None:
    assert scatter_svg([ScatterPoint("a", -2.0, 1.0)], described="", across="") is None
    two = [ScatterPoint("<b>", -2.0, 1.0), ScatterPoint("c", float("nan"), 1.0), ScatterPoint("d", -4.0, 2.0)]
    assert "<b>" not in str(scatter_svg(two, described="", across=""))
    assert scatter_key(["<i>"]).count("<i>") == 0
