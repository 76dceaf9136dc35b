"""Descriptors as users have them: axes, buckets that are alike, lengths, counts with ties at zero, rare events.

Nothing here knows how a relation is tested.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.stats.associations import RankRelation, rank_relation

Numbers = NDArray[np.float64]
LAYOUTS = {  # sizes of buckets by axis
    "20 descriptors": [[3, 3, 2, 2]] * 2,
    "41 descriptors": [[4] * 5, [5, 5, 5, 6]],
    "100 descriptors": [[6, 5, 4, 4, 3, 3], [10, 6, 4, 4], [8, 8, 5, 3, 1], [10, 6, 6, 4]],
    "a dominating bucket": [[40, *[2] * 8], [6] * 5, [3] * 6],
    "60 alone": [[1] * 20, [1] * 30, [1] * 10],
    "400 descriptors": [[30 // k] * k for k in (6, 7, 8, 9, 3, 5, 6, 1, 4, 8, 10, 3, 5)],
    "700 descriptors": [
        [n // k + 4 * (i % 3) for i in range(k)]
        for n, k in ((120, 7), (70, 6), (130, 9), (70, 8), (20, 3), (60, 5), (24, 6), (8, 1), (20, 3), (40, 9),
                     (36, 12), (30, 3), (30, 5))
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """Descriptors: how often, what of them (n,) or (n, t), what is held equal, and where they belong."""

    often: Numbers
    outcome: Numbers
    controls: Numbers
    axes: NDArray[np.int64]
    buckets: NDArray[np.int64]

    def related(self, level: float = 0.05) -> RankRelation:
        return rank_relation(
            self.often,
            self.outcome,
            strata=self.axes,
            clusters=self.buckets,
            controls=self.controls,
            level=level,
        )


def draw(
    layout: str,
    random: np.random.Generator,
    *,
    alike: float = 0.3,
    effect: float = 0.0,
    skewed: bool = False,
    rare: bool = False,
    never: float = 0.2,
    templates: int = 0,
    slopes: float = 0.0,
) -> Drawn:
    """One data set.

    alike: share of either variance that lies between buckets. effect: of a standard deviation of log frequency on the
    outcome. skewed: outcomes are exponential. rare: they are rates of about 1 %, of numbers of answers that rise with
    frequency. never: about the share that is not found. templates, slopes: outcomes in each, and how much these differ
    in what frequency does.
    Axes differ in both numbers, and length makes descriptors rarer and the outcome larger: neither is a relation.
    """
    axes, buckets = _places(LAYOUTS[layout])
    n = len(axes)
    length = np.maximum(2.0, np.round(random.gamma(6, 1.6, n)))
    long = (length - length.mean()) / length.std()
    common, own = np.sqrt(alike), np.sqrt(1 - alike)
    of_axes = random.normal(size=int(axes.max()) + 1)[axes]
    number = int(buckets.max()) + 1
    frequency = common * random.normal(size=number)[buckets] + own * random.normal(size=n)
    written = -8 + 2 * (frequency - 0.5 * long + of_axes)
    found = random.poisson(np.exp(np.minimum(written - np.quantile(written, never), 12)))
    level = common * random.normal(size=number)[buckets] + own * random.normal(size=n)
    level = level + effect * frequency + 0.5 * long + 1.5 * of_axes
    outcome, controls = level, length[:, None]
    if skewed:
        outcome = np.exp(1.5 * level)
    if rare:
        answers = np.where(random.random(n) < 1 / (1 + np.exp(-1.5 * frequency)), 60, 10)
        rate = 0.01 if not effect else 1 / (1 + np.exp(4.6 - 0.4 * effect * frequency))
        outcome, controls = random.binomial(answers, rate) / answers, np.column_stack([length, answers])
    if templates:
        slope = slopes * random.normal(size=templates)
        noise = random.normal(size=(n, templates)) + random.normal(size=templates)
        outcome = np.asarray(outcome)[:, None] + slope * frequency[:, None] + noise
    return Drawn(found.astype(np.float64), np.asarray(outcome), controls, axes, buckets)


def _places(sizes: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    flat = [(axis, size) for axis, each in enumerate(sizes) for size in each]
    axes = np.repeat([axis for axis, _ in flat], [size for _, size in flat])
    return axes, np.repeat(np.arange(len(flat)), [size for _, size in flat])


def dealt_anew(drawn: Drawn, random: np.random.Generator, deals: int = 199) -> float:
    """p of dealing frequencies among the descriptors of an axis, as if each stood for itself."""
    order = np.argsort(drawn.axes, kind="stable")
    ranks = [
        np.concatenate([_centred(values[drawn.axes == axis]) for axis in np.unique(drawn.axes)])
        for values in (drawn.often, drawn.outcome)
    ]
    axes = drawn.axes[order]
    seen = abs(float(ranks[0] @ ranks[1]))
    as_far = 0
    for _ in range(deals):
        places = np.lexsort((random.random(len(axes)), axes))
        as_far += abs(float(ranks[0][places] @ ranks[1])) >= seen - 1e-12
    return (1 + as_far) / (1 + deals)


def _centred(values: Numbers) -> Numbers:
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
    return np.asarray((ranks - ranks.mean()) / len(values))
