"""Scales of powers of ten, and what of nothing and of no corpus is drawn."""

import pytest

from evenhand.studies.frequencies.drawings import log_scale, share_svg


@pytest.mark.parametrize(
    ("values", "labels"),
    [([0.5], ("0.10 %", "1.00 %")), ([1.0, 100.0], ("1.00 %", "10 %", "100 %")), ([1e-7, 50.0], None)],
)
def test_ends_are_powers_of_ten(values: list[float], labels: tuple[str, ...] | None) -> None:
    scale = log_scale(values)
    assert scale is not None and len(scale.labels) <= 6
    assert labels is None or scale.labels == labels
    assert 10**scale.scale.low <= min(values) and max(values) <= 10**scale.scale.high * 1.001


def test_nothing_needs_no_scale() -> None:
    assert log_scale([0.0, None, float("nan")]) is None


def test_a_limit_of_nothing_stands_at_the_left_end() -> None:
    scale = log_scale([0.01, 1.0])
    assert scale is not None
    drawn = share_svg(scale, 0.1, 0.0, 1.0, described="x")
    assert drawn.count("<circle") == 1 and f'x1="{scale.scale.at(scale.scale.low)}%"' in drawn
    assert share_svg(scale, 0.0, 0.0, 1.0, described="x").count("<circle") == 0
