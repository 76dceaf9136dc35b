"""A job for several workers: pieces that are still to be sent, results, and failures."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from evenhand.runs.cluster.worker import Recipe
from evenhand.schema import EvenhandError

AT_ONCE = 0.75
"""Share of its part of the remaining texts that a free worker receives.

The first pieces are large, so that texts share work and batches stay full. The last are small, so that fast and slow
workers end together.
"""
SMALLEST = 16
"""A piece is at least this fraction (1 / 16) of a worker's part of all texts."""
SECONDS = 2.0
"""A piece takes at least about this number of seconds (at most a worker's part), because texts in one
piece share work.
"""
ALONE = 3
"""Number of workers that must die on a single text before it is given up; machines also die for other reasons."""
FATAL = "WorkerDied: the worker died each time it was asked this text"

Answers = list[tuple[int, int, Any]]
"""For each piece: the position of its first text, the position after its last, and the response."""


@dataclass
class Span:
    """A piece of a job: position of its first item, and position after its last."""

    first: int
    last: int
    deaths: int = 0


@dataclass
class PoolJob:
    """A job: n items for the object of one recipe.

    function: returns the result for a piece. piece: function that returns the arguments for the items from one position
    to before another. lost: function that returns the result for an item on which workers die, from a message; None:
    there is no such result. kept: called with a user's error that ends the job and the results before it.
    """

    recipe: Recipe
    function: Callable[..., Any]
    piece: Callable[[int, int], tuple[Any, ...]]
    n: int
    workers: int
    rate: float | None = None
    """Texts per second and worker, if known."""
    lost: Callable[[str], Any] | None = None
    kept: Callable[[EvenhandError, Answers], None] | None = None
    failed: Exception | None = None
    _ahead: int = 0
    _again: deque[Span] = field(default_factory=deque)
    _done: Answers = field(default_factory=list)
    _answered: int = 0

    @property
    def is_open(self) -> bool:
        """Return whether results are missing that may still come."""
        return self._answered < self.n and self.failed is None

    def take_piece(self) -> Span | None:
        """Return the next piece for a free worker; None if all are sent or something failed.

        A text on which a worker died comes last, so that it does not delay other results.
        """
        if self.failed is not None:
            return None
        if self._ahead < self.n:
            span = Span(self._ahead, self._end())
            self._ahead = span.last
            return span
        return self._again.popleft() if self._again else None

    def answer(self, span: Span, answer: Any) -> None:
        """Store the result of a piece."""
        self._done.append((span.first, span.last, answer))
        self._answered += span.last - span.first

    def resend(self, span: Span, reason: str) -> None:
        """Send a piece on which a worker died again: first unchanged, then in halves, down to single texts."""
        span.deaths += 1
        alone = span.last - span.first == 1
        if span.deaths > 1 and not alone:
            middle = (span.first + span.last) // 2
            for first, last in ((span.first, middle), (middle, span.last)):
                self._again.append(Span(first, last, 1 if last - first > 1 else 0))
        elif alone and span.deaths == ALONE and self.lost is not None:
            self.answer(span, self.lost(f"{FATAL} ({reason})"))
        else:
            self._again.append(span)

    def answers(self) -> Answers:
        """Return all results in order; raise the error if the job failed."""
        done = sorted(self._done, key=lambda one: one[:2])
        if self.failed is None:
            return done
        if isinstance(self.failed, EvenhandError) and self.kept is not None and done:
            self.kept(self.failed, done)
        raise self.failed

    def _end(self) -> int:
        share = -(-self.n // self.workers)
        left = ceil(AT_ONCE * (self.n - self._ahead) / self.workers)
        worth_it = share if self.rate is None else min(int(self.rate * SECONDS), share)
        return min(self._ahead + max(left, share // SMALLEST, worth_it, 1), self.n)
