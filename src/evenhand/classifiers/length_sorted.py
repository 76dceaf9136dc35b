"""Length-sorted batches: longest first, filled by padded tokens, halved when memory runs out."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import UsageError

Rows = NDArray[np.int64]
SIGNS = ("out of memory", "can't allocate memory", "not enough memory")


@dataclass
class BatchHistory:
    """What a classifier has run so far; `tokens` is what a batch may still hold."""

    tokens: int
    batches: int = 0
    tokens_run: int = 0
    halvings: list[int] = field(default_factory=list)


def run_length_sorted(
    lengths: Rows, history: BatchHistory, run: Callable[[Rows], None], *, pad: bool = True
) -> list[int]:
    """Call `run` with the rows of one batch after another until all have been run.

    lengths: (n,) tokens of each row. history: padded tokens a batch may hold, and what was run. pad: whether
    rows of different lengths may share a batch. Returns the rows that do not fit in memory even alone. Errors
    other than memory errors pass through.

    >>> batches = []
    >>> run_length_sorted(np.array([2, 4, 3]), BatchHistory(8), lambda rows: batches.append(rows.tolist()))
    []
    >>> batches
    [[1, 2], [0]]
    """
    if history.tokens < 1:
        raise UsageError("A batch must hold at least one token.")
    order = np.argsort(-lengths, kind="stable")
    failed: list[int] = []
    first = 0
    while first < len(order):
        longest = max(1, int(lengths[order[first]]))
        rows = order[first : first + max(1, history.tokens // longest)]
        if not pad:
            rows = rows[lengths[rows] == lengths[order[first]]]
        try:
            run(rows)
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            _release_memory()
            if len(rows) == 1:
                failed.append(int(rows[0]))
                first += 1
                continue
            history.tokens = max(1, len(rows) * longest // 2)
            history.halvings.append(history.tokens)
            continue
        history.batches += 1
        history.tokens_run += len(rows) * longest
        first += len(rows)
    return failed


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    import torch

    # The processor's allocator raises a plain RuntimeError.
    return isinstance(error, torch.OutOfMemoryError) or any(sign in str(error).lower() for sign in SIGNS)


def _release_memory() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
