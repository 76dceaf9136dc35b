"""How far people agree so far, and how often each side is chosen: computed beside the pages, kept for some seconds."""

import logging
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.annotation.definition import Choice, FreeText, Likert, Marks, PairChoice, Question
from evenhand.annotation.store import Counted, Store, counted
from evenhand.stats import Interval, MeasurementLevel, krippendorff_alpha, wilson_interval

FRESH = 10.0
"""Seconds for which numbers are shown again before new ones are computed."""
PATIENCE = 0.03
"""Seconds that a page waits for new numbers before it shows the last ones."""
RESAMPLES = 500
"""Of units, for the interval: less than in the analysis, since it is computed again and again."""
log = logging.getLogger("evenhand.annotation")


@dataclass(frozen=True)
class Agreement:
    """Agreement on one question so far."""

    question: str
    alpha: Interval | None
    """Krippendorff's, over items with two votes or more."""
    level: MeasurementLevel | None
    why_not: str | None
    """Why there is no number, or no interval."""


@dataclass(frozen=True)
class Sides:
    """How often the left one of a pair was chosen."""

    question: str
    left: int
    chosen: int
    """Left or right; ties are not among them."""
    share: tuple[float, float] | None
    """Limits of the left one's share (Wilson, 95 %), as if each choice were another person's."""


@dataclass(frozen=True)
class Live:
    """What the votes say so far."""

    agreements: tuple[Agreement, ...]
    sides: tuple[Sides, ...]
    votes: int


class LiveAgreement:
    """The numbers of one study, computed in a thread of their own; a page never waits for them for long."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic):
        self.store = store
        self.clock = clock
        self._lock = threading.Lock()
        self._last: tuple[float, Live] | None = None
        self._under_way: threading.Thread | None = None

    def look(self, patience: float = PATIENCE) -> tuple[Live | None, float]:
        """The numbers, and how many seconds old they are; None while the first are computed."""
        with self._lock:
            stale = self._last is None or self.clock() - self._last[0] > FRESH
            if stale and self._under_way is None:
                self._under_way = threading.Thread(target=self._compute, daemon=True, name="agreement")
                self._under_way.start()
            under_way = self._under_way
        if under_way is not None:
            under_way.join(patience)
        with self._lock:
            if self._last is None:
                return None, math.inf
            return self._last[1], self.clock() - self._last[0]

    def _compute(self) -> None:
        began = self.clock()
        try:
            found = live(self.store.study.questions, counted(self.store))
            with self._lock:
                self._last = began, found
        except Exception:
            log.exception("agreement could not be computed")
        finally:
            with self._lock:
                self._under_way = None


def live(questions: Sequence[Question], votes: Sequence[Counted]) -> Live:
    """Agreement and sides.

    questions: of the study. votes: those that count so far, of real items.
    """
    by_question: dict[str, list[Counted]] = defaultdict(list)
    for vote in votes:
        by_question[vote.question].append(vote)
    return Live(
        tuple(_agreement(question, by_question[question.id]) for question in questions),
        tuple(_sides(q.id, by_question[q.id]) for q in questions if isinstance(q, PairChoice)),
        len(votes),
    )


def _agreement(question: Question, votes: Sequence[Counted]) -> Agreement:
    if isinstance(question, FreeText):
        return Agreement(question.id, None, None, "free texts have no agreement")
    if isinstance(question, Marks):
        return Agreement(question.id, None, None, "marks are compared turn by turn in the analysis")
    level, value = _scale(question)
    ratings: dict[str, list[float]] = defaultdict(list)
    for vote in votes:
        if vote.answer is not None:
            ratings[vote.item].append(value(vote.answer))
    several = [given for given in ratings.values() if len(given) > 1]
    if not several:
        return Agreement(question.id, None, level, "no item has two votes yet")
    table = np.full((max(map(len, several)), len(several)), np.nan)
    for unit, given in enumerate(several):
        table[: len(given), unit] = given
    alpha = krippendorff_alpha(table, level, resamples=RESAMPLES)
    if math.isnan(alpha.estimate):
        return Agreement(question.id, None, level, "everybody gave the same answer to everything")
    why = "too few yet for an interval" if math.isnan(alpha.low) else None
    return Agreement(question.id, alpha, level, why)


def _scale(question: PairChoice | Choice | Likert) -> tuple[MeasurementLevel, Callable[[str], float]]:
    """How two answers differ, and the number of an answer."""
    if isinstance(question, Likert):
        return "interval", float
    if isinstance(question, PairChoice):
        return "nominal", {"a": 0.0, "b": 1.0, "tie": 2.0}.__getitem__
    places = {option.id: float(place) for place, option in enumerate(question.options)}
    return "ordinal" if question.ordered else "nominal", places.__getitem__


def _sides(question: str, votes: Sequence[Counted]) -> Sides:
    chosen = [vote for vote in votes if vote.answer in ("a", "b")]
    left = sum(vote.answer == vote.left for vote in chosen)
    if not chosen:
        return Sides(question, 0, 0, None)
    low, high = wilson_interval(left, len(chosen))
    return Sides(question, left, len(chosen), (float(low), float(high)))
