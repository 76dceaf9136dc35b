"""What is asked of workers together: pieces still to be asked, answers that are there, and what went wrong."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from evenhand.runs.cluster.worker import Recipe
from evenhand.schema import EvenhandError

AT_ONCE = 0.75
"""Part of its share of the remaining texts that a free worker receives.

The first pieces are large, so that texts share work and batches stay full. The last are small, so that fast and slow
workers end together.
"""
SMALLEST = 16
"""The smallest piece is this part of a worker's share ..."""
SECONDS = 2.0
"""... and takes about so long, unless a share itself takes less: texts that are asked together share work."""
ALONE = 3
"""Deaths of workers that were asked one text alone, after which it is given up: machines die of other things, too."""
FATAL = "WorkerDied: the worker died each time it was asked this text"

Answers = list[tuple[int, int, Any]]
"""For each piece: the position of its first text, the position after its last, and the response."""


@dataclass
class Span:
    """A piece of what is asked, by the places of its first and behind its last."""

    first: int
    last: int
    deaths: int = 0


@dataclass
class Work:
    """n things asked of one recipe's thing.

    function: answers a piece. piece: its arguments for those from one place to before another. lost: the answer for one
    that is fatal to workers, from a sentence; None: there is none. kept: told, with an error of the user's that ends
    the work, what was answered before it.
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
    def open(self) -> bool:
        """Whether anything lacks an answer that may still come."""
        return self._answered < self.n and self.failed is None

    def next(self) -> Span | None:
        """What a free worker is asked; None where all is asked or something failed.

        The text that a worker died of comes last, so that it does not delay other responses.
        """
        if self.failed is not None:
            return None
        if self._ahead < self.n:
            span = Span(self._ahead, self._end())
            self._ahead = span.last
            return span
        return self._again.popleft() if self._again else None

    def answer(self, span: Span, answer: Any) -> None:
        """Keep the answer to a piece."""
        self._done.append((span.first, span.last, answer))
        self._answered += span.last - span.first

    def died(self, span: Span, reason: str) -> None:
        """Have a piece of which a worker died asked again: as it was, then in halves, until a text stands alone."""
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
        """All answers, by place; raises what failed."""
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
