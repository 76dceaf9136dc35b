"""Batches hold what they may, waste little on padding, and lose no row."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.schema import UsageError
from evenhand.weights.batching import Budget, run_batches

ROWS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(1, 5)), min_size=1, max_size=40)


@given(ROWS, st.integers(1, 200), st.integers(1, 20), st.booleans(), st.integers(0, 120))
def test_every_row_is_run_once_within_the_budget(rows, tokens, most_targets, equal_lengths, memory):
    """memory: padded tokens beyond which a batch fails."""
    table = np.array(rows, dtype=np.int64)
    lengths, targets = table[:, :2], table[:, 2]
    done: list[int] = []
    budget = Budget(tokens, most_targets, equal_lengths)

    def run(batch: np.ndarray) -> None:
        size = int(lengths[batch].max(axis=0).sum()) * len(batch)
        assert len(batch) == 1 or (size <= tokens and targets[batch].sum() <= most_targets)
        assert not equal_lengths or (lengths[batch] == lengths[batch[0]]).all()
        if size > memory:
            raise MemoryError
        done.extend(batch.tolist())

    failed = run_batches(lengths, targets, budget, run)
    assert sorted(done + failed) == list(range(len(rows)))
    assert set(failed) == {i for i in range(len(rows)) if lengths[i].sum() > memory}
    assert budget.halvings == sorted(budget.halvings, reverse=True)
    assert lengths[done, -1].tolist() == sorted(lengths[done, -1].tolist(), reverse=True)


def test_rows_of_similar_length_share_a_batch():
    lengths = np.random.default_rng(0).integers(1, 60, size=2000)
    budget = Budget(tokens=1000, most_targets=10**6)
    run_batches(lengths, np.ones_like(lengths), budget, lambda rows: None)
    assert budget.tokens_run < 1.1 * lengths.sum()
    assert budget.batches < 1.2 * lengths.sum() / 1000


def test_the_budget_stays_halved_and_other_errors_pass():
    budget = Budget(tokens=64, most_targets=64)

    def run(rows: np.ndarray) -> None:
        if len(rows) > 5:
            raise RuntimeError("MPS backend out of memory (as the test wants it)")

    assert run_batches(np.full(40, 2), np.ones(40, dtype=np.int64), budget, run) == []
    assert budget.tokens <= 16 and budget.batches >= 8 and budget.tokens_run == 80

    def broken(rows: np.ndarray) -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(UsageError, match="`--batch-tokens` must be at least 1, got 0"):
        Budget(tokens=0, most_targets=1)
    with pytest.raises(RuntimeError, match="shapes"):
        run_batches(np.full(4, 2), np.ones(4, dtype=np.int64), budget, broken)
