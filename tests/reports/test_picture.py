"""The picture for slides: whole in itself, everything on it, every text escaped, PNG by an optional library."""

import sys
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from evenhand.reports import Picture, PictureRow, picture_svg, write_picture
from evenhand.reports.picture import HEIGHT, INK, MOST_ROWS, WIDTH
from evenhand.schema import UsageError

SVG = "{http://www.w3.org/2000/svg}"
WICKED = "<script>alert(1)</script> & \u202e\x1b[31m"


def row(name="women", estimate=3.0, low=1.0, high=5.0, **more):
    return PictureRow(name, "gender", estimate, low, high, "▲ worse", "biased", **more)


def drawn(*rows, **words):
    given = {"title": "gpt2", "sentence": "Worse for women.", "what": "points", "foot": "evenhand", **words}
    return ElementTree.fromstring(picture_svg(Picture(rows=rows, **given)))


def test_points_stand_where_the_scale_has_them():
    tree = drawn(row("a", 0.0, None, None, null=0.0), row("b", 10.0, None, None), row("c", 5.0, None, None))
    across = [float(dot.get("cx")) for dot in tree.iter(f"{SVG}circle")]
    assert across[2] == pytest.approx((across[0] + across[1]) / 2)
    ticks = {
        text.text: float(text.get("x"))
        for text in tree.iter(f"{SVG}text")
        if text.get("text-anchor") == "middle"
    }
    assert ticks["0"] == across[0] and ticks["10"] == across[1]


def test_it_stands_by_itself_and_texts_are_texts():
    tree = drawn(row(WICKED), title=WICKED, sentence=WICKED * 40)
    assert (tree.get("width"), tree.get("height")) == (str(WIDTH), str(HEIGHT))
    assert {element.tag.removeprefix(SVG) for element in tree.iter()} <= {
        "svg",
        "title",
        "rect",
        "text",
        "line",
        "circle",
    }
    told = "".join(tree.itertext())
    assert "<script>" in told and "\x1b" not in told and "\u202e" not in told
    for element in tree.iter():
        assert 0 <= float(element.get("x", 0)) <= WIDTH and 0 <= float(element.get("y", 0)) <= HEIGHT
        assert not any(name.startswith("on") or name in ("href", "class") for name in element.attrib)


def test_only_so_many_rows_are_drawn_and_rows_keep_apart():
    tree = drawn(*(row(f"group {i}", float(i), i - 1.0, i + 1.0) for i in range(40)))
    down = sorted(float(dot.get("cy")) for dot in tree.iter(f"{SVG}circle"))
    assert len(down) == MOST_ROWS
    assert min(second - first for first, second in pairwise(down)) > 30


def test_a_row_without_a_number_says_so():
    tree = drawn(row("nobody", None, None, None))
    assert list(tree.iter(f"{SVG}circle")) == [] and "–" in [text.text for text in tree.iter(f"{SVG}text")]


def test_png_without_its_library_says_what_to_install_and_what_needs_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UsageError, match="resvg-py") as told:
        write_picture(Picture("m", "s", "w", (row(),)), tmp_path / "slide.png")
    assert "evenhand[pictures]" in told.value.hint and "--svg" in told.value.hint


def test_png_is_as_large_as_the_drawing(tmp_path):
    pytest.importorskip("resvg_py", reason="resvg-py is not installed")
    content = write_picture(Picture("m", "s", "w", (row(),)), tmp_path / "slide.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert [int.from_bytes(content[at : at + 4]) for at in (16, 20)] == [WIDTH, HEIGHT]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"\.svg or \.png"):
        write_picture(Picture("m", "s", "w", (row(),)), tmp_path / "slide.jpg")


def marks_of_nulls(*nulls):
    """Return the ends of the vertical marks in the ink of the null within the plot."""
    tree = drawn(*(row(f"group {place}", null=null) for place, null in enumerate(nulls)))
    upright = [
        line for line in tree.iter(f"{SVG}line")
        if line.get("x1") == line.get("x2") and line.get("stroke") == INK
    ]  # fmt: skip
    return [tuple(float(line.get(end)) for end in ("x1", "y1", "y2")) for line in upright]


def test_one_null_is_one_straight_line_and_different_nulls_are_ticks_that_do_not_touch():
    ((_, top, floor),) = marks_of_nulls(0.0, 0.0, 0.0)
    assert floor - top > 2 * 50  # across all rows
    key, *ticks = marks_of_nulls(-0.1, 0.1, 0.0)
    assert len(ticks) == 3 and key[1] > ticks[-1][2]
    assert all(first[2] < second[1] for first, second in pairwise(ticks))
