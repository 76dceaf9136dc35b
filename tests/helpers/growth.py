"""Show that the time of a piece of work grows with its input, and not with the square of its input."""

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

TIMES = 8
"""Size of the large input divided by the size of the small one."""
MOST = 24.0
"""Maximum ratio of the times. Linear work reaches about 8, quadratic work about 64."""
SHORTEST = 0.02
"""Minimum seconds of one measurement. Shorter work is repeated."""
ATTEMPTS = 6


def assert_grows_linearly(work: Callable[[T], object], make_input: Callable[[int], T], size: int) -> None:
    """Assert that work on an input of `size` takes at most MOST times as long as on one of an eighth of the size.

    Only the ratio of two process times counts, so a slow or busy machine does not matter. Each size counts with its
    best time so far, and the first ratio that is small enough passes.

    Args:
        work: what is measured. It is called with each input several times.
        make_input: returns the input of a given size.
        size: size of the large input. Choose it so large that quadratic work takes at least 20 ms on an eighth of it,
            and so small that both inputs fit into the cache of the processor.
    """
    small, large = make_input(size // TIMES), make_input(size)
    work(small)  # imports and caches count for neither size
    best_small = best_large = float("inf")
    for _ in range(ATTEMPTS):
        best_small = min(best_small, _seconds(work, small))
        best_large = min(best_large, _seconds(work, large))
        if best_large < MOST * best_small:
            return
    raise AssertionError(
        f"{TIMES} times the input took {best_large / best_small:.0f} times as long "
        f"({best_small:.4f} s and {best_large:.4f} s); expected less than {MOST:.0f} times."
    )


def _seconds(work: Callable[[T], object], given: T) -> float:
    """Return the process time of one call, as the mean of calls that take SHORTEST together."""
    calls, spent = 0, 0.0
    with _without_collection():
        began = time.process_time()
        while spent < SHORTEST:
            work(given)
            calls, spent = calls + 1, time.process_time() - began
    return spent / calls


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Switch garbage collection off: it looks through the objects of all earlier tests."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
