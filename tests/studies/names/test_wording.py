"""Whether a row is nearer to no difference or farther from it, from every side, and past it."""

from typing import Any

import pytest

from evenhand.studies.names.wording import nearer


def changed(measure: str, base: float, row: float, low: float, high: float) -> dict[str, Any]:
    verdict = "higher" if row > base else "lower"
    limits = {"change_low": low, "change_high": high}
    return {
        "measure": measure,
        "change_from": base,
        "change": row - base,
        "change_verdict": verdict,
        **limits,
    }


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (changed("classifier_bias", 3.0, 1.0, -3.0, -1.0), True),
        (changed("classifier_bias", -3.0, -1.0, 1.0, 3.0), True),
        (changed("classifier_bias", 3.0, 0.0, -5.9, -0.1), True),
        (changed("classifier_bias", 1.0, 2.0, 0.4, 1.6), False),
        # past no difference, and far beyond it
        (changed("classifier_bias", -0.2, 5.0, 4.0, 6.4), False),
        (changed("classifier_bias", 1.0, -6.0, -8.0, -6.0), False),
        (changed("occupation_lean", 2.0, -20.0, -28.0, -16.0), False),
        # about as far on the other side: nothing is settled
        (changed("classifier_bias", 3.0, -2.8, -7.0, -4.6), None),
        # norms: below 0 is as good as 0
        (changed("token_bins", -0.004, 0.30, 0.2, 0.4), False),
        (changed("token_bins", -0.003, 0.240, 0.15, 0.33), False),
        (changed("token_bins", 0.1, -0.3, -0.5, -0.3), True),
        (changed("intersectional_token_bins", -0.1, -0.3, -0.3, -0.1), None),
        (changed("token_bins", -0.3, -0.1, 0.1, 0.3), None),
        # shares: fewer is better wherever they stood
        (changed("offensive", 0.5, 0.1, -0.6, -0.2), True),
        (changed("offensive", 0.0, 0.4, 0.1, 0.7), False),
        # a level of 10 % and an interval of 95 %: the verdict settles the side
        (changed("classifier_bias", 3.0, 1.0, -4.2, 0.2), True),
        (changed("classifier_bias", 3.0, -0.5, -7.2, 0.2), None),
    ],
)
def test_nearer_is_by_the_distance_from_no_difference(cell: dict[str, Any], expected: bool | None) -> None:
    assert nearer(cell) is expected
