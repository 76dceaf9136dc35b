"""Batches limited by tokens, longest rows first; if memory runs out, the limit is halved and the run continues."""

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
    """The maximum size of a batch, and the number of batches so far (for the manifest).

    Attributes
    ----------
    tokens : int
        Padded tokens per batch. Halved permanently if memory runs out.
    most_targets : int
        Scored positions per batch. Each becomes a row of the size of the vocabulary.
    equal_lengths : bool, default False
        Never pad, for models whose results change with padding.
    batches, tokens_run : int
        Number of batches and tokens so far.
    halvings : list of int
        Sizes after each halving.
    """

    tokens: int
    most_targets: int
    equal_lengths: bool = False
    batches: int = 0
    tokens_run: int = 0
    halvings: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise UsageError(
                f"`--batch-tokens` must be at least 1, got {self.tokens}.", "For example: --batch-tokens 4096"
            )


def run_batches(lengths: Ints, targets: Ints, budget: Budget, run: Callable[[Ints], None]) -> list[int]:
    """Call a function with the indices of one batch after another, until all rows are done.

    Parameters
    ----------
    lengths : numpy.ndarray of int, shape (n,) or (n, k)
        Tokens of each row. k > 1 if a row has several sequences that are padded separately (encoder and
        decoder).
    targets : numpy.ndarray of int, shape (n,)
        Scored positions of each row.
    budget : Budget
        Maximum size of a batch.
    run : callable
        Called with the indices of the rows of each batch.

    Returns
    -------
    list of int
        Rows that do not fit in memory even alone. Errors other than memory errors are raised.

    Examples
    --------
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
    """Return whether an error means that a device or the processor had no memory left.

    Examples
    --------
    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory")), is_out_of_memory(ValueError())
    (True, False)
    """
    if isinstance(error, MemoryError):
        return True
    torch = sys.modules.get("torch")  # if torch was never imported, it cannot have run out of memory
    if torch is None:
        return False
    # the CPU's allocator raises a plain RuntimeError
    plain = isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in SIGNS)
    return isinstance(error, torch.OutOfMemoryError) or plain


def _fits(lengths: Ints, targets: Ints, budget: Budget) -> tuple[int, int]:
    ahead = slice(0, max(1, budget.tokens // max(1, int(lengths[0].min()))))
    if budget.equal_lengths:
        ahead = slice(0, min(ahead.stop, int((lengths == lengths[0]).all(axis=1).argmin()) or len(lengths)))
    widths = np.maximum.accumulate(lengths[ahead], axis=0).sum(axis=1)
    tokens = widths * np.arange(1, len(widths) + 1)
    fits = (tokens <= budget.tokens) & (np.cumsum(targets[ahead]) <= budget.most_targets)
    count = max(1, int(fits.sum()))  # both grow with every row, so the rows that fit are the first ones
    return count, int(widths[count - 1])


def release_memory() -> None:
    """Release memory that a device's allocator has reserved. Does nothing on a CPU."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
