"""Choose the trial that becomes the model: by bias and perplexity, or by the published criterion."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.mitigations.training import BIAS, PERPLEXITY, WHOLE
from evenhand.studies.debias.options import Criterion, no_p

CRITERIA: dict[Criterion, str] = {
    "bias": "the smallest bias among the trials within the guard",
    "pareto": "among the trials within the guard the one nearest to no bias at no cost, all of the model's bias "
    "counting as much as all of the guard",
    "published": "the largest p of the paired t-test on all validation pairs (RedditBias)",
}
WEIGHT = "weight"
"""The option of a method that is the weight of its debiasing term: at 0, a trial is a control."""
P = f"{WHOLE}p"


@dataclass(frozen=True)
class Tried:
    """A finished trial.

    ``name`` is that of its folder. ``setting`` has the options that it varies. ``watched`` are values of the trained
    model on validation texts (see `HalvedValidation`), or None if not finite. ``failed`` is the reason if there is no
    model.
    """

    name: str
    setting: Mapping[str, Any]
    watched: Mapping[str, float | None]
    failed: str | None = None

    @property
    def is_control(self) -> bool:
        """Return True if the trial only learned the texts, without a debiasing term."""
        return self.setting.get(WEIGHT) == 0

    def value(self, name: str) -> float:
        """Return a monitored value by name; NaN if it is missing."""
        found = self.watched.get(name)
        return math.nan if found is None or self.failed is not None else float(found)


@dataclass(frozen=True)
class Choice:
    """Positions of trials: the chosen one, and without a choice the one that came nearest to the guard."""

    chosen: int | None
    nearest: int | None


def pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Return True for points that no other point dominates: none is smaller in one number and not larger in the other.

    Equal points are all on the front. A point with NaN is never on it. `points` have two numbers each, both better if
    small.

    Examples
    --------
    >>> pareto_front([(1.0, 3.0), (2.0, 2.0), (2.0, 3.0), (3.0, 1.0)])
    [True, True, False, True]
    """
    front = [False] * len(points)
    known = [i for i, point in enumerate(points) if all(map(math.isfinite, point))]
    lowest, last = math.inf, (math.nan, math.nan)
    for i in sorted(known, key=lambda i: points[i]):
        if points[i][1] < lowest or points[i] == last:
            front[i], lowest, last = True, points[i][1], points[i]
    return front


def choose(
    trials: Sequence[Tried], base: Mapping[str, float | None], criterion: Criterion, guard: float
) -> Choice:
    """Return the trial that becomes the model.

    `base` has the values of the original model on the same texts. `guard` is the largest perplexity as a multiple of
    the original one; it does not apply to the published criterion, which does not use perplexity. Controls and failed
    trials are never chosen. If trials are tied, the one with lower perplexity is chosen, then the earlier one. Raises
    UsageError for the published criterion if the bias has no pairs to test. Source of the published criterion:
    RedditBias, section 5.1, and its released program of the grid search.

    >>> trials = [Tried("01", {}, {"bias": 0.2, "perplexity": 9.0}), Tried("02", {}, {"bias": 0.4, "perplexity": 5.1})]
    >>> choose(trials, {"bias": 1.0, "perplexity": 5.0}, "bias", 1.05)
    Choice(chosen=1, nearest=1)
    """
    able = [i for i, one in enumerate(trials) if not one.is_control and math.isfinite(cost(one, base))]
    able = [i for i in able if math.isfinite(trials[i].value(BIAS))]
    if criterion == "published":
        if able and not any(P in trials[i].watched for i in able):
            raise no_p()
        tested = [i for i in able if math.isfinite(trials[i].value(P))]
        best = min(tested, key=lambda i: (-trials[i].value(P), trials[i].value(PERPLEXITY), i), default=None)
        return Choice(best, best)
    within = [i for i in able if cost(trials[i], base) <= guard]
    nearest = min(able, key=lambda i: (cost(trials[i], base), trials[i].value(BIAS), i), default=None)

    def rank(i: int) -> tuple[float, ...]:
        one = trials[i]
        far = one.value(BIAS) if criterion == "bias" else distance(one, base, guard)
        return far, one.value(BIAS), one.value(PERPLEXITY), i

    best = min(within, key=rank, default=None)
    return Choice(best, nearest if best is None else best)


def chosen_on(criterion: str) -> str:
    """Return the prefix of the values that a criterion uses: those of all texts, or of the half for the choice.

    >>> chosen_on("bias"), chosen_on("published")
    ('', 'whole_')
    """
    return WHOLE if criterion == "published" else ""


def cost(one: Tried, base: Mapping[str, float | None], texts: str = "") -> float:
    """Return the perplexity of a trial relative to the model's; NaN if unknown. `texts` is as in `chosen_on`."""
    before = base.get(texts + PERPLEXITY)
    return one.value(texts + PERPLEXITY) / before if before else math.nan


def distance(one: Tried, base: Mapping[str, float | None], guard: float) -> float:
    """Return the distance from no bias at no cost: the remaining share of the bias and the used share of the guard.

    A perplexity below that of the original model does not count as an advantage.

    >>> distance(Tried("01", {}, {"bias": 0.3, "perplexity": 10.4}), {"bias": 1.0, "perplexity": 10.0}, 1.1)
    0.5
    """
    before = base.get(BIAS)
    left = one.value(BIAS) / before if before else one.value(BIAS)
    more = max(0.0, cost(one, base) - 1)
    return round(math.hypot(left, more / (guard - 1) if more else 0.0), 12)
