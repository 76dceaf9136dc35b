"""Accumulators of integer codes: dense arrays for few possible codes, sparse ones for many."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

WAITING = 1 << 17
"""Minimum number of codes that are buffered before they are counted: 1 MB."""
SPARSE_WAITING = 1 << 21
"""The same for codes that must be sorted: 8 or 16 MB."""
WIDEST = (1 << 32) - 1
"""Largest count that fits in four bytes."""
AT_ONCE = 1 << 20
"""Number of pairs that are computed at a time."""

Codes = NDArray[np.int64]


class Tally:
    """Counts of the codes 0 to size - 1."""

    def __init__(self, size: int):
        self._counts = np.zeros(size, dtype=np.int64)
        self._waiting: list[Codes] = []
        self._codes = 0

    def add(self, codes: Codes) -> None:
        """Add some codes. codes: (any,)."""
        self._waiting.append(codes)
        self._codes += len(codes)
        if self._codes > max(WAITING, len(self._counts)):
            self._settle()

    def counts(self) -> NDArray[np.int64]:
        """Return the count of each code, (size,)."""
        self._settle()
        return self._counts

    def _settle(self) -> None:
        if self._waiting:
            self._counts += np.bincount(np.concatenate(self._waiting), minlength=len(self._counts))
        self._waiting, self._codes = [], 0


class SparseTally:
    """Count few distinct codes out of very many possible ones, in two sorted arrays with a buffer.

    size: the largest code plus one. wanted: function that returns which codes to keep; it is called from time to time.
    """

    def __init__(self, size: int, wanted: Callable[[Codes], NDArray[np.bool_]]):
        # half the memory, and half the time to sort
        self.type: Any = np.uint32 if size <= 1 << 32 else np.int64
        self._wanted = wanted
        self._codes: NDArray[Any] = np.zeros(0, dtype=self.type)
        # converted to a wider type when a count needs it
        self._counts: NDArray[Any] = np.zeros(0, dtype=np.uint32)
        self._waiting: list[NDArray[Any]] = []
        self._held = 0

    def add(self, codes: NDArray[Any]) -> None:
        """Add some codes. codes: (any,) of `type`."""
        self._waiting.append(codes)
        self._held += len(codes)
        if self._held > SPARSE_WAITING:
            self._settle()

    def counts(self, first: int, last: int) -> tuple[Codes, Codes]:
        """Return the codes from first to last - 1 that occurred, sorted, and their counts: two arrays (codes,)."""
        self._settle()
        some = slice(*(int((self._codes < edge).sum()) for edge in (first, last)))
        return self._codes[some].astype(np.int64), self._counts[some].astype(np.int64)

    def _settle(self) -> None:
        if not self._waiting:
            return
        waiting = np.concatenate(self._waiting)
        waiting.sort()
        self._waiting, self._held = [], 0
        starts = find_run_starts(waiting)
        codes, counts = waiting[starts], np.diff(starts, append=len(waiting))
        if len(counts) and int(self._counts.max(initial=0)) + int(counts.max()) > WIDEST:
            self._counts = self._counts.astype(np.int64)
        counts = counts.astype(self._counts.dtype)
        place = np.searchsorted(self._codes, codes)
        known = np.zeros(len(codes), dtype=bool)
        within = place < len(self._codes)
        known[within] = self._codes[place[within]] == codes[within]
        self._counts[place[known]] += counts[known]
        new = np.flatnonzero(~known)
        new = new[self._wanted(codes[new].astype(np.int64))]
        if len(new):
            self._codes = np.insert(self._codes, place[new], codes[new])
            self._counts = np.insert(self._counts, place[new], counts[new])


def find_run_starts(values: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the starts of runs of equal values.

    >>> find_run_starts(np.array([3, 3, 5, 5, 5, 7])).tolist()
    [0, 2, 5]
    """
    new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return np.flatnonzero(new)


def sums(ends: NDArray[np.intp], first: NDArray[Any], second: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield `first` of each element plus `second` of every later one up to its end, in parts with limited memory.

    ends: (elements,) position after the last partner of each element. first, second: (elements,).

    >>> ends, tens, ones = np.array([3, 3, 3, 4]), np.array([10, 20, 30, 40]), np.array([1, 2, 3, 4])
    >>> [several.tolist() for several in sums(ends, tens, ones)]
    [[12, 13, 23]]
    """
    partners = np.maximum(ends - np.arange(1, len(ends) + 1), 0)
    behind = np.cumsum(partners)
    begun, done = 0, 0
    while len(ends) and done < behind[-1]:
        stop = max(int(np.searchsorted(behind, done + AT_ONCE, "right")), begun + 1)
        several = partners[begun:stop]
        total = int(behind[stop - 1]) - done
        next_to = np.arange(begun + 1, stop + 1) - (behind[begun:stop] - several - done)
        places = np.repeat(next_to, several)
        places += np.arange(total)
        codes = np.repeat(first[begun:stop], several)
        codes += second[places]
        yield codes
        begun, done = stop, done + total
