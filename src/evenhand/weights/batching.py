"""Batches filled by tokens, longest first; when memory runs out the budget halves and the run goes on."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import UsageError

Ints = NDArray[np.int64]
SIGNS = ("out of memory", "can't allocate memory", "not enough memory")


@dataclass
class Budget:
    """How much one batch may hold, and what has been run so far (for the manifest).

    tokens: padded tokens a batch; halved for good when memory runs out. most_targets: scored positions a
    batch, each of which becomes a row of vocabulary size. equal_lengths: never pad, for models whose
    answers change with padding.
    """

    tokens: int
    most_targets: int
    equal_lengths: bool = False
    batches: int = 0
    tokens_run: int = 0
    halvings: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise UsageError("A batch must contain at least one token.")


def run_batches(lengths: Ints, targets: Ints, budget: Budget, run: Callable[[Ints], None]) -> list[int]:
    """Call `run` with the indices of one batch after another until all rows have been run.

    lengths: (n,) or (n, k) tokens a row takes, k > 1 where a row has several sequences that are padded
    separately (encoder and decoder). targets: (n,) scored positions of each row.
    Returns the rows that do not fit in memory even alone. Errors other than memory errors pass through.

    >>> batches = []
    >>> lengths, targets = np.array([2, 4, 3]), np.ones(3, int)
    >>> run_batches(lengths, targets, Budget(8, 9), lambda rows: batches.append(rows.tolist()))
    []
    >>> batches
    [[1, 2], [0]]
    """
    lengths = lengths.reshape(len(lengths), -1)
    order = np.lexsort(lengths.T)[::-1]
    failed: list[int] = []
    first = 0
    while first < len(order):
        count, width = _fits(lengths[order[first:]], targets[order[first:]], budget)
        rows = order[first : first + count]
        try:
            run(rows)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            release_memory()
            if count == 1:
                failed.append(int(rows[0]))
                first += 1
                continue
            budget.tokens = max(1, count * width // 2)
            budget.most_targets = max(1, min(budget.most_targets, int(targets[rows].sum()) // 2))
            budget.halvings.append(budget.tokens)
            continue
        budget.batches += 1
        budget.tokens_run += count * width
        first += count
    return failed


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device or the processor had no memory left.

    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory")), is_out_of_memory(ValueError())
    (True, False)
    """
    if isinstance(error, MemoryError):
        return True
    torch = sys.modules.get("torch")  # where it was never loaded, nothing of it ran out
    if torch is None:
        return False
    # The processor's allocator raises a plain RuntimeError.
    plain = isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in SIGNS)
    return isinstance(error, torch.OutOfMemoryError) or plain


def _fits(lengths: Ints, targets: Ints, budget: Budget) -> tuple[int, int]:
    ahead = slice(0, max(1, budget.tokens // max(1, int(lengths[0].min()))))
    if budget.equal_lengths:
        ahead = slice(0, min(ahead.stop, int((lengths == lengths[0]).all(axis=1).argmin()) or len(lengths)))
    widths = np.maximum.accumulate(lengths[ahead], axis=0).sum(axis=1)
    tokens = widths * np.arange(1, len(widths) + 1)
    fits = (tokens <= budget.tokens) & (np.cumsum(targets[ahead]) <= budget.most_targets)
    count = max(1, int(fits.sum()))  # both grow with every row, so those that fit stand in front
    return count, int(widths[count - 1])


def release_memory() -> None:
    """Give back what a device's allocator keeps for later; nothing on the processor."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
