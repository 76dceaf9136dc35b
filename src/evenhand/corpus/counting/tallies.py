"""Accumulators of small codes: how often each was seen, dense where there are few, sparse where there are many."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

WAITING = 1 << 21
"""Codes that wait before they are counted together: 16 MB."""
AT_ONCE = 1 << 20
"""Pairs that are laid out at once."""

Codes = NDArray[np.int64]


class Tally:
    """How often each code 0 ... size-1 was added."""

    def __init__(self, size: int):
        self._counts = np.zeros(size, dtype=np.int64)
        self._waiting: list[Codes] = []
        self._codes = 0

    def add(self, codes: Codes) -> None:
        """Count some codes more. codes: (any,)."""
        self._waiting.append(codes)
        self._codes += len(codes)
        if self._codes > max(WAITING, len(self._counts)):
            self._settle()

    def counts(self) -> NDArray[np.int64]:
        """(size,) of each code."""
        self._settle()
        return self._counts

    def _settle(self) -> None:
        if self._waiting:
            self._counts += np.bincount(np.concatenate(self._waiting), minlength=len(self._counts))
        self._waiting, self._codes = [], 0


class SparseTally:
    """How often each code of very many was added, of which few are: two sorted arrays, and what waits for them."""

    def __init__(self, size: int):
        self._type: Any = (
            np.uint32 if size <= 1 << 32 else np.int64
        )  # half the memory, and sorted in half the time
        self._codes: NDArray[Any] = np.zeros(0, dtype=self._type)
        self._counts = np.zeros(0, dtype=np.int64)
        self._waiting: list[NDArray[Any]] = []
        self._held = 0

    def add(self, codes: Codes) -> None:
        """Count some codes more. codes: (any,)."""
        self._waiting.append(codes.astype(self._type))
        self._held += len(codes)
        if self._held > WAITING:
            self._settle()

    def counts(self) -> tuple[Codes, NDArray[np.int64]]:
        """Codes that were seen, sorted, and how often: two arrays (codes,)."""
        self._settle()
        return self._codes.astype(np.int64), self._counts

    def _settle(self) -> None:
        if not self._waiting:
            return
        waiting = np.concatenate(self._waiting)
        waiting.sort()
        self._waiting, self._held = [], 0
        starts = starts_of(waiting)
        codes, counts = waiting[starts], np.diff(starts, append=len(waiting))
        place = np.searchsorted(self._codes, codes)
        known = np.zeros(len(codes), dtype=bool)
        within = place < len(self._codes)
        known[within] = self._codes[place[within]] == codes[within]
        self._counts[place[known]] += counts[known]
        if not known.all():
            self._codes = np.insert(self._codes, place[~known], codes[~known])
            self._counts = np.insert(self._counts, place[~known], counts[~known])


def starts_of(values: NDArray[np.integer]) -> NDArray[np.intp]:
    """Where runs of equal values begin.

    >>> starts_of(np.array([3, 3, 5, 5, 5, 7])).tolist()
    [0, 2, 5]
    """
    if not len(values):
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))


def couples(ends: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Each element with every one behind it up to its own end, some at a time so that memory stays flat.

    ends: (elements,) one past the last partner of each. Yields places of first and of second elements.

    >>> [[a.tolist(), b.tolist()] for a, b in couples(np.array([3, 3, 3, 5, 5]))]
    [[[0, 0, 1, 3], [1, 2, 2, 4]]]
    """
    partners = np.maximum(ends - np.arange(len(ends)) - 1, 0)
    behind = np.cumsum(partners)
    begun = 0
    while begun < len(ends) and behind[-1] > (done := behind[begun - 1] if begun else 0):
        stop = max(int(np.searchsorted(behind, done + AT_ONCE, "right")), begun + 1)
        several = partners[begun:stop]
        first = np.repeat(np.arange(begun, stop), several)
        before = np.repeat(behind[begun:stop] - several - done, several)
        yield first, first + 1 + np.arange(len(first)) - before
        begun = stop
