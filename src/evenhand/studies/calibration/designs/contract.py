"""The definition of a design: simulated data for one benchmark's pipeline, and the effects to plant in it.

A package with a benchmark provides designs for it under the entry-point group "evenhand.calibrations": a
function without arguments that returns `Design` objects.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from evenhand.benchmarks import JudgedAnalysis

Pattern = Literal["none", "one", "half", "lone", "first"]
Key = tuple[str, str | None, str | None]
"""Measure, axis, group, as in a row of findings."""
Role = Literal["standard", "limit"]
ORDER, NAMES, TWICE = "rows in another order", "groups by other names", "every sample twice"
BESIDE, SPLIT = "an unrelated axis beside", "a group split in two"
"""Changes to a table that should not change its verdicts (`moves.MOVES`)."""
EVERYTHING = frozenset({"*"})
"""Value of `Sample.at_null` if no groups differ in any measure."""


MARGIN = 0.1
"""Margin of shifts in nats: a smaller shift does not count as a bias."""


@dataclass(frozen=True)
class Plant:
    """The bias that is added to a simulated data set ("planted"), on its first axis.

    `effect` is in the unit of the measure. The possible values of `pattern`:

    - "none": no bias.
    - "one": the first group is shifted by `effect`.
    - "half": every second group is shifted up and the others down. The SD of the true values is `effect`.
    - "lone": the first group is shifted so that the SD of the true values is `effect`.
    - "first": the first `harmed` groups are shifted by `effect`.
    """

    pattern: Pattern = "none"
    effect: float = 0.0
    harmed: int = 0


@dataclass(frozen=True)
class Truth:
    """The true value of one row of results. ``null`` states whether a verdict "biased" would be a false positive."""

    value: float
    null: bool


@dataclass(frozen=True)
class Sample:
    """One simulated data set with its true values.

    Attributes
    ----------
    frames : tuple of polars.DataFrame
        Input of the analysis; two tables for a change between models.
    truth : mapping
        True value of each row of results.
    touched : frozenset of str
        Axes with planted effects. A verdict "biased" on any other axis is a false positive.
    at_null : frozenset of str
        Measures whose rows all have their null value; EVERYTHING if no groups differ.
    """

    frames: tuple[pl.DataFrame, ...]
    truth: Mapping[Key, Truth] = field(default_factory=dict)
    touched: frozenset[str | None] = frozenset()
    at_null: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Judged:
    """A measure that a design calibrates.

    Attributes
    ----------
    pattern : str
        How an effect of the size of the MDE is planted (see `Plant`). "none": power is not checked.
    axis, group : str or None
        Row whose stated MDE is planted. `group` is None for rows of axes.
    largest : float
        Largest effect that can be planted.
    silence_counts : bool
        True: data sets in which this row is not measurable count as not detected. False: they are excluded, and planted
        effects must not make them more frequent.
    """

    measure: str
    pattern: Pattern = "none"
    axis: str | None = None
    group: str | None = None
    largest: float = float("inf")
    silence_counts: bool = False


Road = Callable[[Sample, int], JudgedAnalysis]
"""Analysis of a benchmark up to its verdicts: (data, random seed) -> measurements and findings."""


@dataclass(frozen=True)
class Design:
    """One kind of simulated data set on which measures are checked.

    Attributes
    ----------
    name : str
        Unique name; it seeds the simulations.
    about : str
        One or two sentences that describe the simulated data, for reports.
    road : Road
        The analysis of the data, from the table to verdicts.
    draw : callable
        Simulates a data set. All randomness comes from the generator that it receives.
    judged : sequence of Judged
        Measures that are calibrated; empty: all measures of the analysis.
    quick, full : int
        Number of data sets per planted effect, for the two sizes of a study.
    factors : sequence of float
        Multiples of the stated MDE at which power is measured.
    doses, dose_effect : sequence of int, float
        Numbers of harmed groups, and the effect by which each is shifted.
    role : str
        "limit" designs violate assumptions of the measure. They are shown, but do not count as failures.
    splits : str or None
        Column whose values are split into halves for split-half reliability.
    moves : sequence of str
        Names of the invariance checks.
    """

    name: str
    about: str
    road: Road
    draw: Callable[[np.random.Generator, Plant], Sample]
    judged: tuple[Judged, ...] = ()
    quick: int = 0
    full: int = 200
    factors: tuple[float, ...] = (1.0,)
    doses: tuple[int, ...] = ()
    dose_effect: float = 0.0
    sizes: tuple[float, ...] = ()
    """Fixed effects that are planted in the first group, for measures without a known minimum detectable effect."""
    role: Role = "standard"
    splits: str | None = None
    moves: tuple[str, ...] = ()
    heterogeneous: float = 0.0
    """SD of the true group values in the simulations of split-half reliability."""
