"""Outlying pairs against the rule written out."""

import numpy as np
from hypothesis import given, strategies as st

from evenhand.stats import outlying_pairs


def slow(first: list[float], second: list[float], by_value: bool) -> list[bool]:
    outlying = []
    for values in (first, second):
        mean = sum(values) / len(values)
        deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
        outlying.append(
            [value for value in values if value > mean + 3 * deviation or value < mean - 3 * deviation]
        )
    of_first, of_second = (outlying[0] + outlying[1],) * 2 if by_value else outlying
    return [a in of_first or b in of_second for a, b in zip(first, second, strict=True)]


NUMBERS = st.lists(st.tuples(*[st.sampled_from([1.0, 2.0, 3.0, 500.0])] * 2), min_size=1, max_size=40)


@given(NUMBERS)
def test_both_rules_against_a_loop(pairs: list[tuple[float, float]]) -> None:
    first, second = (list(values) for values in zip(*pairs, strict=True))
    for by_value in (False, True):
        found = outlying_pairs(np.array(first), np.array(second), by_value=by_value)
        assert found.tolist() == slow(first, second, by_value)


def test_a_value_that_is_far_out_in_the_other_list_alone() -> None:
    first, second = np.r_[np.ones(30), 9.0, 1.0], np.r_[np.full(16, 5.0), np.full(14, 12.0), 5.0, 9.0]
    assert np.flatnonzero(outlying_pairs(first, second)).tolist() == [30]
    assert np.flatnonzero(outlying_pairs(first, second, by_value=True)).tolist() == [30, 31]
