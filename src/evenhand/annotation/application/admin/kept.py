"""Cache of numbers that are too slow for a page request: a background thread recomputes them."""

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from evenhand.annotation.application.protection import without_values

T = TypeVar("T")
REST = 30.0
"""Numbers are cached for at least this many times the time that computing them took."""
log = logging.getLogger("evenhand.annotation")


class CachedResult(Generic[T]):
    """The last result of a function and its age; only one thread at a time calls the function."""

    def __init__(
        self, compute: Callable[[], T], *, fresh: float = 0.0, clock: Callable[[], float] = time.monotonic
    ):
        self.compute = compute
        self.fresh = fresh
        """Seconds for which a result is reused before it is recomputed."""
        self.clock = clock
        self._lock = threading.Lock()
        self._last: tuple[float, float, T] | None = None  # start time, duration, and result
        self._under_way: threading.Thread | None = None

    def look(self, patience: float) -> tuple[T | None, float]:
        """Return the last result and its age in seconds; None while the first one is computed.

        patience: seconds to wait for a new result if the last one is no longer fresh.
        """
        with self._lock:
            if self._under_way is None and self._is_stale():
                self._under_way = threading.Thread(target=self._compute, daemon=True, name="kept")
                self._under_way.start()
            under_way = self._under_way
        if under_way is not None:
            under_way.join(patience)
        with self._lock:
            return (None, math.inf) if self._last is None else (self._last[2], self.clock() - self._last[0])

    def _is_stale(self) -> bool:
        if self._last is None:
            return True
        began, took, _ = self._last
        # a result that is computed within the time of a page may be recomputed for each page
        kept = max(self.fresh, REST * took if took > 0.02 else 0.0)
        return self.clock() - began >= kept

    def _compute(self) -> None:
        began, start = self.clock(), time.monotonic()
        try:
            found = self.compute()
            with self._lock:
                self._last = began, time.monotonic() - start, found
        except Exception as error:
            log.error("numbers of the overview could not be computed\n%s", without_values(error))
        finally:
            with self._lock:
                self._under_way = None
