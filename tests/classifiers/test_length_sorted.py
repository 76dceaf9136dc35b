"""Length-sorted batches: each row once, within the budget, smaller when memory runs out."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.classifiers.length_sorted import BatchHistory, run_length_sorted
from evenhand.schema import UsageError


@given(
    lengths=st.lists(st.integers(1, 50), max_size=60),
    tokens=st.integers(1, 200),
    memory=st.integers(1, 200),
    pad=st.booleans(),
)
def test_every_row_runs_once_within_budget_and_memory(lengths, tokens, memory, pad):
    sizes = np.array(lengths, dtype=np.int64)
    done: list[int] = []
    history = BatchHistory(tokens)

    def run(rows):
        size = int(sizes[rows].max()) * len(rows)
        assert size <= tokens or len(rows) == 1
        assert pad or len(set(sizes[rows])) == 1
        if size > memory:
            raise MemoryError
        done.extend(rows.tolist())

    failed = run_length_sorted(sizes, history, run, pad=pad)
    assert sorted(done + failed) == list(range(len(lengths)))
    assert set(failed) == {row for row, length in enumerate(lengths) if length > memory}
    assert sizes[done].tolist() == sorted(sizes[done].tolist(), reverse=True)


def test_other_errors_pass():
    def run(rows):
        raise RuntimeError("a fault")

    with pytest.raises(RuntimeError, match="a fault"):
        run_length_sorted(np.array([1]), BatchHistory(8), run)
    with pytest.raises(UsageError, match="at least one token"):
        run_length_sorted(np.array([1]), BatchHistory(0), run)
