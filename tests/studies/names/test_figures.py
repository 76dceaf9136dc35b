"""Figures: where dots and lines stand, and what is left out."""

import re

import polars as pl

from evenhand.studies.names.figures import draw_legend, levels_chart, occupations_svg, turns_svg


def test_occupations_stand_where_their_shares_are() -> None:
    table = pl.DataFrame(
        {
            "occupation": ["nurse", "plumber", "baker"],
            "share": [90.0, 2.0, 50.0],
            "share_said": [80.0, 10.0, None],
        }
    )
    drawn = str(occupations_svg(table, "occupations", 1))
    dots = re.findall(r'<circle class="row1" cx="([\d.]+)%" cy="([\d.]+)"', drawn)
    assert len(dots) == 2  # what nobody mentions has no place
    (left, low), (right, high) = sorted((float(x), float(y)) for x, y in dots)
    assert left < right and low > high  # more women at work to the right, more said with women's names above
    assert "nurse" in drawn and "baker" not in drawn
    assert occupations_svg(table.with_columns(share_said=pl.lit(None, pl.Float64)), "none") is None


def test_no_label_of_an_occupation_is_far_from_its_dot() -> None:
    jobs = [f"occupation {number}" for number in range(8)]
    table = pl.DataFrame(
        {"occupation": jobs, "share": [50.0] * 8, "share_said": [50.0 + i / 10 for i in range(8)]}
    )
    drawn = str(occupations_svg(table, "crowded"))
    heights = [float(y) for y in re.findall(r'<circle class="row0" cx="[\d.]+%" cy="([\d.]+)"', drawn)]
    labels = re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>occupation', drawn)
    assert len(heights) == 8 and 1 <= len(labels) < 8  # those without a free place nearby are left out
    assert all(min(abs(float(y) - height) for height in heights) <= 30 for y in labels)


def test_the_chart_at_the_top_shows_each_difference_with_its_interval() -> None:
    found = {"estimate": 3.0, "low": 1.0, "high": 5.0}
    clear = {"estimate": 0.5, "low": -1.0, "high": 2.0}
    drawn = str(levels_chart([("<b>", found, "3.00"), ("names", clear, "0.50")]))
    assert "&lt;b&gt;" in drawn and "<b>" not in drawn
    first, second = re.findall(r"<tr><th.*?</tr>", drawn, re.DOTALL)
    assert "hollow" not in first and "hollow" in second  # hollow: the interval contains 0


def test_a_line_for_each_row_and_speaker() -> None:
    turns = pl.DataFrame(
        {"turn": [2, 3, 4, 5], "speaker": ["B", "A", "B", "A"], "estimate": [4.0, 2.0, 1.0, None]}
    )
    drawn = str(turns_svg({"original": turns, "other": turns}, "B", "bias by turn"))
    assert (
        len(re.findall(r"<circle class=\"row0\"", drawn))
        == len(re.findall(r"<circle class=\"row1\"", drawn))
        == 2
    )
    assert len(re.findall(r"<line class=\"row0\"", drawn)) == 1
    assert turns_svg({"original": turns.clear()}, "A", "none") is None
    assert "&lt;b&gt;" in str(draw_legend(["<b>"]))
