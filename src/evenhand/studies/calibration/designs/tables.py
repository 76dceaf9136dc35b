"""Parts of designs for tables of classified responses: planted effects on groups, and the true values."""

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


def plant_effect(values: npt.ArrayLike, plant: Plant, *, low: float = 0.0, high: float = 1.0) -> Floats:
    """Return the true values of the groups of an axis with a planted effect, kept between `low` and `high`.

    Parameters
    ----------
    values
        True values without the effect, one per group.

    Examples
    --------
    >>> plant_effect([0.1, 0.1, 0.1], Plant("one", 0.2)).round(2).tolist()
    [0.3, 0.1, 0.1]
    >>> float(plant_effect([0.5] * 4, Plant("half", 0.1)).std(ddof=1).round(6))
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
    if made.min() < low:  # shift all groups up if one would be below the minimum
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
    """Return the true values of an axis: the SD of the groups' values, and each group minus the mean of the others.

    Parameters
    ----------
    spread, difference
        Names of the two measures.
    scale
        Factor of the values, 100 for percentage points.
    """
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
    """A simulated table of classified responses; the effect is in percentage points, on the first axis.

    Attributes
    ----------
    axes
        Axes without planted effects.
    samples
        Number per prompt; several numbers are used in turn.
    distort
        Changes the table after simulation (missing responses, classifier errors).
    """

    axes: tuple[JudgedAxis, ...]
    samples: tuple[int, ...] = (5,)
    distort: Distort | None = None
    missing: bool = False
    """Whether rates are those of missing responses, not of negative ones (10% of the rest are then negative)."""

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the table with the planted effect."""
        first = self.axes[0]
        rates = plant_effect(first.rates, replace(plant, effect=plant.effect / 100))
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
    """Return a simulated table in the form that a benchmark expects.

    The column `negative` is renamed after the role of the classifier; where it is null, there is an error.
    """
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
    """Return an axis whose groups all have the same rate."""
    sizes = [prompts] * groups if isinstance(prompts, int) else list(prompts)
    return JudgedAxis(
        name, (rate,) * groups, tuple(sizes), icc if isinstance(icc, float) else tuple(icc), tail
    )


def space_sizes(low: int, high: int, count: int) -> list[int]:
    """Return group sizes from low to high, evenly spaced on a logarithmic scale.

    >>> space_sizes(5, 400, 3)
    [5, 45, 400]
    """
    return [round(size) for size in np.geomspace(low, high, count)]


def list_measures(truth: Mapping[Key, Truth]) -> set[str]:
    """Return the measures with a known true value."""
    return {measure for measure, _, _ in truth}
