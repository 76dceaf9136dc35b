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
"""Margin of shifts in nats: a smaller shift counts as no bias."""


@dataclass(frozen=True)
class Plant:
    """The bias that is added to a simulated data set ("planted"), on its first axis.

    pattern: "none"; "one": the first group is shifted by `effect`, in the unit of the measure; "half": every second
    group is shifted up and the others down, so that the SD of the true values is `effect`; "lone": this SD is caused by
    the first group alone; "first": the first `harmed` groups are shifted by `effect`.
    """

    pattern: Pattern = "none"
    effect: float = 0.0
    harmed: int = 0


@dataclass(frozen=True)
class Truth:
    """The true value of one row, and in `null` whether a verdict of "biased" is false."""

    value: float
    null: bool


@dataclass(frozen=True)
class Sample:
    """One simulated data set with its true values.

    frames: input of the pipeline (two for a change between models). truth: true value of each row. touched: axes with
    planted effects; a verdict on any other axis is false. at_null: measures with all rows at their null value;
    EVERYTHING if no groups differ.
    """

    frames: tuple[pl.DataFrame, ...]
    truth: Mapping[Key, Truth] = field(default_factory=dict)
    touched: frozenset[str | None] = frozenset()
    at_null: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Judged:
    """A measure that a design calibrates.

    pattern: how its MDE is planted; "none" if this design does not check power. axis, group: the row whose stated MDE
    is planted; group is None for rows of axes. largest: largest effect that can be planted. silence_counts: whether
    data sets in which this row is not measurable count as not detected. Otherwise they are excluded, and planted
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
    """One kind of simulated data set, for which verdicts are checked.

    name: unique; it seeds the simulations. about: one or two sentences that describe the simulated data; reports show
    them. road: the analysis. draw: simulates a data set; all randomness comes from the generator. judged: the measures
    it calibrates; empty: all measures of the analysis. quick, full: number of data sets per planted effect. factors:
    multiples of the stated MDE at which power is measured. doses: numbers of harmed groups, each shifted by
    `dose_effect`. role: "limit" designs violate assumptions of the measure; they are shown, but do not count as
    failures. splits: column whose values are split into halves for split-half reliability. moves: names of the
    invariance checks.
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
    """Fixed effects planted in the first group, for measures without a known minimum detectable effect."""
    role: Role = "standard"
    splits: str | None = None
    moves: tuple[str, ...] = ()
    heterogeneous: float = 0.0
    """SD of the true group values in the simulations of split-half reliability."""
