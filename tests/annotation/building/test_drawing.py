"""A limit spread over cells, held against what evenness means."""

from collections import Counter

from hypothesis import given, strategies as st

from evenhand.annotation.building.drawing import sample_evenly


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    limit=st.integers(1, 40),
    seed=st.integers(0, 3),
)
def test_no_cell_has_two_more_than_another_that_has_any_left(sizes: list[int], limit: int, seed: int) -> None:
    things = [f"{cell}/{number}" for cell, size in enumerate(sizes) for number in range(size)]
    chosen = sample_evenly(things, limit, seed, str, lambda thing: thing.partition("/")[0])
    assert len(chosen) == min(limit, len(things)) == len(set(chosen))
    assert chosen == [thing for thing in things if thing in set(chosen)]
    counts = Counter(thing.partition("/")[0] for thing in chosen)
    unspent = [counts[str(cell)] for cell, size in enumerate(sizes) if counts[str(cell)] < size]
    assert all(max(counts.values()) - count <= 1 for count in unspent)


def test_each_thing_is_as_likely_as_any_other_of_its_cell() -> None:
    things = [f"{n % 2}/{n}" for n in range(10)]
    times = Counter(
        thing for seed in range(400) for thing in sample_evenly(things, 4, seed, str, lambda thing: thing[0])
    )
    # 400 draws of 2 in 5: 160 of each, with a standard deviation of 10.
    assert set(times) == set(things)
    assert all(abs(count - 160) < 40 for count in times.values())
