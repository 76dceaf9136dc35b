"""Agreement between annotators so far, and how often each side of a pair is chosen."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.annotation.definition import Choice, FreeText, Likert, Marks, PairChoice, Question
from evenhand.annotation.store import CountedAnswer
from evenhand.stats import Interval, MeasurementLevel, krippendorff_alpha, wilson_interval

RESAMPLES = 500
"""Number of resamples of units for the interval: fewer than in the analysis, because it is recomputed often."""


@dataclass(frozen=True)
class Agreement:
    """Agreement on one question so far."""

    question: str
    alpha: Interval | None
    """Krippendorff's alpha over items with at least two judgements. Its interval is over items
    with the annotators fixed, because an interval over both takes seconds for tens of
    thousands of judgements (`crossed_alpha`, in the analysis).
    """
    level: MeasurementLevel | None
    why_not: str | None
    """Why the estimate or its interval is missing."""


@dataclass(frozen=True)
class Sides:
    """How often the left conversation of a pair was chosen."""

    question: str
    left: int
    chosen: int
    """Number of choices of left or right, without ties."""
    share: tuple[float, float] | None
    """Confidence interval of the left share (Wilson, 95%), as if each choice were by another annotator."""


@dataclass(frozen=True)
class Live:
    """Agreement computed from the judgements so far."""

    agreements: tuple[Agreement, ...]
    sides: tuple[Sides, ...]
    answers: int
    """Number of answers to single questions; a vote is all answers of one annotator to one item."""


def live(questions: Sequence[Question], votes: Sequence[CountedAnswer]) -> Live:
    """Return agreement and sides.

    questions: of the study. votes: included judgements of real items so far.
    """
    by_question: dict[str, list[CountedAnswer]] = defaultdict(list)
    for vote in votes:
        by_question[vote.question].append(vote)
    return Live(
        tuple(_agreement(question, by_question[question.id]) for question in questions),
        tuple(_sides(q.id, by_question[q.id]) for q in questions if isinstance(q, PairChoice)),
        len(votes),
    )


def _agreement(question: Question, votes: Sequence[CountedAnswer]) -> Agreement:
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
    """Return how two answers differ (the measurement level), and a function that returns the number of an answer."""
    if isinstance(question, Likert):
        return "interval", float
    if isinstance(question, PairChoice):
        return "nominal", {"a": 0.0, "b": 1.0, "tie": 2.0}.__getitem__
    places = {option.id: float(place) for place, option in enumerate(question.options)}
    return "ordinal" if question.ordered else "nominal", places.__getitem__


def _sides(question: str, votes: Sequence[CountedAnswer]) -> Sides:
    chosen = [vote for vote in votes if vote.answer in ("a", "b")]
    left = sum(vote.answer == vote.left for vote in chosen)
    if not chosen:
        return Sides(question, 0, 0, None)
    low, high = wilson_interval(left, len(chosen))
    return Sides(question, left, len(chosen), (float(low), float(high)))
