"""Labels keep apart inside the picture, in their order; names are shortened to what tells them apart."""

import re
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import LinearConstraint, minimize

from evenhand.reports.drawing import (
    LABEL_HEIGHT,
    Label,
    PlotArea,
    Scale,
    assign_rows,
    cut,
    scale_over,
    spread_apart,
    svg,
    tell_apart,
    text,
)

UNIT = Scale(0.0, 1.0, ())
places = st.floats(-50, 650, allow_nan=False)
words = st.text("abc /+()", max_size=30)


def area(height: int = 300) -> PlotArea:
    return PlotArea(UNIT, UNIT, left=12.0, right=97.0, height=height)


@given(st.lists(places, min_size=1, max_size=40), st.floats(1, 20))
def test_places_are_apart_in_order_and_inside(wanted, gap):
    put = spread_apart(wanted, 10.0, 590.0, gap)
    assert all(10.0 <= place <= 590.0 for place in put)
    inside = (590.0 - 10.0) / max(1, len(wanted) - 1)
    ordered = sorted(put)
    assert all(later - earlier >= min(gap, inside) - 1e-6 for earlier, later in pairwise(ordered))
    assert all(put[i] <= put[j] for i, j in combinations(np.argsort(wanted, kind="stable"), 2))


@given(st.lists(places, min_size=1, max_size=12))
def test_who_has_room_stays(wanted):
    far = [10.0 + 20.0 * i for i in range(len(wanted))]
    assert spread_apart(far, 0.0, 600.0, 20.0) == pytest.approx(far)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 100), min_size=2, max_size=6))
def test_no_other_places_are_nearer(wanted):
    """Against a general optimiser of the same problem: the sum of squared moves."""
    gap, high = 15.0, 120.0
    wanted = sorted(wanted)
    n = len(wanted)
    best = minimize(
        lambda put: np.sum((put - wanted) ** 2),
        np.linspace(0.0, high, n),
        jac=lambda put: 2 * (put - wanted),
        bounds=[(0.0, high)] * n,
        constraints=LinearConstraint(np.diff(np.eye(n), axis=0), gap, np.inf),
        method="SLSQP",
    )
    ours = np.sum((np.array(spread_apart(wanted, 0.0, high, gap)) - wanted) ** 2)
    assert ours <= best.fun + 1e-3 * (1 + best.fun)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), words), min_size=1, max_size=30))
def test_no_label_lies_on_another_nor_leaves_the_picture(points):
    drawing = area(LABEL_HEIGHT * len(points) + 60)
    labels = drawing.keep_apart(
        [drawing.label_over(name, drawing.x(x), drawing.y(y)) for x, y, name in points]
    )
    assert [label.words for label in labels] == [cut(name) for _, _, name in points]
    for label in labels:
        assert LABEL_HEIGHT - 4 <= label.y <= drawing.floor + 4
        assert label.span[0] >= 0 and label.span[1] <= 100
    for one, other in combinations(labels, 2):
        across = min(one.span[1], other.span[1]) - max(one.span[0], other.span[0])
        assert across <= 0 or abs(one.y - other.y) >= LABEL_HEIGHT - 1e-6


@given(st.floats(12, 97), st.floats(0, 12), st.text("abc", min_size=1, max_size=40))
def test_a_label_beside_points_touches_none_of_them(left, width, name):
    right = min(97.0, left + width)
    label = area().label_beside(name, left, right, 0.0)
    assert label.span[0] >= right or label.span[1] <= left
    assert label.span[0] >= 12 - 1e-9 and label.span[1] <= 100 + 1e-9


@given(st.lists(st.tuples(st.floats(0, 90), st.floats(0.1, 60)), max_size=12))
def test_spans_in_a_row_do_not_overlap(drawn):
    spans = sorted((start, start + width) for start, width in drawn)
    rows = assign_rows(spans)
    for (one, i), (other, j) in combinations(zip(spans, rows, strict=True), 2):
        assert i != j or one[1] <= other[0]
    deepest = max((sum(a <= start < b for a, b in spans) for start, _ in spans), default=0)
    assert len(set(rows)) == deepest, "no more rows than spans over one place"


@given(st.lists(st.text("ab/ +()", min_size=1, max_size=20), min_size=2, max_size=6))
def test_shortened_names_stay_different_and_are_parts_of_the_names(names):
    short = tell_apart(names)
    assert all(part.strip() in name for part, name in zip(short, names, strict=True))
    plain = [re.sub(r"[\s/()]", "", name) for name in names]
    if all(plain):
        assert len(set(short)) >= len(set(plain))


def test_shared_words_go_and_inner_ones_stay():
    runs = ["m/gpt2 (plain)", "m/gpt2 + prefix=be kind", "m/gpt2 (run of May)"]
    assert tell_apart(runs) == ["plain", "+ prefix=be kind", "run of May"]
    assert tell_apart(["a/opt-125m + s", "a/opt-350m + s"]) == ["opt-125m", "opt-350m"]
    assert tell_apart(["same", "same"]) == ["same", "same"]
    assert tell_apart(["alone/here"]) == ["alone/here"]


def test_values_stand_where_the_scales_say():
    drawing = PlotArea(
        scale_over([0, 10]), scale_over([0, 1]), left=10, right=90, height=120, top=10, bottom=10
    )
    assert (drawing.x(0), drawing.x(5), drawing.x(10)) == (10, 50, 90)
    assert (drawing.y(0), drawing.y(0.5), drawing.y(1)) == (110, 60, 10), "more is higher"
    assert (drawing.x(99), drawing.y(-9)) == (90, 110), "what lies beyond an end is drawn at it"
    assert drawing.interval_up("w", 5, None, 1.0) == "" == drawing.interval_across("w", 5, 0.0, None)
    ticks = re.findall(r">([^<]+)</text>", "".join(drawing.grid("%", null=0.0)))
    assert ticks[:2] == ["0 %", "0.2 %"] and ticks[-1] == "10"


def test_all_words_are_escaped():
    wicked = '"><script>'
    drawn = str(svg("k", 10, [text(1, 2, wicked), Label(wicked, 1, 2).svg], described=wicked))
    assert "<script" not in drawn and drawn.count("&gt;&lt;script&gt;") == 3
    assert 'aria-hidden="true"' in svg("k", 10, [])
