"""Designs of judged tables: what is planted in the groups of an axis, and what is then true of its rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.studies.calibration.designs.contract import Key, Plant, Sample, Truth
from evenhand.studies.calibration.simulators import JudgedAxis, judged_prompts

Floats = npt.NDArray[np.float64]
ROLE = "toxicity"
Distort = Callable[[np.random.Generator, pl.DataFrame], pl.DataFrame]


def planted(values: npt.ArrayLike, plant: Plant, *, low: float = 0.0, high: float = 1.0) -> Floats:
    """True values of the groups of an axis after planting, from what they are without; kept between low and high.

    >>> planted([0.1, 0.1, 0.1], Plant("one", 0.2)).round(2).tolist()
    [0.3, 0.1, 0.1]
    >>> float(planted([0.5] * 4, Plant("half", 0.1)).std(ddof=1).round(6))
    0.1
    """
    base = np.asarray(values, float)
    count, effect = len(base), plant.effect
    pattern = np.zeros(count)
    if plant.pattern in ("one", "first"):
        pattern[: max(plant.harmed, 1)] = effect
    elif plant.pattern == "lone":
        pattern[0] = effect * np.sqrt(count)
    elif plant.pattern == "half" and count > 1:
        pattern = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
        pattern *= effect / pattern.std(ddof=1)
    made = base + pattern
    if made.min() < low:  # there is no room below: all of it goes up
        made = made - made.min() + low
    return np.minimum(made, high)


def axis_truth(
    axis: str,
    groups: Sequence[str],
    values: npt.ArrayLike,
    spread: str,
    difference: str,
    scale: float = 100.0,
) -> dict[Key, Truth]:
    """What is true of an axis and its groups: SD of the values, and each minus the mean of the others, in points."""
    true = np.asarray(values, float)
    count = len(true)
    rest = (true.sum() - true) / (count - 1)
    sd = float(scale * true.std(ddof=1))
    told: dict[Key, Truth] = {(spread, axis, None): Truth(sd, sd < 1e-9)}
    for group, value in zip(groups, scale * (true - rest), strict=True):
        told[difference, axis, group] = Truth(float(value), abs(value) < 1e-9)
    return told


@dataclass(frozen=True)
class JudgedTable:
    """A newly simulated table of judged continuations.

    axes: axes without planted effects; effects are planted in the first one (its first group, or all groups). distort:
    changes the table after simulation (missing answers, classifier errors). Effects are in percentage points.
    """

    axes: tuple[JudgedAxis, ...]
    samples: tuple[int, ...] = (5,)
    distort: Distort | None = None
    missing: bool = False
    """Whether what is planted is missing answers rather than negative ones."""

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw it."""
        first = self.axes[0]
        rates = planted(first.rates, replace(plant, effect=plant.effect / 100))
        axes = (replace(first, rates=tuple(rates)), *self.axes[1:])
        drawn = judged_prompts(rng, axes, self.samples)
        truth: dict[Key, Truth] = {}
        named = "missing" if self.missing else ""
        for axis in axes:
            spread = f"{named}_disparity" if named else "disparity"
            difference = f"{named}_difference" if named else "group_difference"
            truth |= axis_truth(axis.name, axis.groups, axis.rates, spread, difference)
        if self.missing:
            harmless = pl.Series(rng.random(drawn.height) < 0.1)
            drawn = drawn.with_columns(negative=pl.when("negative").then(None).otherwise(harmless))
            truth |= {
                key: Truth(0.0, True)
                for axis in axes
                for key in axis_truth(
                    axis.name, axis.groups, [0.1] * len(axis.rates), "disparity", "group_difference"
                )
            }
        if self.distort is not None:
            drawn = self.distort(rng, drawn)
        touched = frozenset() if plant.pattern == "none" else frozenset({first.name})
        return Sample((judged_frame(drawn),), truth, touched)


def judged_frame(drawn: pl.DataFrame, role: str = ROLE) -> pl.DataFrame:
    """A drawn table as a benchmark gets it: the judgement under its role's name, an error where there is none."""
    return drawn.with_columns(
        pl.col("negative").alias(f"{role}_negative"),
        pl.lit(None, pl.Float64).alias(f"{role}_score"),
        error=pl.when(pl.col("negative").is_null()).then(pl.lit("classifier_error")),
        cluster="prompt_id",
    ).drop("negative")


def alike(
    name: str,
    groups: int,
    prompts: int | Sequence[int],
    rate: float,
    icc: float | Sequence[float] = 0.3,
    tail: float | None = None,
) -> JudgedAxis:
    """An axis whose groups all have the same rate."""
    sizes = [prompts] * groups if isinstance(prompts, int) else list(prompts)
    return JudgedAxis(
        name, (rate,) * groups, tuple(sizes), icc if isinstance(icc, float) else tuple(icc), tail
    )


def graded(low: int, high: int, count: int) -> list[int]:
    """Sizes from low to high, evenly on a logarithmic scale.

    >>> graded(5, 400, 3)
    [5, 45, 400]
    """
    return [round(size) for size in np.geomspace(low, high, count)]


def measures_of(truth: Mapping[Key, Truth]) -> set[str]:
    """Measures of which something is known."""
    return {measure for measure, _, _ in truth}
